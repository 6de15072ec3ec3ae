"""Executes a recipe: from its text to its outputs and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from refinery.checkpoints.dependencies import with_digests
from refinery.checkpoints.results import Checkpoints, CutSizes, clear, forget
from refinery.errors import ConservationError
from refinery.execution.backend import backend_of
from refinery.execution.capacity import capacity_of
from refinery.execution.exported import supersede
from refinery.execution.job import Extension, Noted, Outcome, Progress, RunJob, RunPlace, RunWatch
from refinery.execution.needs import ready
from refinery.execution.publish import publish_run
from refinery.execution.python_input import spooled
from refinery.execution.resume_hint import ResumeHint
from refinery.execution.stage_runner import StageRunner
from refinery.execution.stage_tasks import folder_of
from refinery.io.model import Source
from refinery.io.python_data.kinds import in_memory
from refinery.io.side_files import SideFiles
from refinery.io.unchanged import same_files
from refinery.monitoring.log import logged
from refinery.monitoring.watch import RunMonitor
from refinery.operators import Library
from refinery.operators.processes import using_processes
from refinery.planning.plan import CompiledStage, Plan, stats_of
from refinery.recipe import Recipe
from refinery.recipe.run_outputs import RunOutputs
from refinery.results import targets
from refinery.results.disk_space import explained, explanation
from refinery.results.events import log_end, log_input, log_reused, log_stages, require_readable
from refinery.results.locks import locked
from refinery.results.output_checks import require_objects
from refinery.results.owned_files import OwnedFiles
from refinery.results.part_files import keep_only
from refinery.results.stage_result import StageResult
from refinery.stats import step as merging
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace

__all__ = ["Extension", "Outcome", "Plan", "Progress", "execute"]

MakeRunner = Callable[[Plan, Store], StageRunner]


def execute(
    recipe: Recipe,
    library: Library,
    dataset: Any = None,
    progress: Progress | None = None,
    extension: Extension | None = None,
    overwrite: bool = False,
    noted: Noted | None = None,
) -> Outcome:
    """Run a checked recipe to its end and publish its outputs, tables and trace.

    extension: adds tables before the database is published. overwrite: also replace files that no run has written. noted: gets
    the notes that are known before the first sample is read.

    Raises OutputError if outputs cannot be written or another run holds the folder, OperatorError if memory runs out,
    ConservationError if rows do not add up. The files of a failed run are removed, except those published before.
    """
    clock = time.perf_counter(), datetime.now(UTC)
    with ExitStack() as stack:
        stack.enter_context(using_processes())
        table = None if dataset is None else in_memory(dataset)
        streamed = dataset is not None and table is None
        if streamed:
            recipe = stack.enter_context(spooled(recipe, library, dataset))
        capacity = stack.enter_context(capacity_of(recipe.executor_type, recipe.ray_address, recipe.np))
        prepared = ready(recipe, library, table, overwrite=overwrite, capacity=capacity, runs=True)
        outcome = execute_prepared(
            prepared, progress, extension, runner_of, clock, overwrite, held=streamed, noted=noted
        )
    merges = () if recipe.measure_only else recipe.steps  # an analysis leaves files of others alone
    return replace(outcome, notes=(*outcome.notes, *merging.merge(merges, recipe.work_dir)))


def begin_anew(work_dir: str) -> None:
    """Remove the stored results of earlier runs in a run folder. Raises OutputError if a run uses the folder."""
    place = Workplace.of(work_dir)
    if not place.url and not place.run_dir.parts.exists():
        return
    with explained(place.name), place.run_dir.held():
        forget(place.parts())


def runner_of(prepared: Plan, store: Store) -> StageRunner:
    """The stages of a recipe on the backend of its `executor_type`, with checkpoints."""
    backend = backend_of(prepared, store)
    return StageRunner(prepared, store, backend, kept=checkpoints_of(prepared, store), sink=backend.sink())


def checkpoints_of(prepared: Plan, store: Store) -> Checkpoints:
    """The stored results of a plan's run."""
    recipe = prepared.recipe
    cut = CutSizes(recipe.shard_size, prepared.shard_size)
    return Checkpoints(store, prepared.library, cut, recipe.row_timeout, prepared.workers)


