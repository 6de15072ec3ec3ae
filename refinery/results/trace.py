"""The trace: samples that each operator changed or removed, replayed for the first such rows."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.lazy import pq
from refinery.compiler.program import Program, StepInfo
from refinery.compiler.templates import lit
from refinery.io.model import Shard
from refinery.kernels.core.arrow import of_records
from refinery.planning.plan import CompiledStage
from refinery.results import pairs
from refinery.results.database import Database
from refinery.results.stage_result import StageResult
from refinery.results.tables import listed
from refinery.storage.run_folder import RunDir
from refinery.tracer.records import field
from refinery.workers.replay import ReplayedRow, replay_all, sample_at, stats_until, versions_before
from refinery.workers.worker import Worker

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

# Limits of one job: shards that it reads in turn, rows that it replays (more, if a single shard has more).
_SHARDS = 32
_ROWS = 256
# Rows that are sorted in memory: one statement per step would cost more.
_SORTED = 1000


@dataclass(frozen=True)
class _Wanted:
    """Rows of a shard to trace, by number in the shard, with the steps. first: number of the shard's first row."""

    shard: Shard
    rows: dict[int, list[StepInfo]]
    first: int


def choose(db: Database, done: Sequence[StageResult], names: Sequence[str], limit: int | None) -> dict[int, list[int]]:
    """The rows to trace per step: the first `limit` (None: all) by `_row` that the step changed or removed.

    names: operators to trace, all when empty.
    """
    chosen: dict[int, list[int]] = {}
    end = "" if limit is None else f" LIMIT {limit}"
    for step, condition in conditions([stage.planned for stage in done], names).items():
        rows = db.rows(f"SELECT _row FROM facts WHERE {condition}{end}")  # facts are in order
        chosen[step] = [row for (row,) in rows]
    return chosen


def conditions(stages: Sequence[CompiledStage], names: Sequence[str]) -> dict[int, str]:
    """The condition, over `facts`, of the rows that each traced step changed or removed. names: as in `choose`."""
    changed = {change.step: change.changed for planned in stages for change in planned.program.changes}
    traced = [step for step, _ in listed(stages) if not names or step.name in names]
    removing = {step for planned in stages for step in planned.chain.predicates}
    return {step.index: _touched(step.index, changed.get(step.index), step.index in removing) for step in traced}


def _touched(step: int, changed: str | None, may_remove: bool) -> str:
    """The condition of rows that a step changed or removed. changed: its flag, if it makes a new text."""
    removed = f"_dropped = {step}"
    return f"({changed} OR {removed})" if changed and may_remove else changed or removed


def record(
    db: Database, done: Sequence[StageResult], chosen: dict[int, list[int]], keys: Sequence[str], folder: Path
) -> None:
    """Replay the chosen rows and fill the table `trace`."""
    db.table("trace", pa.Table.from_batches([], SCHEMA))
    firsts = [first for (first,) in db.rows("SELECT first_row FROM shards ORDER BY shard")]
    for stage in done:
        files = stage.pool.map(_jobs(stage, chosen, firsts, keys, folder))
        if files:
            _insert(db, files, sorted(info.index for info in stage.program.steps if chosen.get(info.index)), chosen)
        after = stage.planned.stage.after
        if after is not None and not stage.units and chosen.get(after.index):
            pairs.record(db, stage, chosen[after.index], firsts)


def _insert(db: Database, files: Sequence[Path], steps: Sequence[int], chosen: dict[int, list[int]]) -> None:
    """Add the files of jobs to the table, ordered by step, then by row."""
    source = f"read_parquet({lit([str(file) for file in files])})"
    if sum(len(chosen[step]) for step in steps) <= _SORTED:
        db.run(f"INSERT INTO trace SELECT * FROM {source} ORDER BY step, _row")
        return
    for step in steps:  # the files are in the order of the rows, so nothing needs to be sorted in memory
        db.run(f"INSERT INTO trace SELECT * FROM {source} WHERE step = {step}")


def _jobs(
    stage: StageResult, chosen: dict[int, list[int]], firsts: Sequence[int], keys: Sequence[str], folder: Path
) -> list[Any]:
    """Jobs for the shards that have rows to trace; shards with few rows share a job."""
    wanted = [
        _Wanted(shard, rows, firsts[shard.index])
        for shard, rows in zip(stage.shards, by_shard(stage, chosen, firsts), strict=True)
        if rows
    ]
    return [
        _job(stage, group, keys, folder / f"trace_{stage.planned.stage.number}_{group[0].shard.index:05d}.parquet")
        for group in _groups(wanted)
    ]


def _groups(wanted: Sequence[_Wanted]) -> Iterator[list[_Wanted]]:
    """Group neighbouring shards with few rows: few statements, and still shards for other workers to read."""
    group: list[_Wanted] = []
    for item in wanted:
        if group and (len(group) == _SHARDS or sum(len(each.rows) for each in group) + len(item.rows) > _ROWS):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def by_shard(
    stage: StageResult, chosen: dict[int, list[int]], firsts: Sequence[int]
) -> list[dict[int, list[StepInfo]]]:
    """For each shard the chosen rows, by number in the shard, with the steps that they are traced for."""
    steps_by_row: list[dict[int, list[StepInfo]]] = [defaultdict(list) for _ in stage.shards]
    for step in stage.program.steps:
        for row in chosen.get(step.index, ()):
            shard = bisect_right(firsts, row) - 1
            steps_by_row[shard][row - firsts[shard]].append(step)
    return steps_by_row


def _job(stage: StageResult, group: Sequence[_Wanted], keys: Sequence[str], path: Path) -> Any:
    def run(worker: Worker) -> Path:
        places = [(item.shard, sorted(item.rows), stage.task(item.shard)) for item in group]
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
            pending: list[dict[str, Any]] = []
            for at, row in replay_all(worker, places):
                steps = group[at].rows[row.row]
                pending += [_trace(stage.program, row, step, group[at].first, keys) for step in steps]
                if len(pending) >= 1000:
                    writer.write_table(of_records(pending, SCHEMA))
                    pending = []
            writer.write_table(of_records(pending, SCHEMA))
        return path

    return run


def _trace(program: Program, row: ReplayedRow, step: StepInfo, first: int, keys: Sequence[str]) -> dict[str, Any]:
    change = next((change for change in program.changes if change.step == step.index), None)
    sample = sample_at(program, row, step.index)
    original = row.values[versions_before(program, step.index)[step.field]]
    if change and row.values[change.changed]:
        processed = row.values[change.after]
        content = {key: field(sample, key) for key in keys}
        content |= {"original_text": original, "processed_text": processed}
    else:
        processed = None
        content = sample | {"__dj__stats__": stats_until(program, row.values, step.index)}
    return {
        "_row": row.row + first,
        "step": step.index,
        "operator": step.name,
        "kind": step.kind,
        "original_text": original,
        "processed_text": processed,
        "record": json.dumps(content, ensure_ascii=False),
    }


def write_files(db: Database, done: Sequence[StageResult], run: RunDir, chosen: dict[int, list[int]]) -> list[Path]:
    """Write the JSONL files of the trace, one per traced step, also for a step without traces."""
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
