"""Chooses the samples of a withdrawal: by a condition, by file, by add, or by a list."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import duckdb, pc
from refinery.compiler.program import build
from refinery.compiler.templates import lit
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Manifest, Part
from refinery.corpus.parts import part_input, place_of, require_files
from refinery.errors import DataError, Problem, RecipeError, did_you_mean
from refinery.io.model import Shard
from refinery.io.readers.read import count_rows
from refinery.io.sources import cut
from refinery.kernels.core.arrow import numbers
from refinery.operators import Library
from refinery.planning.input_schema import input_schema
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.planning.settings import PlanSettings
from refinery.planning.sizes import BATCH
from refinery.recipe import Recipe
from refinery.recipe.stat_summary import StatSummary
from refinery.workers.worker import Task, Worker

Rows = Mapping[int, np.ndarray]
# Names of the columns of a list of samples.
_PARTS, _ROWS = ("_part", "part"), ("_row", "row")
_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json", ".json": "read_json"}


@dataclass(frozen=True)
class Selector:
    """Chooses samples of a corpus. recipe: of the corpus."""

    folder: CorpusFolder
    recipe: Recipe
    library: Library
    last: Manifest

    def where(self, condition: str) -> Rows:
        """Samples for which SQL over the fields of the input holds. Raises RecipeError for SQL that cannot be run."""
        left = [part for part in self.last.parts if part.left]
        require_files(self.folder, left)
        return {part.number: self._matching(part, condition) for part in left}

    def _matching(self, part: Part, condition: str) -> np.ndarray:
        plan = self._plan(part)
        params = {"where": condition}
        step: Any = SimpleNamespace(index=1, name="sql_filter", params=params, given={"where"}, where="--where")
        recipe = replace(plan.recipe, steps=(step,), stat_summary=StatSummary())
        schema = input_schema(PlanSettings.of(recipe, self.library).schema, plan.lines, plan.shards)
        program, _ = build([step], self.library, schema, plan.stages[0].program.text_key)
        found, first = [np.zeros(0, np.int64)], 0
        worker = Worker(program)
        try:
            for shard in plan.shards:
                found += [first + rows for rows in self._of_shard(part, worker, shard, first)]
                first += count_rows(shard)
        except duckdb.Error as error:
            what = f"--where {condition!r} cannot be run: {str(error).splitlines()[0]}"
            raise RecipeError([Problem("", what, "It may name the fields of the input.")]) from error
        finally:
            worker.close()
        return self._original(part, np.sort(np.concatenate(found)))

    def _of_shard(self, part: Part, worker: Worker, shard: Shard, first: int) -> Iterator[np.ndarray]:
        """Numbers in a shard of the samples for which its condition holds. Raises RecipeError for one that it raises on: it may be meant."""
        for batch in worker.batches(shard, Task("", BATCH, first_row=first)):
            done, failures = worker.attempt(batch, first)
            if failures:
                [row] = self._original(part, np.array([first + int(batch.rows[failures[0].at])]))
                what = f"--where cannot be evaluated for sample {part.number}:{row}: {failures[0].error}"
                raise RecipeError(
                    [Problem("", what, "Use an expression that cannot fail, such as TRY_CAST(x AS INT).")]
                )
            holds = pc.and_(pc.is_null(done["_dropped"]), pc.is_null(done["_bad"]))
            yield batch.rows[numbers(done.filter(holds)["_i"])]

    def _original(self, part: Part, numbers: np.ndarray) -> np.ndarray:
        """Numbers of samples in a part, from those among the samples that are left."""
        withdrawn = part_input(self.folder, part).withdrawn
        left: np.ndarray = np.setdiff1d(np.arange(part.rows), withdrawn, assume_unique=True)[numbers]
        return left

    def _plan(self, part: Part) -> Plan:
        read = part_input(self.folder, part)
        inputs = tuple(replace(config, left_out=read.left_out) for config in read.inputs)
        return prepare(replace(self.recipe, inputs=inputs, suffixes=()), self.library, looks=False, runs=False)

    def source(self, name: str) -> Rows:
        """Samples of the files with a path, a name or a pattern. Raises DataError if there is none."""
        chosen = {}
        for part in self.last.parts:
            wanted = [_is_named(file.name, name) for file in part.files]
            if any(wanted) and part.left:
                chosen[part.number] = np.arange(part.rows) if all(wanted) else self._of_files(part, wanted)
        if not chosen:
            known = [os.path.basename(file.name) for part in self.last.parts for file in part.files]
            raise DataError(
                f"--source {name}: no file of the corpus has this path, name or pattern{did_you_mean(name, known)}"
            )
        return chosen

    def _of_files(self, part: Part, wanted: Sequence[bool]) -> np.ndarray:
        """Numbers of the samples of some files of a part, which are counted."""
        require_files(self.folder, [part])
        inputs = part_input(self.folder, part).inputs
        plan = prepare(replace(self.recipe, inputs=inputs, suffixes=()), self.library, looks=False, runs=False)
        places = {place_of(self.folder, part, file): flag for file, flag in zip(part.files, wanted, strict=True)}
        found, first = [np.zeros(0, np.int64)], 0
        for source in plan.sources:
            count = sum(count_rows(shard) for shard in cut([source]))
            if places[source.path]:
                found.append(np.arange(first, first + count))
            first += count
        if first != part.rows:
            raise DataError(f"the files of add {part.number} have {first:,} samples, the corpus knows {part.rows:,}")
        return np.concatenate(found)

    def add(self, number: int) -> Rows:
        """All samples of an add. Raises DataError if there is none of the number."""
        if not 1 <= number <= len(self.last.parts):
            raise DataError(f"--add {number}: there is no such add; there are {len(self.last.parts)}")
        return {number: np.arange(self.last.part(number).rows)}

    def listed(self, file: Path) -> Rows:
        """Samples in a file with columns `_part` and `_row`: Parquet, CSV or JSON lines. Raises DataError."""
        reader = _READERS.get(file.suffix.lower())
        if reader is None:
            raise DataError(f"--rows {file}: is read by its suffix, which must be one of {', '.join(_READERS)}")
        try:
            with connect([file.absolute().parent]) as con:
                con.execute(f"CREATE VIEW listed AS FROM {reader}({lit(str(file.absolute()))})").fetchall()
                types = {name: kind for name, kind, *_ in con.execute("DESCRIBE listed").fetchall()}
                part, row = (_column(file, types, names) for names in (_PARTS, _ROWS))
                table: pa.Table = con.sql(f"SELECT {part}, {row} FROM listed").to_arrow_table()
        except duckdb.Error as error:
            raise DataError(f"--rows {file}: cannot be read: {str(error).splitlines()[0]}") from error
        if missing := sum(column.null_count for column in table.columns):
            raise DataError(f"--rows {file}: {missing:,} numbers of adds or samples are missing")
        parts, rows = table.column(0).to_numpy(), table.column(1).to_numpy()
        return {int(number): rows[parts == number] for number in np.unique(parts)}


def _is_named(path: str, name: str) -> bool:
    """Return whether a file has a path, a file name, or matches a pattern of either."""
    whole = name if "://" in name else os.path.abspath(os.path.expanduser(name))
    if name in (path, os.path.basename(path)) or whole == path:
        return True
    return any(fnmatch.fnmatchcase(known, name) for known in (path, os.path.basename(path)))


def _column(file: Path, types: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The column of one of the names, in quotes. Raises DataError if there is none, or it holds no integers."""
    known = next((column for column in types if column.lower() in names), None)
    if known is None:
        cure = "Numbers of adds count from 1, those of samples from 0"
        raise DataError(f"--rows {file}: has no column {names[0]}; it has {', '.join([*types][:8])}. {cure}")
    if not types[known].endswith(("INT", "INTEGER")):
        raise DataError(f"--rows {file}: column {known} holds {types[known]}; numbers of adds and samples are integers")
    return '"' + known.replace('"', '""') + '"'
