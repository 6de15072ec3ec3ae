"""A corpus for Python programs: its snapshots and kept samples, adds and withdrawals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.corpus import change, manifest
from refinery.corpus.contents import require_contents, require_recipe
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.handed_over import handed_over
from refinery.corpus.manifest import CorpusCounts, Manifest
from refinery.corpus.selection import Rows, Selector
from refinery.corpus.texts import SampleTexts, input_sample
from refinery.corpus.view import outcomes_of, query_of
from refinery.errors import DataError, Problem, RecipeError
from refinery.execution.open import open_recipe
from refinery.operators import Library
from refinery.recipe import Recipe
from refinery.recipe.override import Override

_FATES = {0: "kept", -1: "quarantined", -2: "withdrawn"}


@dataclass(frozen=True)
class SampleOutcome:
    """The outcome of a sample. fate: `kept`, `removed`, `quarantined` or `withdrawn`. step, operator: of the removal. instead: add and
    number of the sample that a deduplicator has kept in its place. snapshot: of the answer."""

    part: int
    row: int
    fate: str
    step: int | None
    operator: str | None
    instead: tuple[int, int] | None
    snapshot: int

    def __str__(self) -> str:
        text = f"sample {self.part}:{self.row} is {self.fate}"
        if self.step is not None:
            text += f" by step {self.step} {self.operator}"
        return text + (f"; {self.instead[0]}:{self.instead[1]} is kept instead" if self.instead is not None else "")


class Corpus:
    """A corpus as one of its snapshots shows it; later snapshots do not disturb it. snapshot: its number; None: the current one."""

    def __init__(self, folder: str | os.PathLike[str], snapshot: int | None = None) -> None:
        """Raises DataError where there is no corpus, or no such snapshot."""
        self.folder = CorpusFolder(Path(os.path.abspath(folder)))
        found = manifest.read(self.folder, snapshot)
        if found is None:
            raise DataError(f"{self.folder.root}: the corpus has no snapshot yet: its first add has not ended")
        self.manifest: Manifest = found

    def __repr__(self) -> str:
        counts = self.counts
        return f"<corpus {self.folder.root}, snapshot {self.manifest.snapshot}: {counts.kept:,} of {counts.rows:,} samples kept>"

    @property
    def snapshot(self) -> int:
        """Number of the snapshot."""
        return self.manifest.snapshot

    @property
    def counts(self) -> CorpusCounts:
        """Samples that were added, and how many of them are kept, removed, quarantined and withdrawn."""
        return self.manifest.counts

    @property
    def snapshots(self) -> list[Manifest]:
        """Manifests of all snapshots that are there, the oldest first."""
        found = (manifest.read(self.folder, number) for number in self.folder.numbers())
        return [one for one in found if one is not None]

    @cached_property
    def _con(self) -> duckdb.DuckDBPyConnection:
        require_contents(self.folder, self.manifest)
        con = duckdb.connect()
        con.execute(f"CREATE VIEW kept AS {query_of(self.manifest, self.folder)}").fetchall()
        con.execute(f"CREATE VIEW outcomes AS {outcomes_of(self.manifest, self.folder)}").fetchall()
        parts = [
            {"part": p.number, "rows": p.rows, "withdrawn": p.withdrawn, "files": [f.name for f in p.files]}
            for p in self.manifest.parts
        ]
        kinds = pa.schema(
            [("part", pa.int32()), ("rows", pa.int64()), ("withdrawn", pa.int64()), ("files", pa.list_(pa.string()))]
        )
        con.register("parts", pa.Table.from_pylist(parts, kinds))
        return con

    def sql(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """A relation of a query over the views `kept` (the samples), `outcomes` (of every sample) and `parts` (the adds).

        Raises DataError if a file of the snapshot has changed since it was published, which the first query looks at.
        """
        return self._con.sql(query, params=params)

    @property
    def kept(self) -> duckdb.DuckDBPyRelation:
        """The kept samples in the order of adds: `_part`, `_row`, and their fields."""
        return self.sql("FROM kept ORDER BY _part, _row")

    def outcome(self, part: int, row: int) -> SampleOutcome:
        """The outcome of a sample. Raises DataError if there is none of this number."""
        found = self.sql("FROM outcomes WHERE _part = ? AND _row = ?", [part, row]).fetchall()
        if not found:
            raise DataError(f"there is no sample {part}:{row}; adds count from 1, the samples of each from 0")
        _, _, step, kept_part, kept_row = found[0]
        fate = _FATES.get(step, "removed")
        number = step if fate == "removed" else None
        names = [known.name for known in self._recipe()[0].steps if known.index == number]
        instead = None if kept_row is None else (kept_part, kept_row)
        return SampleOutcome(part, row, fate, number, names[0] if names else None, instead, self.snapshot)

    def texts(self, part: int, row: int) -> SampleTexts:
        """A sample as it came and as it is kept, and the one that is kept in its place. Raises DataError if there is none of this number."""
        outcome = self.outcome(part, row)
        before, problem = input_sample(self.folder, self.manifest.part(part), *self._recipe(), row)
        instead = None if outcome.instead is None else self._kept_sample(*outcome.instead)
        return SampleTexts(before, self._kept_sample(part, row), instead, problem)

    def _kept_sample(self, part: int, row: int) -> dict[str, Any] | None:
        """The fields of a kept sample that are not NULL; None if it is not kept."""
        rows = self.sql("FROM kept WHERE _part = ? AND _row = ?", [part, row]).to_arrow_table().to_pylist()
        numbers = ("_part", "_row")
        return {k: v for k, v in rows[0].items() if v is not None and k not in numbers} if rows else None

    @property
    def text_key(self) -> str:
        """The field of the samples' texts, as the recipe names it."""
        return self._recipe()[0].text_key

    def _recipe(self) -> tuple[Recipe, Library]:
        return recipe_of(self.folder, self.manifest)

    def close(self) -> None:
        """Close the connection."""
        if "_con" in self.__dict__:
            self._con.close()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def recipe_of(folder: CorpusFolder, last: Manifest) -> tuple[Recipe, Library]:
    """The recipe of a corpus, and its operators."""
    return open_recipe(require_recipe(folder, last), need_inputs=False)


