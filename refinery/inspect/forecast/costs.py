"""Seconds, memory and disk of a run: what a sample has cost, and what grows with the input.

The first shard of each stage pays for the start of its worker. The others, of different sizes, show the cost of a shard and of a byte.
What a sample is too small to show, the work for a row at a barrier and for the tables, has fixed costs, measured once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refinery.inspect.forecast.measured import MeasuredRun
from refinery.inspect.forecast.sampled import Sample
from refinery.planning.plan import Plan

# Seconds of a shard before it is measured, and their uncertainty; error of a measured shard.
_SHARD, _SHARD_ERROR, _NOISE = 0.008, 0.005, 0.010
# Seconds for a row: of a deduplicator's matches, and of a column in the tables.
PER_MATCHED_ROW, PER_CELL = 2e-6, 0.4e-6
# Part of their time that threads of one process work side by side.
_SIDE_BY_SIDE = 0.95
# Bytes of memory for a byte of a batch, in all its versions, and for a row of a table while the tables are made.
_PER_BATCH_BYTE, _PER_ROW = 6.0, 60
# Least relative error of a forecast of seconds.
_LEAST_ERROR = 0.10


@dataclass(frozen=True)
class StageCost:
    """Processor seconds of a stage: to begin, for a shard, for a byte of the sample's files. error: relative, of the last."""

    number: int
    begin: float
    shard: float
    byte: float
    error: float
    barrier: float = 0.0
    matched: bool = False

    def seconds(self, size: float, shards: int) -> float:
        """Processor seconds of the shards of so many bytes."""
        return self.shard * shards + self.byte * size


@dataclass(frozen=True)
class RunCosts:
    """Processor seconds of the parts of a run.

    start: of the command, with its plan. tables: besides those for rows. cells: columns of a row. apart: workers are processes,
    each of which begins by itself.
    """

    start: float
    stages: tuple[StageCost, ...]
    tables: float
    cells: int
    apart: bool

    @property
    def fixed(self) -> float:
        """Seconds that do not depend on the input."""
        return self.start + self.tables + sum(stage.begin + stage.barrier for stage in self.stages)


@dataclass(frozen=True)
class Load:
    """Work of a run.

    sizes: bytes of each stage's samples, as in the sample's files. matched: match keys, or samples, at each stage's end. rows: of the
    input. shards: of a stage.
    """

    sizes: Sequence[float]
    matched: Sequence[float]
    rows: float
    shards: int


def costs_of(plan: Plan, sample: Sample, run: MeasuredRun, started: float) -> RunCosts:
    """The costs that the run of a sample shows. started: processor seconds of the command up to the plan."""
    stages = [_stage_cost(planned.stage.number, sample, run) for planned in plan.stages]
    first = run.marks[0].seconds - run.began
    last = max(mark.seconds for mark in run.marks)
    cells = sum(len(planned.program.stats) + len(planned.program.changes) + 2 for planned in plan.stages)
    return RunCosts(started + first, tuple(stages), run.ended - last, cells, run.apart)


def _stage_cost(number: int, sample: Sample, run: MeasuredRun) -> StageCost:
    """The costs of a stage, by the marks after its shards."""
    times: list[float] = []
    sizes: list[int] = []
    barrier = 0.0
    for before, mark in zip(run.marks, run.marks[1:], strict=False):
        if mark.stage == number and mark.shard is not None:
            times.append(mark.seconds - before.seconds)
            sizes.append(sample.shards[mark.shard].size)
        if before.stage == number and before.part == "deduplicator":
            barrier = mark.seconds - before.seconds
    matched = any(mark.stage == number and mark.part == "deduplicator" for mark in run.marks)
    if len(times) < 3:
        byte = sum(times) / max(1, sum(sizes))
        return StageCost(number, 0.0, 0.0, byte, 0.5, barrier, matched)
    shard, byte, error = line_through(np.array(sizes[1:], float), np.array(times[1:]))
    return StageCost(number, max(0.0, times[0] - shard - byte * sizes[0]), shard, byte, error, barrier, matched)


def line_through(sizes: np.ndarray, times: np.ndarray) -> tuple[float, float, float]:
    """Seconds of a shard and of a byte by least squares, with the usual seconds of a shard as one more observation."""
    rows = np.column_stack([np.ones(len(sizes)), sizes]) / _NOISE
    rows = np.vstack([rows, [1 / _SHARD_ERROR, 0.0]])
    wanted = np.append(times / _NOISE, _SHARD / _SHARD_ERROR)
    (shard, byte), *_ = np.linalg.lstsq(rows, wanted, rcond=None)
    if shard < 0:
        shard, byte = 0.0, float(times.sum() / sizes.sum())
    byte = max(byte, 1e-12)
    error = math.sqrt(float(np.linalg.inv(rows.T @ rows)[1, 1])) / byte
    return float(shard), float(byte), error


def processor_seconds_of(costs: RunCosts, load: Load, workers: int) -> float:
    """Processor time of the whole run."""
    others = min(workers, load.shards) - 1 if costs.apart else 0
    begins = others * sum(stage.begin for stage in costs.stages)
    return costs.fixed + begins + sum(_stage_seconds(costs, load)) + _rows_seconds(costs, load)


def wall_seconds_of(costs: RunCosts, load: Load, workers: int) -> float:
    """Time of the run by workers of this machine."""
    side = max(1.0, min(workers, load.shards) * (_SIDE_BY_SIDE if workers > 1 else 1.0))
    return costs.fixed + sum(_stage_seconds(costs, load)) / side + _rows_seconds(costs, load)


def error_of(costs: RunCosts, load: Load) -> float:
    """Relative error of a forecast of seconds, 95 %."""
    total = processor_seconds_of(costs, load, 1)
    apart = sum(
        (2 * stage.error * stage.byte * size) ** 2 for stage, size in zip(costs.stages, load.sizes, strict=True)
    )
    return math.hypot(_LEAST_ERROR, math.sqrt(apart) / total)


def _stage_seconds(costs: RunCosts, load: Load) -> list[float]:
    return [stage.seconds(size, load.shards) for stage, size in zip(costs.stages, load.sizes, strict=True)]


def _rows_seconds(costs: RunCosts, load: Load) -> float:
    """Seconds of barriers and tables for their rows."""
    matched = sum(rows for stage, rows in zip(costs.stages, load.matched, strict=True) if stage.matched)
    return matched * PER_MATCHED_ROW + load.rows * costs.cells * PER_CELL


def memory_of(plan: Plan, run: MeasuredRun, before: int, rows: float, shard: float) -> float:
    """Most bytes of memory. before: of the process before the sample was run. shard: bytes of a shard of the run."""
    batch = min(plan.sizes.bytes, shard)
    tables = rows * _PER_ROW
    limit = plan.recipe.memory_limit
    return before + run.memory + plan.workers * batch * _PER_BATCH_BYTE + (min(tables, limit) if limit else tables)