def execute_prepared(
    prepared: Plan,
    progress: Progress | None = None,
    extension: Extension | None = None,
    make: MakeRunner = runner_of,
    clock: tuple[float, datetime] | None = None,
    overwrite: bool = False,
    held: bool = False,
    noted: Noted | None = None,
) -> Outcome:
    """Execute a prepared recipe. make: returns the stage runner. clock: the start, as `perf_counter` and as time.

    held: the caller holds the run folder.
    """
    started, began = clock or (time.perf_counter(), datetime.now(UTC))
    if extension is not None:
        extension.check(prepared.stages, prepared.recipe.steps)
    outputs = prepared.recipe.outputs
    prepared.stages = with_digests(prepared.stages, outputs, prepared.sources)
    workplace, only_read = Workplace.of(outputs.work_dir), _only_read(prepared.sources, prepared.beside)
    with (
        ResumeHint() as hint,
        explained(workplace.name, only_read),
        nullcontext() if held else workplace.run_dir.held(),
        locked(targets.locks(outputs, prepared.stats)),
        logged(workplace.run_dir.log),
        _monitored(prepared, progress, workplace.run_dir, partial(explanation, workplace.name, only_read)) as monitor,
    ):
        log_input(prepared.recipe.ignored, prepared.cut, prepared.shards)
        log_stages(prepared.stages, prepared.sizes, prepared.orderings)
        beside = SideFiles(prepared.beside)
        beside.require()
        place = _claimed(outputs, prepared.stages, workplace, overwrite)
        watch = RunWatch(started, began, monitor, progress)
        outcome = _execute(RunJob(prepared, place, watch, beside, extension), make, hint, noted)
        outcome = replace(outcome, notes=(*outcome.notes, *workplace.publish(overwrite)))
        keep_only(workplace.tables(), workplace.run_dir.database)
        log_end(outcome.alarms, outcome.notes)
    require_readable(outcome.alarms, workplace.run_dir)
    return outcome


def _only_read(sources: Sequence[Source], beside: Iterable[str]) -> tuple[str, ...]:
    """Files and folders that a run only reads. beside: those that are no samples."""
    return (*(source.path for source in sources if source.path and source.table is None), *beside)


def _monitored(
    prepared: Plan, progress: Progress | None, run_dir: RunDir, explain: Callable[[BaseException], BaseException]
) -> RunMonitor:
    """Monitor of the run, which also shows its resource use where progress is shown."""
    recipe, stages = prepared.recipe, len(prepared.stages)
    about = {"project_name": recipe.project_name, "recipe": recipe.path, "workers_asked": prepared.workers}
    total = sum(shard.size for shard in prepared.shards) * stages
    shown = getattr(progress, "uses", None)
    return RunMonitor(run_dir, about, stages, total, recipe.open_monitor, shown, explain)


def _claimed(outputs: RunOutputs, stages: Sequence[CompiledStage], workplace: Workplace, overwrite: bool) -> RunPlace:
    """The place, free of what an earlier run has left beside its results. Raises OutputError for files of others."""
    run_dir = workplace.run_dir
    belongings = OwnedFiles(run_dir, overwrite, bool(workplace.url))
    written = targets.of_run(outputs, stages, run_dir)
    belongings.require(written, but=run_dir.database)  # once more, now that no other run can write
    require_objects(outputs, stats_of(stages), workplace, overwrite)
    _fresh(run_dir, belongings)
    workplace.tidy()
    if not workplace.url:
        keep_only(workplace.tables(), run_dir.database)
    return RunPlace(workplace, written, belongings, overwrite)


@contextmanager
def _tidied(store: Store, keep: bool) -> Iterator[None]:
    """Clean the store: leave only files that the next run can use. keep: leave them also after a successful run.

    After a run whose rows do not add up, nothing is left.
    """
    store.tidy()
    try:
        yield
        if not keep:
            clear(store)
    except ConservationError:
        clear(store)
        raise
    except BaseException:
        if not any(name.endswith(".done.json") for name in store.names("stage_")):
            clear(store)
        raise
    finally:
        store.tidy()


def _execute(job: RunJob, make: MakeRunner, hint: ResumeHint, noted: Noted | None) -> Outcome:
    prepared, place = job.prepared, job.place
    prepared.keep_order(place.run_dir)
    store = place.workplace.parts()
    with (
        _tidied(store, prepared.recipe.use_cache),
        make(prepared, store) as stages,
    ):
        hint.watch(stages)
        stages.overwrite, stages.noted = place.overwrite, noted
        stages.backend.watched(job.watch.monitor)
        done = _run_stages(job, stages)
        outcome, description, exported = publish_run(job, stages, done)
        if not exported.withheld:
            stages.kept.end({folder_of(stage.planned): stage.results for stage in done})
    if not exported.withheld:
        supersede(prepared.recipe.stat_summary, prepared.stats, place.belongings, exported, description)
    return outcome


def _run_stages(job: RunJob, stages: StageRunner) -> list[StageResult]:
    """Run the stages over inputs that must not change meanwhile."""
    prepared, watch = job.prepared, job.watch
    report = watch.reporter([shard.size for shard in prepared.shards], stages.store)
    with same_files(prepared.stamps, prepared.notes):
        done = stages.run(report, watch.monitor.began)
    job.beside.require()
    results = [result for stage in done for result in stage.results]
    if any(result.reused for result in results):
        log_reused(sum(result.reused for result in results), len(results))
    return done


def _fresh(run_dir: RunDir, belongings: OwnedFiles) -> None:
    """Remove traces and report of an earlier run, and unfinished files of a killed run."""
    current = run_dir.aside(run_dir.status)  # is written meanwhile
    for old in run_dir.unfinished():
        if old != current:
            old.unlink(missing_ok=True)
    for old in (*run_dir.traces(), run_dir.report):
        belongings.remove(old)
    if run_dir.trace.is_dir() and not any(run_dir.trace.iterdir()):
        run_dir.trace.rmdir()
