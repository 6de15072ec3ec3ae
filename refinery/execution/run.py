"""Executes a recipe: from its text to its outputs and tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.checkpoints.dependencies import with_digests
from refinery.checkpoints.results import Checkpoints, clear, forget
from refinery.dedup import index
from refinery.errors import ConservationError
from refinery.execution import index_run
from refinery.execution.account import accounted
from refinery.execution.backend import backend_of
from refinery.execution.capacity import capacity_of
from refinery.execution.export_sink import ExportSink
from refinery.execution.exported import RemovedExport, RunExport, supersede
from refinery.execution.job import Extension, Noted, Outcome, Progress, RunJob
from refinery.execution.needs import ready
from refinery.execution.python_input import spooled
from refinery.execution.removed_files import RemovedFiles
from refinery.execution.resume_hint import ResumeHint
from refinery.execution.stage_runner import StageRunner
from refinery.execution.stage_tasks import folder_of
from refinery.execution.table_maker import maker_of
from refinery.io.model import Written
from refinery.io.python_data.kinds import in_memory
from refinery.io.side_files import SideFiles
from refinery.io.unchanged import same_files
from refinery.monitoring.log import logged
from refinery.monitoring.watch import RunMonitor, last_of
from refinery.operators import Library
from refinery.operators.processes import using_processes
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.export import ExportSettings
from refinery.results import tables, targets
from refinery.results.alarms import none_readable
from refinery.results.database import Database
from refinery.results.delivery import Delivery
from refinery.results.disk_space import explained, explanation
from refinery.results.events import log_end, log_plan, log_reused, require_readable
from refinery.results.locks import locked
from refinery.results.output_checks import require_objects
from refinery.results.owned_files import OwnedFiles
from refinery.results.part_files import keep_only
from refinery.results.stage_result import StageResult
from refinery.results.whole_tables import TableMaker, WholeTables
from refinery.stats import step as merging
from refinery.storage.holdings import OwnedObjects
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.worker import ShardResult

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
        capacity = stack.enter_context(capacity_of(recipe))
        prepared = ready(recipe, library, table, overwrite=overwrite, capacity=capacity, runs=True)
        outcome = execute_prepared(
            prepared, progress, extension, runner_of, clock, overwrite, held=streamed, noted=noted
        )
    return replace(outcome, notes=(*outcome.notes, *merging.merge(recipe)))


def begin_anew(recipe: Recipe) -> None:
    """Remove the stored results of earlier runs in the recipe's folder. Raises OutputError if a run uses the folder."""
    place = Workplace.of(recipe.work_dir)
    if not place.url and not place.run_dir.parts.exists():
        return
    with explained(place.name), place.run_dir.held():
        forget(place.parts())


def _locks(prepared: Plan) -> dict[str, bool]:
    recipe = prepared.recipe
    return targets.locks(recipe.export, recipe.stat_summary, prepared.stats, recipe.removed)


def _read(prepared: Plan) -> tuple[str, ...]:
    """Files and folders that a run only reads."""
    return (*(source.path for source in prepared.sources if source.path and source.table is None), *prepared.beside)


def runner_of(prepared: Plan, store: Store) -> StageRunner:
    """The stages of a recipe on the backend of its `executor_type`, with checkpoints."""
    backend = backend_of(prepared, store)
    return StageRunner(prepared, store, backend, kept=Checkpoints(prepared, store), sink=backend.sink())


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
        extension.check(prepared)
    with_digests(prepared)
    place, only_read = Workplace.of(prepared.recipe.work_dir), _read(prepared)
    run_dir = place.run_dir
    with (
        ResumeHint() as hint,
        explained(place.name, only_read),
        nullcontext() if held else run_dir.held(),
        locked(_locks(prepared)),
        logged(run_dir.log),
        _watched(prepared, run_dir, progress, partial(explanation, place.name, only_read)) as watch,
    ):
        log_plan(prepared)
        beside = SideFiles(prepared.beside)
        beside.require()
        outcome = _execute(
            RunJob(prepared, place, started, began, progress, extension, watch, beside, overwrite, noted), make, hint
        )
        outcome = replace(outcome, notes=(*outcome.notes, *place.publish(overwrite)))
        keep_only(place.tables(), run_dir.database)
        log_end(outcome.alarms, outcome.notes)
    require_readable(outcome.alarms, run_dir)
    return outcome


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


def _execute(job: RunJob, make: MakeRunner, hint: ResumeHint) -> Outcome:
    prepared, run_dir = job.prepared, job.place.run_dir
    belongings, written = OwnedFiles(run_dir, job.overwrite, bool(job.place.url)), targets.of_run(prepared, run_dir)
    belongings.require(written, but=run_dir.database)  # once more, now that no other run can write
    require_objects(prepared, job.place, job.overwrite)
    _fresh(run_dir, belongings)
    job.place.tidy()
    if not job.place.url:
        keep_only(job.place.tables(), run_dir.database)
    prepared.keep_order(run_dir)
    store = job.place.parts()
    with (
        _tidied(store, prepared.recipe.use_cache),
        make(prepared, store) as stages,
    ):
        hint.watch(stages)
        stages.overwrite, stages.noted = job.overwrite, job.noted
        stages.backend.watched(job.watch)
        done = _run_stages(job, stages)
        outcome, description, exported = _publish(job, stages, done, belongings, written)
        if not exported.withheld:
            stages.kept.end({folder_of(stage.planned): stage.results for stage in done})
    if not exported.withheld:
        supersede(prepared.recipe.stat_summary, prepared.stats, belongings, exported, description)
    return outcome


