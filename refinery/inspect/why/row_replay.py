"""Replay of one row through the stages of a finished run: each stage reads the output of the previous stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.fields import keys_of
from refinery.common.lazy import duckdb, pq
from refinery.compiler.deduplicators import size_column
from refinery.compiler.program import Program
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.errors import DataError
from refinery.io.batch import Batch
from refinery.io.model import Part, Shard
from refinery.io.readers.parts import source_of_part
from refinery.io.readers.read import read
from refinery.io.readers.registry import reader_of
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import ints
from refinery.planning.compilation import compile_stage
from refinery.planning.plan import CompiledStage, Plan
from refinery.planning.sizes import BATCH
from refinery.recipe.stat_summary import StatSummary
from refinery.workers.new_values import new_values
from refinery.workers.replay import ReplayedRow, versions_before
from refinery.workers.worker import Task, Worker


@dataclass(frozen=True)
class RowPosition:
    """Position of a row. row: its number in the run. first, first_line: rows and lines before its shard."""

    row: int
    shard: Shard
    first: int
    first_line: int

    @property
    def inside(self) -> int:
        """The row's number in its shard."""
        return self.row - self.first

    def file(self, line: int) -> str:
        """The row's file, with the line unless the format is `text`; line: counted in the shard, from 1."""
        path = self.shard.path_of(self.inside)
        return path if reader_of(self.shard.source).one_sample else f"{path}:{self.first_line + line}"


@dataclass(frozen=True)
class RowInStage:
    """A row in one stage, as computed by `program`; if a step raised, `program` holds only the steps before it."""

    planned: CompiledStage
    program: Program
    row: ReplayedRow
    raised: bool

    @property
    def ended(self) -> bool:
        """True if the row does not leave this stage, regardless of the deduplicator after it."""
        return self.raised or self.row.values["_dropped"] is not None

    def text_given_to(self, step: Any) -> str | None:
        """The text on which a step of the stage, or the deduplicator after it, works."""
        own = step.params.get("text_key")
        field = keys_of(own) if own else self.program.text_key
        text = self.row.values[versions_before(self.program, step.index)[field]]
        return None if text is None else str(text)


