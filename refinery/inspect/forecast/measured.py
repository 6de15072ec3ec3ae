"""Runs a sample in scratch folders, with the workers of the run, and measures each part: processor time, wall time, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from refinery.common.lazy import pq
from refinery.dedup.ngram_units import keys_of_units
from refinery.execution.backend import backend_of
from refinery.execution.job import Outcome
from refinery.execution.run import checkpoints_of, execute_prepared
from refinery.execution.stage_runner import Began, StageRunner
from refinery.inspect.forecast.disk import stored_by_shard
from refinery.inspect.forecast.laws import AFTER, AUDIT, START, Mark, TimedParts, parts_of
from refinery.inspect.forecast.memory import PeakMemory, SampleMemory
from refinery.inspect.forecast.reading import reading_again, seconds_per_byte
from refinery.inspect.forecast.sampled import Sample
from refinery.io.model import Shard
from refinery.io.unchanged import stamps
from refinery.kernels.core.arrow import numbers
from refinery.operators.processes import using_processes
from refinery.planning.plan import CompiledStage, Plan
from refinery.recipe import Recipe
from refinery.recipe.model import Step
from refinery.results.database import Database
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.backends import BackendChoice
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.tasks import Report
from refinery.workers.worker import ShardResult


@dataclass(frozen=True)
class PartKeys:
    """Match keys of parts of texts, with the number of their row in the run."""

    rows: np.ndarray
    keys: np.ndarray


@dataclass
class Marks:
    """Marks of a run, in order.

    stored: bytes in the store of results when the stages are done, by stage and shard. parts: match keys of parts of texts, by the
    step of the deduplicator that compares them.
    """

    marks: list[Mark] = field(default_factory=list)
    stored: dict[tuple[int, int], int] = field(default_factory=dict)
    parts: dict[int, PartKeys] = field(default_factory=dict)

    def add(self, stage: int, part: str, shard: int | None = None) -> None:
        """Add a mark."""
        self.marks.append(Mark(stage, part, processor_seconds(), time.perf_counter(), shard))


@dataclass(frozen=True)
class TablesMark:
    """Extension of a run that adds a mark when the tables are made, before the audit."""

    marks: Marks

    def check(self, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Do nothing: any stages will do."""

    def fill(self, db: Database, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Add the mark."""
        self.marks.add(*AUDIT)


@dataclass(frozen=True)
class MeasuredRuns:
    """Runs of a sample: of its first shards, cold and again, and of all.

    cold, small, large: their parts. outcome, stored, parts: of the run of all shards.
    workers: of each run. apart: they were processes. again: processor seconds in which a stage of the run that is forecast decompresses groups of rows
    again, if it reads the input. before: database of the second of the small runs.
    """

    cold: TimedParts
    small: TimedParts
    large: TimedParts
    outcome: Outcome
    stored: Mapping[tuple[int, int], int]
    parts: Mapping[int, PartKeys]
    memory: SampleMemory
    workers: int
    apart: bool
    again: float
    before: Path


def processor_seconds() -> float:
    """Processor time of this process and of those that it has started, with those of them that have ended."""
    own = os.times()
    found = time.process_time() + own.children_user + own.children_system
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        found += times.user + times.system + getattr(times, "children_user", 0) + getattr(times, "children_system", 0)
    return found


class MarkedRunner(StageRunner):
    """Stages of a run whose marks are kept."""

    def __init__(self, prepared: Plan, store: Store, marks: Marks) -> None:
        backend = backend_of(prepared, store)
        super().__init__(prepared, store, backend, kept=checkpoints_of(prepared, store), sink=backend.sink())
        self._marks, self._number = marks, 0

    def run(self, report: Report | None = None, began: Began | None = None) -> list[StageResult]:
        """Run all stages, with a mark before each part and after each shard."""

        def begin(stage: int, part: str, shards: Sequence[Shard]) -> None:
            self._number = stage
            self._marks.add(stage, part)
            if began is not None:
                began(stage, part, shards)

        def ended(result: ShardResult) -> None:
            self._marks.add(self._number, "shard", result.shard)
            if report is not None:
                report(result)

        done = super().run(ended, begin)
        self._marks.add(*AFTER)
        first = np.cumsum([0, *(result.rows for result in done[0].results)])
        self._marks.parts |= {
            stage.findings.step: part_keys(stage, first) for stage in done if stage.findings and stage.takes_units
        }
        self._marks.stored |= stored_by_shard(Workplace.of(self.prepared.recipe.work_dir).run_dir.parts)
        return done


def part_keys(stage: StageResult, first: np.ndarray) -> PartKeys:
    """The match keys that a stage has left. first: number of the first row of each shard."""
    tables = [keys_of_units(pq.read_table(path)) for path in stage.files("match_keys")]
    rows, keys = (
        np.concatenate([numbers(table[name]) for table in tables] or [np.zeros(0, np.int64)])
        for name in ("_row", "key")
    )
    return PartKeys(first[rows >> SHARD_BITS] + (rows & ((1 << SHARD_BITS) - 1)), keys)


def measured(plan: Plan, sample: Sample, folder: Path) -> MeasuredRuns:
    """Run the plan over a sample: its first shards twice, then all. Everything is written into a folder. Raises the errors of a run."""
    workers, apart = workers_of(plan), runs_apart(plan, folder)
    first = sample.shards[: sample.first]
    with using_processes():
        with PeakMemory(apart) as cold_memory:
            cold, *_ = _run(plan, sample, first, folder / "cold", workers, apart)
        small, before, _ = _run(plan, sample, first, folder / "small", workers, apart)
        with PeakMemory(apart) as memory:
            large, outcome, marks = _run(plan, sample, sample.shards, folder, workers, apart)
    again = reading_again(plan.shards, workers, seconds_per_byte)
    peaks = SampleMemory(memory.begin, memory.most, cold_memory.most)
    known = marks.stored, marks.parts, peaks, workers, apart, again
    return MeasuredRuns(cold, small, large, outcome, *known, before.run_dir.database)


def workers_of(plan: Plan) -> int:
    """Workers that have shards to run."""
    return max(1, min(plan.workers, len(plan.shards)))


def _run(
    plan: Plan, sample: Sample, shards: Sequence[Shard], folder: Path, workers: int, apart: bool
) -> tuple[TimedParts, Outcome, Marks]:
    """Run the plan over shards of a sample, with the settings of the run."""
    recipe = in_scratch(plan.recipe, folder, workers)
    recipe = replace(recipe, workers="processes") if apart else recipe  # the sample alone would be too small for them
    sampled = replace(
        plan,
        recipe=recipe,
        sources=list(sample.sources),
        shards=list(shards),
        workers=workers,
        capacity=None,
        notes=[],
        stamps=stamps(sample.sources),
    )
    marks = Marks()
    marks.add(*START)
    outcome = execute_prepared(
        sampled, extension=TablesMark(marks), make=lambda prepared, store: MarkedRunner(prepared, store, marks)
    )
    marks.add(0, "end")
    return parts_of(marks.marks, workers), outcome, marks


def runs_apart(plan: Plan, folder: Path) -> bool:
    """Return whether a stage of the run will have processes as workers. folder: for temporary files."""
    choice = BackendChoice(plan.worker_settings, str(folder), lambda: folder, folder / "running")
    return any(choice.apart(planned.program, plan.shards, plan.workers) for planned in plan.stages)


def in_scratch(recipe: Recipe, folder: Path, workers: int) -> Recipe:
    """The recipe for a run that leaves everything in a folder."""
    changes: dict[str, Any] = {
        "work_dir": str(folder / "run"),
        "np": workers,
        "executor_type": "default",
        "use_cache": False,
        "max_quarantined": 1 << 40,  # of none readable, the run ends in an error
        "open_tracer": False,
        "open_monitor": False,
        "digests": False,
        "temp_dir": None,
        "stat_summary": replace(recipe.stat_summary, export=None),
    }
    if recipe.exports:
        changes["export_path"] = str(folder / "run" / "export" / Path(recipe.export_path).name)
    if recipe.removed_path is not None:
        changes["removed_path"] = str(folder / "run" / "removed" / Path(recipe.removed_path).name)
    return replace(recipe, **changes)
