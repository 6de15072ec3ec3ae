"""Resources of a step: its measured share of its stage, and nothing that cannot be known."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from refinery.operators import read_sql


def resources(steps: list[tuple[int, str, float]], looks: list[tuple[Any, ...]], columns: str) -> list[tuple[Any, ...]]:
    """Rows of step_resources. steps: number, phase, seconds; all of stage 1. looks: elapsed, phase, cpu, memory."""
    con = duckdb.connect()
    con.execute("CREATE TABLE steps (step INT, operator VARCHAR, seconds DOUBLE, rows_in BIGINT, bytes_in BIGINT)")
    con.execute("CREATE TABLE placed (step INT, stage INT, phase VARCHAR)")
    con.execute("CREATE TABLE monitor (elapsed DOUBLE, stage INT, phase VARCHAR, worker VARCHAR, cpu DOUBLE,"
                " cpu_seconds DOUBLE, memory BIGINT, gpu DOUBLE)")  # fmt: skip
    for step, phase, seconds in steps:
        con.execute("INSERT INTO steps VALUES (?, ?, ?, 100, 1000)", [step, f"op_{step}", seconds])
        con.execute("INSERT INTO placed VALUES (?, 1, ?)", [step, phase])
    for elapsed, phase, cpu, spent, memory, worker in looks:
        row = [elapsed, phase, worker, cpu, spent, memory]
        con.execute("INSERT INTO monitor VALUES (?, 1, ?, ?, ?, ?, ?, NULL)", row)
    con.execute(read_sql("tables/step_resources.sql"))
    return con.execute(f"SELECT {columns} FROM step_resources ORDER BY step").fetchall()


LOOKS = [
    (1.0, "shards", 2.0, 2.0, 100, "all"),
    (1.0, "shards", 9.0, 9.0, 900, "node"),
    (3.0, "shards", 1.0, 2.0, 300, "all"),
    (3.5, "deduplicator", 4.0, 2.0, 50, "all"),
]


def test_steps_of_a_stage_divide_its_processor_time_by_their_seconds() -> None:
    steps = [(1, "shards", 3.0), (2, "shards", 1.0), (3, "deduplicator", 0.5)]
    found = resources(steps, LOOKS, "share, cpu_seconds, cpu_avg, stage_cpu_seconds, samples")
    assert found == [(0.75, 3.0, 1.0, 4.0, 2), (0.25, 1.0, pytest.approx(1 / 3), 4.0, 2), (1.0, 2.0, 4.0, 2.0, 1)]


def test_memory_is_that_of_a_step_which_is_alone_in_its_stage() -> None:
    steps = [(1, "shards", 3.0), (2, "shards", 1.0), (3, "deduplicator", 0.5)]
    found = resources(steps, LOOKS, "memory_max, cpu_min, cpu_max, stage_memory_max")
    assert found == [(None, None, None, 300), (None, None, None, 300), (50, 4.0, 4.0, 50)]


def test_what_was_not_measured_is_null() -> None:
    steps = [(1, "shards", 0.0), (2, "shards", 0.0)]
    columns = "share, cpu_seconds, rows_per_second, stage_cpu_seconds, stage_memory_max, samples"
    assert resources(steps, [], columns) == [(None, None, None, None, None, 0)] * 2
    assert resources([(1, "shards", 0.0)], LOOKS, columns) == [(None, None, None, 4.0, 300, 2)]
