"""Small corpora for the tests of the incremental engine, and the fresh run that they are compared with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import refinery
from refinery.corpus.engine import QUARANTINED, WITHDRAWN, Change, Counts, Delta, PartInput
from refinery.corpus.incremental.engine import IncrementalEngine
from refinery.execution.open import open_recipe
from refinery.recipe.input_config import InputConfig
from tests.runs import exported, settings, write_lines

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "re", "so", "ta", "vu") for b in ("n", "r", "s", "t")]
Key = tuple[int, int]
# Writes samples to a file.
Write = Callable[[Path, Sequence[Any]], Any]


class Corpus:
    """A corpus of the incremental engine. parts: samples of every part. kept: the exported samples."""

    def __init__(
        self, folder: Path, steps: Sequence[Any], write: Write = write_lines, suffix: str = ".jsonl", **keys: Any
    ) -> None:
        self.folder, self.steps, self.keys, self._write, self._suffix = folder, steps, keys, write, suffix
        self.parts: list[list[Any]] = []
        self.withdrawn: set[Key] = set()
        self.kept: dict[Key, Any] = {}
        self.outcomes: dict[Key, int] = {}
        self.published: dict[str, list[Path]] = {"additions": [], "retractions": []}
        self.state: Path | None = None
        self.changes = 0

    def add(self, samples: Sequence[Any]) -> Delta:
        """Add a part."""
        self.parts.append(list(samples))
        number = len(self.parts)
        self._write(self.folder / f"part_{number}{self._suffix}", samples)
        return self._apply((number,), {})

    def withdraw(self, rows: Sequence[Key]) -> Delta:
        """Withdraw rows."""
        self.withdrawn |= set(rows)
        by_part = {part: np.array(sorted(row for one, row in rows if one == part)) for part in {one for one, _ in rows}}
        return self._apply((), by_part)

    def _apply(self, added: tuple[int, ...], withdrawn: dict[int, np.ndarray]) -> Delta:
        """Have the engine apply a change, and read its files as readers of a corpus do."""
        self.changes += 1
        recipe, library = open_recipe(settings(self.folder, self.steps, **self.keys), need_inputs=False)
        engine = IncrementalEngine()
        assert engine.refusals(recipe, library) == []
        output, state = self.folder / f"output_{self.changes}", self.folder / f"state_{self.changes}"
        output.mkdir()
        files = {name: tuple(paths) for name, paths in self.published.items()}
        parts = tuple(part for number in range(1, len(self.parts) + 1) if (part := self._part(number, added)))
        places = self.state, state, self.folder, output
        delta = engine.apply(Change(recipe, library, parts, added, withdrawn, *places, **files))
        self.state = state
        self._read(delta)
        return delta

    def _part(self, number: int, added: tuple[int, ...]) -> PartInput | None:
        """The input of a part; None if nothing of it is left."""
        gone, rows = (
            np.array(sorted(row for part, row in self.withdrawn if part == number), np.int64),
            len(self.parts[number - 1]),
        )
        if rows and len(gone) == rows:
            return None
        left_out = ""
        if len(gone):
            left_out = str(self.folder / f"left_out_{number}_{self.changes}.parquet")
            pq.write_table(pa.table({"row": gone}), left_out)
        inputs = (InputConfig(path=str(self.folder / f"part_{number}{self._suffix}")),)
        return PartInput(number, inputs, None if number in added else rows, gone, left_out)

    def _read(self, delta: Delta) -> None:
        """Apply a change: retractions first."""
        for file in delta.retractions:
            for row in pq.read_table(file).to_pylist():
                del self.kept[row["_part"], row["_row"]]
        for file in delta.additions:
            for row in pq.read_table(file).to_pylist():
                key = row.pop("_part"), row.pop("_row")
                assert key not in self.kept
                self.kept[key] = json.loads(row["_line"]) if delta.schema is None else row
        for file in delta.outcomes:
            self.outcomes |= {(row["_part"], row["_row"]): row["step"] for row in pq.read_table(file).to_pylist()}
        self.counts = delta.counts
        for name, paths in self.published.items():
            paths += [self._stamped(file) for file in getattr(delta, name)]

    def _stamped(self, file: Path) -> Path:
        """A file of a change as the corpus publishes it, with the number of the snapshot."""
        table = pq.read_table(file)
        target = file.with_name(f"published-{file.name}")
        pq.write_table(table.append_column("_snapshot", pa.array([self.changes] * len(table), pa.int32())), target)
        return target

    @property
    def left(self) -> list[Key]:
        """Rows that are not withdrawn, in order."""
        keys = [(part, row) for part, samples in enumerate(self.parts, 1) for row in range(len(samples))]
        return [key for key in keys if key not in self.withdrawn]

    def check(self) -> None:
        """Compare with one run over all remaining samples."""
        left, folder = self.left, self.folder / f"fresh_{self.changes}"
        if not left:
            assert not self.kept
            return
        samples = [self.parts[part - 1][row] for part, row in left]
        self._write(folder / f"in{self._suffix}", samples)
        source = {"dataset_path": str(folder / f"in{self._suffix}")}
        run = refinery.run(settings(folder, self.steps, **source, **self.keys))
        expected = exported(run)
        assert [self.kept[key] for key in sorted(self.kept)] == expected
        steps = dict(run.sql("SELECT _row, coalesce(_dropped, 0) FROM row_outcomes").fetchall())
        assert {key: self.outcomes[key] for key in left} == {key: steps.get(at, -1) for at, key in enumerate(left)}
        assert all(self.outcomes[key] == WITHDRAWN for key in self.withdrawn)
        quarantined = sum(1 for key in left if self.outcomes[key] == QUARANTINED)
        assert self.counts == Counts(len(expected), len(left) - len(expected) - quarantined, quarantined)


def text_of(chance: random.Random, words: int = 30) -> str:
    """A text of some lines."""
    return "\n".join(" ".join(chance.choices(WORDS, k=chance.randint(3, 8))) + "." for _ in range(words // 6))


def near_copy(chance: random.Random, text: str) -> str:
    """The text with few other words."""
    words = text.split(" ")
    for _ in range(chance.randint(0, 2)):
        words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words)


def samples_of(chance: random.Random, before: Sequence[Mapping[str, Any]], count: int) -> list[dict[str, Any]]:
    """Samples of which many are like each other, or like some before."""
    samples: list[dict[str, Any]] = []
    for _ in range(count):
        earlier = [*before, *samples]
        copied = chance.choice(earlier)["text"] if earlier and chance.random() < 0.6 else None
        text = text_of(chance) if copied is None else near_copy(chance, copied)
        place = [1.0, chance.random() * 3]
        samples.append({"id": chance.randrange(12), "text": text, "place": place})
    return samples


def lived(corpus: Corpus, chance: random.Random, changes: int, size: int = 12) -> None:
    """Random adds and withdrawals, each followed by a comparison with a fresh run."""
    for number in range(changes):
        left = corpus.left
        if number and left and chance.random() < 0.4:
            corpus.withdraw(chance.sample(left, chance.randint(1, max(1, len(left) // 3))))
        else:
            earlier = [sample for samples in corpus.parts for sample in samples if isinstance(sample, dict)]
            corpus.add(samples_of(chance, earlier, chance.randint(1, size)))
        corpus.check()
