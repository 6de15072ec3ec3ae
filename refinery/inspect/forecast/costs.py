"""Seconds of a run: the laws of its parts, for as much work as the whole input makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from refinery.inspect.forecast.laws import AFTER, AUDIT, BARRIER, SHARDS, START, Law, Prior, TimedPart, law_of
from refinery.inspect.forecast.measured import MeasuredRuns
from refinery.planning.plan import Plan

# Seconds of a shard besides those of its bytes; of a byte; of a deduplicator's row; of a column of a row in the tables.
PER_SHARD, _PER_BYTE, PER_MATCHED_ROW, PER_CELL = 0.008, 30e-9, 2e-6, 0.4e-6
# Their standard errors, wide ones: what is measured counts, unless it is noise. The export is in the tables' part, too.
_SHARD_ERROR, _BYTE_ERROR, _MATCHED_ERROR, _TABLE_ERROR = 0.005, 100e-9, 50e-6, 50e-6
# Seconds of a sample that an audit compares with the one that stays, both cut into shingles.
_PER_AUDITED, _AUDITED_ERROR = 0.5e-3, 0.5e-3
# Seconds in which the process ends after its run.
_EXIT = 0.2
# Least relative error of a forecast of seconds.
_LEAST_ERROR = 0.10


@dataclass(frozen=True)
class StageCost:
    """Costs of a stage.

    shards: law of its bytes, as in the sample's files. barrier: law of its deduplicator's rows. again: processor seconds in which groups of rows of
    the input are decompressed again.
    """

    number: int
    shards: Law
    barrier: Law | None = None
    again: float = 0.0

    @property
    def begin(self) -> float:
        """Processor seconds before the first shard."""
        return self.shards.fixed

    @property
    def matched(self) -> bool:
        """Return whether the stage has a deduplicator."""
        return self.barrier is not None

    def seconds(self, size: float, shards: int) -> float:
        """Processor seconds of the shards of so many bytes, besides those of the beginning."""
        return self.again + PER_SHARD * shards + self.shards.unit * size


@dataclass(frozen=True)
class RunCosts:
    """Costs of the parts of a run.

    start, waited: processor and wall seconds of the command, with its plan. tables: law of the rows of the input and of the export. cells: columns of a row.
    audit: law of the samples that the audit compares, and of what follows it.
    """

    start: float
    waited: float
    stages: tuple[StageCost, ...]
    tables: Law
    cells: int
    audit: Law = Law(0.0, 0.0, 0.0)

    @property
    def fixed(self) -> float:
        """Processor seconds that do not depend on the input."""
        barriers = sum(stage.barrier.fixed for stage in self.stages if stage.barrier)
        return self.start + self.tables.fixed + self.audit.fixed + barriers + sum(stage.begin for stage in self.stages)


@dataclass(frozen=True)
class Load:
    """Work of a run.

    sizes: bytes of each stage's samples, as in the sample's files. matched: match keys, or samples, at each stage's end. rows: of the
    input. shards: of a stage. exported: rows of the export. audited: samples that the audit compares; reread: processor seconds in which it reads the input
    for them.
    """

    sizes: Sequence[float]
    matched: Sequence[float]
    rows: float
    shards: int
    exported: float = 0.0
    audited: float = 0.0
    reread: float = 0.0

    @property
    def written(self) -> float:
        """Rows that are written at the end: those of the tables and of the export."""
        return self.rows + self.exported


def costs_of(plan: Plan, runs: MeasuredRuns, loads: tuple[Load, Load], start: tuple[float, float]) -> RunCosts:
    """The costs that the runs of a sample show. loads: of the small runs and of the large one. start: processor and wall seconds of the command up to
    the plan."""
    stages = [_stage_cost(planned.stage.number, place, runs, loads) for place, planned in enumerate(plan.stages)]
    written = [place for place, planned in enumerate(plan.stages) if planned.program.outs]
    reading = written[0] + 1 if written else len(stages)  # later stages read what an earlier one has written
    stages[:reading] = [replace(stage, again=runs.again) for stage in stages[:reading]]
    cells = sum(len(planned.program.stats) + len(planned.program.changes) + 2 for planned in plan.stages)
    before, (small, large) = runs.cold[START], loads
    rows = small.written, large.written
    tables = law_of(*_parts(runs, AFTER), rows, Prior(cells * PER_CELL, _TABLE_ERROR))
    begin = start[0] + before.processor + _EXIT, start[1] + before.wall + _EXIT
    audit = audit_law(_parts(runs, AUDIT), small, large)
    return RunCosts(*begin, tuple(stages), tables, cells, audit)


def audit_law(parts: tuple[TimedPart, TimedPart, TimedPart], small: Load, large: Load) -> Law:
    """The law of the samples that an audit compares, besides the seconds in which it reads the input for them."""
    read = small.reread, small.reread, large.reread
    cold, again, more = (
        replace(part, processor=max(0.0, part.processor - seconds), wall=max(0.0, part.wall - seconds / part.side))
        for part, seconds in zip(parts, read, strict=True)
    )
    return law_of(cold, again, more, (small.audited, large.audited), Prior(_PER_AUDITED, _AUDITED_ERROR))


def _stage_cost(number: int, place: int, runs: MeasuredRuns, loads: tuple[Load, Load]) -> StageCost:
    """The costs of a stage. place: its place among the stages."""
    sizes, rows = ((load.sizes[place] for load in loads), (load.matched[place] for load in loads))
    small, large = sizes
    each = Prior(PER_SHARD, _SHARD_ERROR)
    shards = law_of(*_parts(runs, (number, SHARDS)), (small, large), Prior(_PER_BYTE, _BYTE_ERROR), each)
    if (number, BARRIER) not in runs.large:
        return StageCost(number, shards)
    small, large = rows
    prior = Prior(PER_MATCHED_ROW, _MATCHED_ERROR)
    return StageCost(number, shards, law_of(*_parts(runs, (number, BARRIER)), (small, large), prior))


def _parts(runs: MeasuredRuns, name: tuple[int, str]) -> tuple[TimedPart, TimedPart, TimedPart]:
    return runs.cold[name], runs.small[name], runs.large[name]


def processor_seconds_of(costs: RunCosts, load: Load) -> float:
    """Processor time of the whole run."""
    end = costs.tables.processor(load.written) + costs.audit.processor(load.audited) + load.reread
    return costs.start + sum(_stage_seconds(costs, load)) + end


def wall_seconds_of(costs: RunCosts, load: Load) -> float:
    """Time of the run by workers of this machine."""
    audit = costs.audit.seconds(load.audited) + load.reread / costs.audit.side
    seconds = costs.waited + costs.tables.seconds(load.written) + audit
    for stage, size, rows in zip(costs.stages, load.sizes, load.matched, strict=True):
        seconds += stage.shards.wall + stage.seconds(size, load.shards) / stage.shards.side
        seconds += stage.barrier.seconds(rows) if stage.barrier else 0.0
    return seconds


def error_of(costs: RunCosts, load: Load) -> float:
    """Relative error of a forecast of seconds, 95 %."""
    errors = [costs.tables.error * load.written, costs.audit.error * load.audited]
    for stage, size, rows in zip(costs.stages, load.sizes, load.matched, strict=True):
        errors += [stage.shards.error * size, stage.barrier.error * rows if stage.barrier else 0.0]
    return math.hypot(_LEAST_ERROR, 2 * math.hypot(*errors) / processor_seconds_of(costs, load))


def _stage_seconds(costs: RunCosts, load: Load) -> list[float]:
    """Processor seconds of each stage, with its barrier."""
    return [
        stage.begin + stage.seconds(size, load.shards) + (stage.barrier.processor(rows) if stage.barrier else 0.0)
        for stage, size, rows in zip(costs.stages, load.sizes, load.matched, strict=True)
    ]
