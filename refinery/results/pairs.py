"""Traces of deduplicators: each removed sample with the sample that is kept instead."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from refinery.common.fields import keys_of
from refinery.compiler.program import Program
from refinery.kernels.core.arrow import of_records
from refinery.results.database import Database
from refinery.results.stage_result import StageResult
from refinery.workers.replay import ReplayedRow, replay, sample_at
from refinery.workers.worker import Worker

# Pairs of samples in memory at once.
_BLOCK = 1000

_SCHEMA = pa.schema(
    [
        ("_row", pa.int64()),
        ("step", pa.int32()),
        *((name, pa.large_string()) for name in ("operator", "kind", "original_text", "processed_text", "record")),
    ]
)


def record(db: Database, stage: StageResult, rows: Sequence[int], firsts: Sequence[int]) -> None:
    """Add the pairs of the removed samples `rows` to the table `trace`: dup1 is kept, dup2 removed.

    A kept sample of an earlier run, which only the index knows, is null.
    """
    step = stage.planned.stage.after
    assert step is not None
    for start in range(0, len(rows), _BLOCK):
        block = list(rows[start : start + _BLOCK])
        sql = f"SELECT _row, kept FROM duplicates WHERE step = {step.index} AND _row IN {tuple([*block, -1])}"
        kept = dict(db.rows(sql))
        samples = _samples(stage, sorted({*block, *(row for row in kept.values() if row is not None)}), firsts)
        records = [_record(step, row, kept.get(row), samples) for row in block]
        db.con.register("_pairs", of_records(records, _SCHEMA))
        db.run("INSERT INTO trace BY NAME SELECT * FROM _pairs")
        db.con.unregister("_pairs")


def _record(step: Any, row: int, kept: int | None, samples: dict[int, tuple[str, Any]]) -> dict[str, Any]:
    as_samples = bool(step.params.get("trace_samples"))
    other = samples.get(kept) if kept is not None else None
    first = None if other is None else other[as_samples]
    content = json.dumps({"dup1": first, "dup2": samples[row][as_samples]}, ensure_ascii=False)
    return {
        "_row": row,
        "step": step.index,
        "operator": step.name,
        "kind": "deduplicator",
        "original_text": samples[row][0],
        "processed_text": None if other is None else other[0],
        "record": content,
    }


def _samples(stage: StageResult, rows: Sequence[int], firsts: Sequence[int]) -> dict[int, tuple[str, Any]]:
    """Text and whole record of each sample, as the deduplicator received it."""
    wanted: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        shard = bisect_right(firsts, row) - 1
        wanted[shard].append(row - firsts[shard])
    step = stage.planned.stage.after
    assert step is not None

    def job(number: int) -> Any:
        shard = stage.shards[number]

        def run(worker: Worker) -> list[tuple[int, tuple[str, Any]]]:
            replayed = replay(worker, shard, wanted[number], stage.task(shard))
            return [(row.row + firsts[number], _version(stage.program, row, step)) for row in replayed]

        return run

    return dict(pair for pairs in stage.pool.map([job(number) for number in sorted(wanted)]) for pair in pairs)


def _version(program: Program, row: ReplayedRow, step: Any) -> tuple[str, Any]:
    sample = sample_at(program, row, step.index)
    text: Any = sample
    own = step.params.get("text_key")
    for key in keys_of(own) if own else program.text_key:
        text = text.get(key) if isinstance(text, dict) else None
    return str(text), sample
