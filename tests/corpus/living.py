"""A corpus beside the data that it should hold: each change is made to both, and a run over what is left must keep the same samples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import refinery
from refinery.corpus import corpus as corpora
from refinery.corpus.change import Report, Settings
from refinery.corpus.corpus import Corpus, Withdrawal
from tests.runs import write_lines

Sample = dict[str, Any]
PARAGRAPHS = [
    "the first paragraph of many that comes again and again in texts",
    "a second one with other words. it has two sentences here. and a third one follows them",
    "navigation home about contact imprint",
    "what the river carried in spring was more than the bridge could bear. so it fell. nobody saw it",
    "eleven short words stand here so that shingles of five exist",
]


def near_copies(chance: random.Random, count: int, first: int) -> list[Sample]:
    """Samples with many copies, near copies and shared lines; ids are unique."""
    rows = []
    for number in range(first, first + count):
        picked = [chance.choice(PARAGRAPHS) for _ in range(chance.randint(1, 4))]
        if chance.random() < 0.5:
            words = picked[0].split(" ")
            words[chance.randrange(len(words))] = chance.choice(["changed", "other", "new"])
            picked[0] = " ".join(words)
        vector = [float(chance.randrange(3)) for _ in range(3)]
        text = chance.choice(["\n", "\n\n"]).join(picked)
        day = f"2024-01-0{1 + number * 5 % 7}" if number % 4 else "undated"
        row: Sample = {"id": number, "text": text, "host": chance.choice("abc"), "embedding": vector, "day": day}
        rows.append(row | ({"extra": "x"} if chance.random() < 0.1 else {}))
    return rows


class Living:
    """A corpus and its data. lines: JSON lines, else Parquet. engine: of its changes; None: the first that fits."""

    def __init__(
        self, folder: Path, steps: Sequence[Any], lines: bool = True, engine: str | None = None, **keys: Any
    ) -> None:
        self.folder, self.lines, self.settings = folder, lines, Settings(engine=engine)
        self.recipe = {"process": list(steps), "np": 1, "export_path": str(folder / "unused" / "x.jsonl"), **keys}
        self.parts: list[list[Sample | None]] = []

    @property
    def place(self) -> Path:
        """The corpus."""
        return self.folder / "corpus"

    def write(self, name: str, rows: Sequence[Sample]) -> Path:
        """A file of samples."""
        if self.lines:
            return write_lines(self.folder / f"{name}.jsonl", rows)
        path = self.folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        kinds = [
            ("id", pa.int64()),
            ("text", pa.string()),
            ("host", pa.string()),
            ("embedding", pa.list_(pa.float64())),
            ("day", pa.string()),
        ]
        pq.write_table(pa.Table.from_pylist(list(rows), pa.schema([*kinds, ("extra", pa.string())])), path)
        return path

    def add(self, rows: Sequence[Sample], settings: Settings | None = None) -> Report:
        """Add samples as one file."""
        path = self.write(f"in/{len(self.parts) + 1:03d}", rows)
        self.parts.append(list(rows))
        return corpora.add(self.place, self.recipe, settings or self.settings, dataset_path=str(path))

    def withdraw_ids(self, ids: set[int]) -> Report:
        """Withdraw samples by a condition."""
        self._forget(ids)
        where = f"id IN ({', '.join(map(str, sorted(ids)))})"
        return corpora.withdraw(self.place, Withdrawal(where=where), self.settings)

    def withdraw_part(self, part: int) -> Report:
        """Withdraw an add, numbered from 1."""
        self.parts[part - 1] = [None] * len(self.parts[part - 1])
        return corpora.withdraw(self.place, Withdrawal(add=part), self.settings)

    def _forget(self, ids: set[int]) -> None:
        for part in self.parts:
            part[:] = [None if row is None or row["id"] in ids else row for row in part]

    def left(self) -> list[Sample]:
        """The samples that are left, in the order of adds."""
        return [row for part in self.parts for row in part if row is not None]

    def expected(self) -> list[tuple[int, int, Sample]]:
        """Add, number and fields of what one run over all that is left keeps."""
        if not self.left():
            return []
        path = self.write("all/left", self.left())
        run = refinery.run(
            self.recipe,
            dataset_path=str(path),
            export_path=str(self.folder / "fresh" / f"kept.{path.suffix[1:]}"),
            work_dir=str(self.folder / "fresh"),
        )
        places = {row["id"]: (at, n) for at, part in enumerate(self.parts, 1) for n, row in enumerate(part) if row}
        return [(*places[row["id"]], _plain(row)) for row in run.to_arrow().to_pylist()]

    def kept(self) -> list[tuple[int, int, Sample]]:
        """Add, number and fields of what the corpus keeps."""
        with Corpus(self.place) as corpus:
            return [
                (row.pop("_part"), row.pop("_row"), _plain(row)) for row in corpus.kept.to_arrow_table().to_pylist()
            ]

    def require_promise(self) -> None:
        """The corpus is, row for row, what a run over all that is left keeps."""
        assert self.kept() == self.expected()
        with Corpus(self.place) as corpus:
            counts, left = corpus.counts, len(self.left())
            assert counts.rows == sum(map(len, self.parts))
            assert counts.withdrawn == counts.rows - left
            outcomes = corpus.sql("SELECT _part, _row, step FROM outcomes ORDER BY ALL").fetchall()
            assert len(outcomes) == counts.rows
            kept = [(part, row) for part, row, step in outcomes if step == 0]
            assert kept == [(part, row) for part, row, _ in self.kept()]
            gone = [(part, row) for part, row, step in outcomes if step == -2]
            assert gone == [
                (at, n) for at, part in enumerate(self.parts, 1) for n, row in enumerate(part) if row is None
            ]


def _plain(row: Sample) -> Sample:
    """A sample without fields that are NULL: where no sample has a field, a run has no column for it."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in row.items()
        if value is not None
    }