class RowReplay:
    """Replays rows of a run. con: the run's database."""

    def __init__(self, prepared: Plan, con: duckdb.DuckDBPyConnection) -> None:
        self.prepared, self.con = prepared, con
        self._workers: dict[int, Worker] = {}
        self._worker(prepared.stages[0].program)  # every row needs it

    def close(self) -> None:
        """Close the workers."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def _worker(self, program: Program) -> Worker:
        if id(program) not in self._workers:
            self._workers[id(program)] = Worker(program)
        return self._workers[id(program)]

    def place(self, row: int) -> RowPosition:
        """Find the position of a row. Raises DataError when the run had no such row."""
        query = "SELECT shard, first_row, first_line FROM shards WHERE first_row <= ? AND ? < first_row + rows"
        shards = self.con.execute(query, [row, row]).fetchall()
        if not shards:
            (rows,) = self.con.execute("SELECT coalesce(max(first_row + rows), 0) FROM shards").fetchall()[0]
            raise DataError(f"no row {row}: the run read " + (f"rows 0 to {rows - 1}" if rows else "none"))
        number, first, first_line = shards[0]
        shard = self.prepared.shards[number]
        if len(shard.sources) > 1 and not reader_of(shard.source).one_sample:
            query = "SELECT rows FROM files WHERE first_row >= ? AND file IN ? ORDER BY first_row, rows LIMIT ?"
            parameters = [first, [source.path for source in shard.sources], len(shard.sources)]
            rows_of = self.con.execute(query, parameters).fetchall()
            shard = replace(shard, rows_of=tuple(count for (count,) in rows_of))
        return RowPosition(row, shard, first, first_line)

    def files(self, rows: Iterable[int]) -> dict[int, str]:
        """The file of each row, with its line."""
        by_shard: dict[int, list[RowPosition]] = defaultdict(list)
        for row in sorted(set(rows)):
            place = self.place(row)
            by_shard[place.shard.index].append(place)
        return {place.row: place.file(line) for places in by_shard.values() for place, line in _lines(places)}

    def walk(self, place: RowPosition, raising: int | None = None) -> Iterator[RowInStage]:
        """Yield the row in one stage after another, until a step removes it.

        raising: the step that raised on the row, in any stage. Raises DataError when the row is not in its file.
        """
        shard, tables = place.shard, list[str]()
        part: Part | None = None
        with TemporaryDirectory(prefix="refinery-why-") as name:
            for planned in self.prepared.stages:
                folder = Path(name) / str(planned.stage.number)
                if part is not None:
                    if planned.program.copies:
                        return
                    tables += self._units(planned, place, folder)
                    shard = replace(shard, part=replace(part, tables=tuple(tables)))
                seen, batch, done = self._seen(planned, shard, place, raising)
                yield seen
                if seen.ended:
                    return
                tables.append(_stats(planned.program, place, done, folder))
                part = _part(planned.program, batch, done, folder)

    def _seen(
        self, planned: CompiledStage, shard: Shard, place: RowPosition, raising: int | None
    ) -> tuple[RowInStage, Batch, pa.Table]:
        program = planned.program
        try:
            if not _fails_in(planned, raising):  # it may be one on which the process dies
                row, batch, done = self._replayed(program, shard, place)
                return RowInStage(planned, program, row, False), batch, done
        except duckdb.Error:
            if raising is None:
                raise
        assert raising is not None
        program = self._before(planned, raising)
        row, batch, done = self._replayed(program, shard, place)
        return RowInStage(planned, program, row, True), batch, done

    def _replayed(self, program: Program, shard: Shard, place: RowPosition) -> tuple[ReplayedRow, Batch, pa.Table]:
        worker = self._worker(program)
        for batch, done in worker.replay(shard, [place.inside], Task("", BATCH, first_row=place.first)):
            row = ReplayedRow(place.inside, batch.line_number(0), batch.sample(0), done.to_pylist()[0])
            return row, batch, done
        raise DataError(f"row {place.row} is not in {place.shard.source.path} any more")

    def _before(self, planned: CompiledStage, step: int) -> Program:
        """The steps of a stage before `step`."""
        stage = planned.stage
        numbers = [*([stage.before.index] if stage.before is not None else []), *stage.numbers()]
        ran = numbers[: numbers.index(step)] if step in numbers else numbers
        steps = tuple(known for known in stage.running if known.index in ran)
        before, after = (known if known and known.index in ran else None for known in (stage.before, stage.after))
        cut = replace(stage, steps=steps, order=(), before=before, after=after)
        settings = replace(planned.inputs.settings, summary=StatSummary())
        return compile_stage(cut, replace(planned.inputs, settings=settings)).program

    def _units(self, planned: CompiledStage, place: RowPosition, folder: Path) -> list[str]:
        """Write what a deduplicator before a stage leaves for the row: the units that go, or a cluster's size. Return the file, if any."""
        column, before = planned.program.removed, planned.stage.before
        if column is None or before is None:
            return []
        if column == size_column(before.index):
            query = "SELECT size FROM clusters WHERE step = ? AND _row = ?"
            sizes = [size for (size,) in self.con.execute(query, [before.index, place.row]).fetchall()]
            return [_table(folder / "units.parquet", place, {column: pa.array(sizes or [None], pa.int64())})]
        passages = isinstance(self.prepared.library.operators[before.name].matcher, SubstringMatcher)
        places = "unit, unit + length" if passages else "unit"
        query = f"SELECT {places} FROM duplicates WHERE step = ? AND _row = ? ORDER BY unit"
        units = [place for own in self.con.execute(query, [before.index, place.row]).fetchall() for place in own]
        lists = pa.array([units or None], pa.list_(pa.int64()))
        return [_table(folder / "units.parquet", place, {column: lists})]


def _fails_in(planned: CompiledStage, step: int | None) -> bool:
    """Return whether a stage holds the step that fails on the row."""
    stage = planned.stage
    ends = [end.index for end in (stage.before, stage.after) if end is not None]
    return step is not None and step in (*ends, *stage.numbers())


def _lines(places: list[RowPosition]) -> Iterator[tuple[RowPosition, int]]:
    """Line numbers of rows of one shard, counted in the shard; places: in row order."""
    wanted = np.array([place.inside for place in places], np.int64)
    left = len(places)
    for batch in read(places[0].shard, BATCH, check=False):
        for at in np.flatnonzero(np.isin(batch.rows, wanted)).tolist():
            yield places[int(np.searchsorted(wanted, batch.rows[at]))], batch.line_number(at)
            left -= 1
        if not left:
            return


def _part(program: Program, batch: Batch, done: pa.Table, folder: Path) -> Part:
    """Write the output of a stage for the only sample in a batch."""
    with PartWriter(folder / "row", program.lines) as writer:
        writer.write(batch, np.zeros(1, np.int64), *new_values(program, done))
    source = source_of_part(str(writer.path), program.lines, writer.bytes)
    return Part(source, np.zeros(1, np.int64), batch.rows, batch.line_numbers)


def _stats(program: Program, place: RowPosition, done: pa.Table, folder: Path) -> str:
    """Write a file with the statistics of a stage, for later stages that use them."""
    return _table(folder / "stats.parquet", place, {stat.column: done[stat.column] for stat in program.stats})


def _table(path: Path, place: RowPosition, columns: dict[str, Any]) -> str:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"_row": ints(np.array([place.inside])), **columns}), path)
    return str(path)