def add(
    folder: str | os.PathLike[str] | None,
    recipe: str | Path | Mapping[str, Any],
    settings: change.Settings = change.PLAIN,
    dataset: Any = None,
    **overrides: Any,
) -> change.Report:
    """Add the inputs of a recipe to a corpus, which is made if there is none.

    folder: None for that of the recipe. dataset: samples in place of the inputs, see `handed_over`. overrides: keys of the recipe with new values.
    """
    opened, library = open_recipe(recipe, overrides, need_inputs=dataset is None)
    place = folder or opened.corpus
    if place is None:
        raise RecipeError([Problem("", "no corpus is named", "Give corpus=FOLDER, or the key corpus of the recipe.")])
    corpus = CorpusFolder(Path(os.path.abspath(place)))
    if dataset is None:
        return change.add(corpus, opened, library, settings)
    with handed_over(opened, dataset) as written:
        return change.add(corpus, written, library, replace(settings, copy=True, handed_over=True))


@dataclass(frozen=True)
class Withdrawal:
    """The samples to withdraw: exactly one of a condition over the fields of the input, a file of the inputs, an add, and a file that lists samples."""

    where: str | None = None
    source: str | None = None
    add: int | None = None
    rows: Path | None = None

    def about(self) -> dict[str, Any]:
        """The withdrawal as plain data, for the manifest."""
        values = {"where": self.where, "source": self.source, "add": self.add, "rows": self.rows}
        return {"withdraw": {name: str(value) for name, value in values.items() if value is not None}}

    def chosen(self, selector: Selector) -> Rows:
        """The samples."""
        if self.where is not None:
            return selector.where(self.where)
        if self.source is not None:
            return selector.source(self.source)
        if self.add is not None:
            return selector.add(self.add)
        assert self.rows is not None
        return selector.listed(self.rows)


def withdraw(
    folder: str | os.PathLike[str],
    withdrawal: Withdrawal,
    settings: change.Settings = change.PLAIN,
    overrides: Mapping[str, Any] | Sequence[Override] = (),
) -> change.Report:
    """Withdraw samples from a corpus. overrides: keys of the recipe such as `np` and `executor_type`, with new values."""
    corpus = CorpusFolder(Path(os.path.abspath(folder)))
    last = manifest.read(corpus)
    if last is None:
        raise DataError(f"{corpus.root}: the corpus has no samples yet")
    recipe, library = open_recipe(require_recipe(corpus, last), overrides, need_inputs=False)

    def chosen(current: Manifest) -> Rows:
        return withdrawal.chosen(Selector(corpus, recipe, library, current))

    return change.withdraw(corpus, recipe, library, chosen, withdrawal.about(), settings)
