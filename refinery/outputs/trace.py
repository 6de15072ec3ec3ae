"""The trace: what each operator changed and removed, replayed for the first rows that it touched."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from refinery.compiler.env import lit
from refinery.compiler.program import Program, StepInfo
from refinery.engine.replay import Replayed, replay, sample_at, stats_until, versions_before
from refinery.engine.worker import Task, Worker
from refinery.outputs import pairs
from refinery.outputs.database import Database
from refinery.outputs.tables import listed
from refinery.rundir import RunDir
from refinery.samples.sources import Shard
from refinery.staging import Done
from refinery.tracer.records import field

SCHEMA = pa.schema(
    [
        ("_row", pa.int64()),
        ("step", pa.int32()),
        ("operator", pa.string()),
        ("kind", pa.string()),
        ("original_text", pa.large_string()),
        ("processed_text", pa.large_string()),
        ("record", pa.large_string()),
    ]
)


def choose(db: Database, done: Sequence[Done], names: Sequence[str], limit: int | None) -> dict[int, list[int]]:
    """The rows to trace per step: the first `limit` (None: all) by `_row` that the step changed or removed.

    names: operators to trace, all when empty.
    """
    changed = {change.step: change.changed for stage in done for change in stage.program.changes}
    chosen: dict[int, list[int]] = {}
    for step, _ in listed([stage.planned for stage in done]):
        if names and step.name not in names:
            continue
        condition = changed.get(step.index) or f"_dropped = {step.index}"
        end = "" if limit is None else f" LIMIT {limit}"
        rows = db.rows(f"SELECT _row FROM facts WHERE {condition}{end}")  # facts are in order
        chosen[step.index] = [row for (row,) in rows]
    return chosen


def record(db: Database, done: Sequence[Done], chosen: dict[int, list[int]], keys: Sequence[str], folder: Path) -> None:
    """Replay the chosen rows and fill the table `trace`."""
    db.table("trace", pa.Table.from_batches([], SCHEMA))
    firsts = [first for (first,) in db.rows("SELECT first_row FROM shards ORDER BY shard")]
    for stage in done:
        files = stage.pool.map(_jobs(stage, chosen, firsts, keys, folder))
        source = f"read_parquet({lit([str(file) for file in files])})"
        for step in sorted(info.index for info in stage.program.steps if info.index in chosen) if files else ():
            # The files are in the order of the rows; taken step by step, nothing needs to be sorted in memory.
            db.run(f"INSERT INTO trace SELECT * FROM {source} WHERE step = {step}")
        after = stage.planned.stage.after
        if after is not None and not stage.units and chosen.get(after.index):
            pairs.record(db, stage, chosen[after.index], firsts)


def _jobs(
    stage: Done, chosen: dict[int, list[int]], firsts: Sequence[int], keys: Sequence[str], folder: Path
) -> list[Any]:
    """A job for each shard that has rows to trace."""
    jobs = []
    for shard, rows in zip(stage.shards, by_shard(stage, chosen, firsts), strict=True):
        if rows:
            target = folder / f"trace_{stage.planned.stage.number}_{shard.index:05d}.parquet"
            jobs.append(_job(stage.program, shard, rows, firsts[shard.index], stage.task(shard), keys, target))
    return jobs


def by_shard(stage: Done, chosen: dict[int, list[int]], firsts: Sequence[int]) -> list[dict[int, list[StepInfo]]]:
    """For each shard the chosen rows, by their numbers in it, with the steps that they are traced for."""
    found: list[dict[int, list[StepInfo]]] = [defaultdict(list) for _ in stage.shards]
    for step in stage.program.steps:
        for row in chosen.get(step.index, ()):
            shard = bisect_right(firsts, row) - 1
            found[shard][row - firsts[shard]].append(step)
    return found


def _job(
    program: Program,
    shard: Shard,
    wanted: dict[int, list[StepInfo]],
    first: int,
    task: Task,
    keys: Sequence[str],
    path: Path,
) -> Any:
    def run(worker: Worker) -> Path:
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
            pending: list[dict[str, Any]] = []
            for row in replay(worker, shard, sorted(wanted), task):
                pending += [_trace(program, row, step, first, keys) for step in wanted[row.row]]
                if len(pending) >= 1000:
                    writer.write_table(pa.Table.from_pylist(pending, SCHEMA))
                    pending = []
            writer.write_table(pa.Table.from_pylist(pending, SCHEMA))
        return path

    return run


def _trace(program: Program, row: Replayed, step: StepInfo, first: int, keys: Sequence[str]) -> dict[str, Any]:
    change = next((change for change in program.changes if change.step == step.index), None)
    given = sample_at(program, row, step.index)
    original = row.values[versions_before(program, step.index)[step.field]]
    if change:
        processed = row.values[change.after]
        content = {key: field(given, key) for key in keys}
        content |= {"original_text": original, "processed_text": processed}
    else:
        processed = None
        content = given | {"__dj__stats__": stats_until(program, row.values, step.index)}
    return {
        "_row": row.row + first,
        "step": step.index,
        "operator": step.name,
        "kind": step.kind,
        "original_text": original,
        "processed_text": processed,
        "record": json.dumps(content, ensure_ascii=False),
    }


def write_files(db: Database, done: Sequence[Done], run: RunDir, chosen: dict[int, list[int]]) -> list[Path]:
    """JSONL files of the trace, one per traced step, also when it traced nothing."""
    run.trace.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    written = []
    removing = {stage.planned.stage.after.index for stage in done if stage.planned.stage.after and not stage.units}
    for step, _ in listed([stage.planned for stage in done]):
        if step.index in chosen:
            path = run.trace_file(step.name, step.index, step.name not in seen, step.index in removing)
            with path.open("w", encoding="utf-8", newline="\n") as file:
                reader = db.con.execute("SELECT record FROM trace WHERE step = ?", [step.index])  # they are in order
                while rows := reader.fetchmany(1000):
                    file.writelines(text + "\n" for (text,) in rows)
            written.append(path)
        seen.add(step.name)
    return written
