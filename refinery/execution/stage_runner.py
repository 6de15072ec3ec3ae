"""Runs a recipe's stages one after another: shards, then the deduplicator, then the rest of the shards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any

from refinery.execution import index_run
from refinery.execution.backend import Backend
from refinery.execution.export_sink import ExportSink, NoExport
from refinery.execution.job import Noted
from refinery.execution.quarantine_limit import QuarantineLimit
from refinery.execution.result_store import NoResultStore, ResultStore
from refinery.execution.run_facts import ComputedRunFacts, RunFacts, StageFacts
from refinery.execution.stage_barrier import BarrierRoom, StageBarrier
from refinery.execution.stage_tasks import StageTasks, first_rows, folder_of, left_of
from refinery.io.model import Shard
from refinery.io.readers.shared_decompression import relayed
from refinery.monitoring.log import event
from refinery.planning.plan import CompiledStage, Plan
from refinery.recipe.executors import on_cluster
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.facts import ComputedFacts, FactSource
from refinery.workers.tasks import Report
from refinery.workers.threads import Workers, WorkerThreads
from refinery.workers.worker import ShardResult, Task, Worker, computed

# Called when a phase of a stage begins: number of the stage, phase, shards.
Began = Callable[[int, str, Sequence[Shard]], None]
Tasks = Callable[[Shard], Task]


def _unwatched(stage: int, phase: str, shards: Sequence[Shard]) -> None:
    """Ignore the beginning of a phase."""


def _unreported(result: ShardResult) -> None:
    """Ignore the end of a shard."""


class StageRunner:
    """Runs stages; the workers stay until the end, because traces are made by running chosen rows again.

    backend: runs the shards. facts: known before the run. kept: results of earlier runs, and of this one for the next.
    sink: the export.
    """

    def __init__(
        self,
        prepared: Plan,
        store: Store,
        backend: Backend,
        facts: RunFacts | None = None,
        kept: ResultStore | None = None,
        sink: ExportSink | None = None,
    ) -> None:
        self.prepared, self.store, self.backend = prepared, store, backend
        self.facts, self.kept, self.sink = facts or ComputedRunFacts(), kept or NoResultStore(), sink or NoExport()
        self.finished = 0  # shards of all stages that are done
        self.overwrite = False  # an export that has changed since a run wrote it may be replaced
        self.noted: Noted | None = None
        self._first_rows: Sequence[int] = ()
        self._report: Report = _unreported
        self._began: Began = _unwatched
        self._pools = ExitStack()

    def __enter__(self) -> StageRunner:
        self.backend.open()
        self._pools.enter_context(relayed())
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._pools.__exit__(*error)
            self.sink.close(failed=error[0] is not None)
        finally:
            self.backend.close()

    def run(self, report: Report = _unreported, began: Began = _unwatched) -> list[StageResult]:
        """Run all stages. report: gets each shard's result. began: hears of each phase.

        Raises OperatorError if a deduplicator's safety limit is broken or its index is unfit, QuarantineError if too
        many rows are in quarantine.
        """
        prepared, allowance, self._began = self.prepared, self._allowance(report), began
        self._first_rows = first_rows(prepared.stages, prepared.shards)
        self.kept.begin()
        self.facts.begin(self.store)
        barrier = self._barrier()
        barrier.require_indexes()
        self.backend.start()
        if self.noted is not None:
            self.noted(tuple(prepared.notes))
        done: list[StageResult] = []
        shards = prepared.shards
        with barrier:
            for planned in prepared.stages:
                done.append(self._stage(planned, shards, done[-1].results if done else None))
                if planned.stage.after is not None:
                    done[-1] = self._deduplicated(barrier, done, planned.stage.after)
                if planned is not prepared.stages[-1]:
                    shards = left_of(done)
        allowance.end()
        self.facts.end(done)
        return done

    def _barrier(self) -> StageBarrier:
        """The ends of the stages with deduplicators."""
        prepared, recipe = self.prepared, self.prepared.recipe
        room = BarrierRoom(prepared.workers, recipe.memory_limit, prepared.sizes.bytes)
        place, clustered = Workplace.of(recipe.work_dir), on_cluster(recipe.executor_type)
        begin = partial(index_run.begin, place, recipe.export, clustered, prepared.sources)
        path, note = recipe.export_path, prepared.notes.append
        return StageBarrier(prepared.stages, room, begin, path, note, self.store, self.kept, self.backend)

    def _allowance(self, report: Report) -> QuarantineLimit:
        """The limit of rows in quarantine; from now on the end of a shard is reported and counted."""
        allowance = QuarantineLimit(self.prepared.recipe.max_quarantined, self.prepared.shards, self.store.fetch)

        def ended(result: ShardResult) -> None:
            self.finished += 1
            report(result)
            allowance.take(result)

        self._report = ended
        return allowance

    def _deduplicated(self, barrier: StageBarrier, done: Sequence[StageResult], step: Any) -> StageResult:
        """The last stage with the findings of its deduplicator."""
        planned, matcher = done[-1].planned, self.prepared.library.operators[step.name].matcher
        findings = self.facts.findings(planned, self.store)
        if findings is None:
            self._began(planned.stage.number, "deduplicator", ())
            findings = barrier.findings(done)
        else:
            findings = barrier.published(planned, findings)
        return replace(done[-1], findings=findings, takes_units=matcher.takes_units)

    def _stage(self, planned: CompiledStage, shards: list[Shard], before: list[ShardResult] | None) -> StageResult:
        stored = self.facts.of_stage(planned)
        pool = self._pools.enter_context(self._pool(planned, stored.source if stored else computed))
        results = self.facts.results(planned)
        if results is not None:
            return StageResult(planned, pool, shards, results, self._task(planned, stored, before), store=self.store)
        self._began(planned.stage.number, "shards", shards)
        if planned is self.prepared.stages[-1]:
            here = stored is not None or not self.backend.apart(planned, shards)
            self.sink.begin(here, self.kept.note_export)
        task = self._task(planned, stored, before)
        results = self._results(planned, shards, task, stored, pool)
        return StageResult(planned, pool, shards, results, task, store=self.store)

    def _task(self, planned: CompiledStage, stored: StageFacts | None, before: list[ShardResult] | None) -> Tasks:
        prepared, rows = self.prepared, stored.batch_rows if stored else 0
        form, is_last = prepared.recipe.part_form, planned is prepared.stages[-1]
        output = self.sink.output
        tasks = StageTasks(planned, is_last, form, prepared.sizes, self.store.url, self._first_rows, output, rows)
        return self.kept.keyed(planned, tasks.of, before)

    def _results(
        self, planned: CompiledStage, shards: list[Shard], task: Tasks, stored: StageFacts | None, pool: WorkerThreads
    ) -> list[ShardResult]:
        """Results of all shards: those of earlier runs that hold, and those of the shards that run now."""
        results = {result.shard: result for result in self._reused(planned, shards, task)}
        for result in results.values():
            self._report(result)
        left = [shard for shard in shards if shard.index not in results]
        if left:
            made = Workers(pool) if stored else self.backend.runner(planned, left, pool)
            with closing(made) as runner:
                results |= {result.shard: result for result in runner.run(left, task, self._report)}
        self._warn_of_undeclared(list(results.values()))
        self._warn_of_kills(sum(result.killed for result in results.values()))
        return [results[shard.index] for shard in shards]

    def _reused(self, planned: CompiledStage, shards: list[Shard], task: Tasks) -> list[ShardResult]:
        """Valid results of an earlier run or attempt; the export is opened with the samples that it already has."""
        folder = folder_of(planned)
        marks = self.kept.finished(folder, shards, task)
        if planned is self.prepared.stages[-1] and self.sink.output is not None:
            places = {shard: mark.placed for shard, mark in marks.items() if mark.placed is not None}
            on_placed = partial(self.kept.placed, folder, marks)
            there = self.sink.output.resume(self.kept.export(), places, len(shards), on_placed, self.overwrite)
            marks = {shard: mark for shard, mark in marks.items() if shard in there}
        return [mark.result for mark in marks.values()]

    def _warn_of_undeclared(self, results: Sequence[ShardResult]) -> None:
        """Add a note for each undeclared file: operators read it, but results are not known to depend on it."""
        for note in sorted({note for result in results for note in result.undeclared}):
            if note not in self.prepared.notes:
                self.prepared.notes.append(note)
                event("undeclared", note, logging.WARNING)

    def _warn_of_kills(self, kills: int) -> None:
        """Add a note if worker processes were killed, although their shards were done in the end."""
        if kills:
            note = (
                f"worker processes were killed {kills} times, as a rule for want of memory, and their shards were run again with "
                "smaller batches: lower np, or give the run more memory"
            )
            self.prepared.notes.append(note)
            event("killed", note, logging.WARNING)

    def _pool(self, planned: CompiledStage, source: Callable[[ComputedFacts], FactSource]) -> WorkerThreads:
        """Threads of this process for a stage."""
        recipe = self.prepared.recipe
        memory = f"{max(1, recipe.memory_limit // self.prepared.workers // 1000)}KB" if recipe.memory_limit else None
        # Only one thread reads a file's rows in order, and a subquery may take the first row.
        threads = 1 if planned.program.files else recipe.threads or 1
        make = partial(Worker, threads=threads, facts=source)
        return WorkerThreads(planned.program, self.backend.workers(planned), memory, self.backend.spill, make)