def _run_stages(job: RunJob, stages: StageRunner) -> list[StageResult]:
    """Run the stages over inputs that must not change meanwhile."""
    prepared = job.prepared
    with same_files(prepared.stamps, prepared.notes):
        done = stages.run(_reporter(prepared, job.progress, job.watch, stages.store), job.watch.began)
    job.beside.require()
    results = [result for stage in done for result in stage.results]
    if any(result.reused for result in results):
        log_reused(sum(result.reused for result in results), len(results))
    return done


def _publish(
    job: RunJob, stages: StageRunner, done: list[StageResult], belongings: OwnedFiles, written: list[str]
) -> tuple[Outcome, dict[str, Any], RunExport]:
    """Publish tables and export of the finished stages; return the outcome, the manifest and the export."""
    prepared, run_dir, recipe = job.prepared, job.place.run_dir, job.prepared.recipe
    job.watch.began(0, "tables")
    earlier = stages.facts.tables
    base, reached = earlier.database if earlier else None, _reached(recipe, stages.store)
    with (
        index.extending(_remembered(done)) as extend,
        belongings.claim(written, but=run_dir.database),
        Database(run_dir.database, reached, base, stages.backend.spill, run_dir.aside(run_dir.database)) as db,
        ThreadPoolExecutor(1) as beside,
    ):
        withheld = recipe.max_quarantined is None and none_readable(db, done[0])
        exporting = beside.submit(_export, stages.sink, done[-1], withheld)  # while the tables are built
        keep = recipe.use_cache and stages.sink.output is not None
        holdings = job.place.holdings(job.overwrite)
        delivery = Delivery(recipe.export_path, holdings, _folder(job, recipe.export))
        removed = None if withheld else _removed(job, holdings)
        exported = RunExport(recipe.export, exporting, delivery, keep, stages.sink, holdings, withheld, removed=removed)
        maker = WholeTables() if earlier else maker_of(job, stages.backend.executor, done, stages.store, withheld)
        with exported.vouched_for(), maker.vouched_for():
            (earlier or maker).fill(db, done, _statements(prepared, done, maker))
            outcome, description = accounted(job, db, maker, done, exported, stages.store, stages.backend.executor)
        if not withheld:
            extend(description["run_id"], description["project_name"])  # now that the run is published
        if index_run.uses_index(recipe):
            index_run.end(recipe)
    return outcome, description, exported


def _folder(job: RunJob, export: ExportSettings) -> str:
    """The folder on this machine of samples in folders of partitions; "" for files."""
    return job.place.file_of_export(export.path) if export.is_folder else ""


def _removed(job: RunJob, holdings: OwnedObjects) -> RemovedExport | None:
    """The files of removed samples, if the recipe has them written."""
    prepared, settings = job.prepared, job.prepared.recipe.removed
    if settings is None:
        return None
    files = RemovedFiles(settings, job.place.file_of_export(settings.path), prepared.lines, prepared.notes.append)
    return RemovedExport(files, Delivery(settings.path, holdings, _folder(job, settings)))


def _statements(prepared: Plan, done: list[StageResult], maker: TableMaker) -> list[tables.TableStatement]:
    """The statements that make the tables in the database."""
    if maker.folder:  # tasks make the tables
        return []
    cells = tables.step_cells(prepared)
    samples = sum(result.rows for result in done[0].results)
    made = tables.statements(prepared.stages, [stage.local_findings() for stage in done], cells, samples)
    if samples > tables.MANY // 2:
        pa.default_memory_pool().release_unused()  # for DuckDB
    return made


def _export(sink: ExportSink, last: StageResult, withheld: bool) -> list[Written]:
    """Write the export. withheld: discard it."""
    if not withheld:
        return sink.finish(last)
    if sink.output is not None:
        sink.output.discard()
    return []


def _reached(recipe: Recipe, store: Store) -> list[str | Path]:
    """Folders that the database reads facts from and writes files to."""
    target = Workplace.of(recipe.work_dir).file_of_export(recipe.export_path)
    exported = [os.path.dirname(os.path.expanduser(target)) or "."]
    tables = Workplace.of(recipe.work_dir).tables()
    return [store.scratch().parent, *exported, *([] if tables.on_this_machine else [tables.url])]


def _remembered(done: list[StageResult]) -> list[tuple[index.Index, Path | None]]:
    """The indexes that this run changes, with the files of its samples' marks; None if all of them are removed."""
    indexes = [(stage.findings.index, stage.findings.extends) for stage in done if stage.findings is not None]
    return [(known, added) for known, added in indexes if known is not None and (added is not None or known.own)]


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


def _watched(
    prepared: Plan, run_dir: RunDir, progress: Progress | None, explain: Callable[[BaseException], BaseException]
) -> RunMonitor:
    """Monitor of the run, which also shows its resource use where progress is shown."""
    recipe, stages = prepared.recipe, len(prepared.stages)
    about = {"project_name": recipe.project_name, "recipe": recipe.path, "workers_asked": prepared.workers}
    total = sum(shard.size for shard in prepared.shards) * stages
    shown = getattr(progress, "uses", None)
    return RunMonitor(run_dir, about, stages, total, recipe.open_monitor, shown, explain)


def _reporter(
    prepared: Plan, progress: Progress | None, watch: RunMonitor, store: Store
) -> Callable[[ShardResult], None]:
    sizes = [shard.size for shard in prepared.shards]

    def report(result: ShardResult) -> None:
        watch.done(result, sizes[result.shard], lambda: last_of(store.fetch(result.quarantine)))
        if progress is not None:
            progress(watch.progress.bytes, watch.progress.total)

    return report
