"""Texts of samples of a finished run as they reached a deduplicator, recomputed from the input, many of a shard at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb, pq
from refinery.dedup.audit.readings import Reading
from refinery.inspect.why.row_replay import RowPosition, RowReplay
from refinery.io.batch import Batch
from refinery.io.model import Part, Shard
from refinery.io.readers.parts import source_of_part
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import ints
from refinery.planning.plan import CompiledStage, Plan
from refinery.planning.sizes import BATCH
from refinery.workers.new_values import new_values
from refinery.workers.replay import ReplayedRow, sample_at
from refinery.workers.worker import Task, Worker

Replayed = list[tuple[Batch, pa.Table]]


@dataclass(frozen=True)
class ReplayedTexts:
    """See `results.audit.texts.Texts`. con: the run's tables."""

    prepared: Plan
    con: duckdb.DuckDBPyConnection
    replay: RowReplay

    def each(self, step: Any, reading: Reading, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """Read the samples that reached a deduplicator, by row."""
        by_shard: dict[int, list[RowPosition]] = defaultdict(list)
        for place in map(self.replay.place, wanted):
            by_shard[place.shard.index].append(place)
        workers = {planned.stage.number: Worker(planned.program) for planned in self._stages(step)}
        taken: dict[int, Any] = {}
        try:
            for places in by_shard.values():
                numbers, samples = zip(*self._samples(step, places, workers), strict=True)
                asked = [wanted[number] for number in numbers]
                taken |= dict(zip(numbers, reading.taken(samples, asked), strict=True))
        finally:
            for worker in workers.values():
                worker.close()
        return taken

    def _stages(self, step: Any) -> list[CompiledStage]:
        """The stages up to the one that ends with a deduplicator."""
        ends = [
            planned.stage.after is not None and planned.stage.after.index == step.index
            for planned in self.prepared.stages
        ]
        return list(self.prepared.stages[: ends.index(True) + 1])

    def _samples(
        self, step: Any, places: Sequence[RowPosition], workers: dict[int, Worker]
    ) -> Iterator[tuple[int, Any]]:
        """Number and sample of rows of one shard, as they reached the step."""
        stages, first, shard = self._stages(step), places[0].first, places[0].shard
        inside, tables = sorted({place.inside for place in places}), list[str]()
        with TemporaryDirectory(prefix="refinery-audit-") as name:
            for planned in stages:
                folder = Path(name) / str(planned.stage.number)
                folder.mkdir()
                if shard.part is not None:
                    tables += self._units(planned, first, inside, folder)
                    shard = replace(shard, part=replace(shard.part, tables=tuple(tables)))
                task = Task("", BATCH, first_row=first)
                done = list(workers[planned.stage.number].replay(shard, inside, task))
                if planned is not stages[-1]:
                    tables.append(_stats(planned, done, folder))
                    shard = _left(planned, shard, done, folder)
            for batch, table in done:
                for values in table.to_pylist():
                    at = values["_i"]
                    row = ReplayedRow(int(batch.rows[at]), batch.line_number(at), batch.sample(at), values)
                    yield first + row.row, sample_at(stages[-1].program, row, step.index)

    def _units(self, planned: CompiledStage, first: int, inside: Sequence[int], folder: Path) -> list[str]:
        """Write the units that a deduplicator before a stage takes out of the rows; returns the file, if there is one."""
        column, before = planned.program.removed, planned.stage.before
        if column is None or before is None:
            return []
        found = self.con.execute(
            "SELECT _row, flatten(list(CASE WHEN length IS NULL THEN [unit] ELSE [unit, unit + length] END ORDER BY unit)) "
            "FROM duplicates WHERE step = ? AND unit IS NOT NULL AND _row IN (SELECT unnest(?::BIGINT[])) GROUP BY _row",
            [before.index, [first + row for row in inside]],
        ).fetchall()
        units = dict(found)
        lists = pa.array([units.get(first + row) for row in inside], pa.list_(pa.int64()))
        return [_table(folder / "units.parquet", np.array(inside, np.int64), {column: lists})]


def _stats(planned: CompiledStage, done: Replayed, folder: Path) -> str:
    """Write the statistics of a stage, for later stages that use them."""
    names = [stat.column for stat in planned.program.stats]
    columns = {name: pa.chunked_array([chunk for _, table in done for chunk in table[name].chunks]) for name in names}
    return _table(folder / "stats.parquet", _rows(done), columns)


def _left(planned: CompiledStage, shard: Shard, done: Replayed, folder: Path) -> Shard:
    """The shard with the output of a stage for the rows, as input of the next one."""
    program = planned.program
    with PartWriter(folder / "rows", program.lines) as writer:
        for batch, table in done:
            writer.write(batch, np.arange(len(batch)), *new_values(program, table))
    source = source_of_part(str(writer.path), program.lines, writer.bytes)
    lines = np.concatenate([batch.line_numbers for batch, _ in done])
    return replace(shard, part=Part(source, np.arange(len(lines)), _rows(done), lines))


def _rows(done: Replayed) -> np.ndarray:
    return np.concatenate([batch.rows for batch, _ in done])


def _table(path: Path, rows: np.ndarray, columns: dict[str, Any]) -> str:
    pq.write_table(pa.table({"_row": ints(rows), **columns}), path)
    return str(path)
