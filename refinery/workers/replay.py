"""Replay of rows: operators are deterministic, so the effect of a step on a row is recomputed on demand, not stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.compiler.program import Program
from refinery.io.batch import as_json
from refinery.io.model import Shard
from refinery.workers.worker import Task, Worker


@dataclass(frozen=True)
class ReplayedRow:
    """A recomputed row.

    row, line: number and line of the row in the shard. sample: the record as it was read. values: every column.
    """

    row: int
    line: int
    sample: dict[str, Any]
    values: dict[str, Any]


def replay(worker: Worker, shard: Shard, rows: Sequence[int], task: Task) -> Iterator[ReplayedRow]:
    """Recompute rows of a shard, in row order."""
    for _, row in replay_all(worker, [(shard, rows, task)]):
        yield row


def replay_all(
    worker: Worker, places: Iterable[tuple[Shard, Sequence[int], Task]]
) -> Iterator[tuple[int, ReplayedRow]]:
    """Recompute rows of several shards, in order, each with the position of its shard."""
    for shard, part, done in worker.replay_all(places):
        for values in done.to_pylist():
            at = values["_i"]
            yield shard, ReplayedRow(int(part.rows[at]), part.line_number(at), part.sample(at), values)


def stats_until(program: Program, values: Mapping[str, Any], step: int) -> dict[str, Any]:
    """The statistics that steps up to `step` computed for the row."""
    stats = (*program.shown, *program.stats)
    return {s.column: values[s.column] for s in stats if s.step <= step and values[s.column] is not None}


def sample_at(program: Program, row: ReplayedRow, step: int) -> dict[str, Any]:
    """The record before step `step`: texts as earlier steps left them, everything else as read.

    Plain JSON data: values without a JSON form become their text, NaN becomes None.
    """
    plain = as_json(row.sample).decode("utf-8", "replace")
    sample = json.loads(plain, parse_constant=lambda name: None)
    for keys, column in versions_before(program, step).items():
        value = row.values[column]
        _put(sample, keys, json.loads(value) if keys in program.written and value is not None else value)
    return sample


def versions_before(program: Program, step: int) -> dict[tuple[str, ...], str]:
    """Column with the version of each text field before step `step`."""
    versions = dict(program.read)
    for change in program.changes:
        if change.step < step:
            versions[change.field] = change.after
    return versions


def _put(sample: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        sample = sample[key]
    if keys[-1] in sample or value is not None:
        sample[keys[-1]] = value
