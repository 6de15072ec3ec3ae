"""Executes a recipe: from its text to its outputs and tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from refinery.checkpoints.dependencies import with_digests
from refinery.checkpoints.results import clear, forget
from refinery.dedup import index
from refinery.errors import ConservationError
from refinery.execution.exported import RunExport, supersede
from refinery.execution.preflight import ready
from refinery.execution.stage_runner import BATCH, StageRunner, folder_of
from refinery.io.model import Written
from refinery.io.readers.read import count_rows
from refinery.io.side_files import SideFiles
from refinery.io.unchanged import same_files
from refinery.io.writers.export import export, write_stats
from refinery.monitoring.log import logged
from refinery.monitoring.watch import RunMonitor, last_of
from refinery.operators import Library
from refinery.planning.plan import Plan, prepare
from refinery.recipe import Recipe, dump
from refinery.results import database, manifest, resources, tables, targets, trace
from refinery.results.alarms import Alarm, alarms, none_readable
from refinery.results.database import Counts, Database
from refinery.results.delivery import Delivery
from refinery.results.disk_space import explained
from refinery.results.events import (
    idle_steps,
    log_end,
    log_plan,
    log_quarantine,
    log_reused,
    log_traces,
    require_readable,
)
from refinery.results.locks import locked
from refinery.results.output_checks import require_objects
from refinery.results.owned_files import OwnedFiles
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import left_out, summarise, write_statistics
from refinery.stats import step as merging
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.urls import is_url
from refinery.storage.workplace import Workplace
from refinery.workers import process_guard
from refinery.workers.threads import give_back
from refinery.workers.worker import ShardResult

__all__ = ["BATCH", "Outcome", "Plan", "Progress", "execute", "prepare"]

Progress = Callable[[int, int], None]


class Extension(Protocol):
    """Further tables in the database of a run."""

    def check(self, prepared: Plan) -> None:
        """Check that the tables can be made, before anything is processed. Raises RecipeError."""

    def fill(self, db: Database, prepared: Plan) -> None:
        """Make the tables. The temporary table `facts` has a row per sample, with the bytes of every text version."""


@dataclass(frozen=True)
class Outcome:
    """Result of an execution. outputs: files, and URLs as texts. bytes: of the input.

    disk: bytes of parts, marks and outputs together. reused: number of reused shard results, and number of all shard
    results, of all stages. alarms: warnings that must stand out.
    """

    run_dir: RunDir
    outputs: tuple[Path | str, ...]
    counts: Counts
    seconds: float
    bytes: int
    disk: int
    notes: tuple[str, ...]
    trace_files: tuple[Path, ...]
    reused: tuple[int, int] = (0, 0)
    alarms: tuple[Alarm, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """Lines that a user should read, the alarms first."""
        return [*map(str, self.alarms), *self.notes]


def execute(
    recipe: Recipe,
    library: Library,
    dataset: Any = None,
    progress: Progress | None = None,
    extension: Extension | None = None,
    overwrite: bool = False,
) -> Outcome:
    """Run a checked recipe to its end and publish its outputs, tables and trace.

    extension: adds tables before the database is published. overwrite: also replace files that no run has written.

    Raises OutputError if outputs cannot be written or another run holds the folder, OperatorError if memory runs out,
    ConservationError if rows do not add up. The files of a failed run are removed, except those published before.
    """
    clock = time.perf_counter(), datetime.now(UTC)
    prepared = ready(recipe, library, dataset, overwrite=overwrite)
    outcome = execute_prepared(prepared, progress, extension, engine(recipe), clock, overwrite)
    return replace(outcome, notes=(*outcome.notes, *merging.merge(recipe)))


def begin_anew(recipe: Recipe) -> None:
    """Remove the stored results of earlier runs in the recipe's folder. Raises OutputError if a run uses the folder."""
    place = Workplace.of(recipe.work_dir)
    if not place.url and not place.run_dir.parts.exists():
        return
    with explained(place.name), place.run_dir.held():
        forget(place.parts())


def _read(prepared: Plan) -> tuple[str, ...]:
    """Files and folders that a run only reads."""
    return (*(source.path for source in prepared.sources if source.path and source.table is None), *prepared.beside)


def engine(recipe: Recipe) -> type[StageRunner]:
    """Class that runs the stages of a recipe: on this machine, or on a Ray cluster."""
    if recipe.executor_type == "default":
        return StageRunner
    from refinery.execution.ray.stages import RayStageRunner

    return RayStageRunner


def execute_prepared(
    prepared: Plan,
    progress: Progress | None = None,
    extension: Extension | None = None,
    make: type[StageRunner] | Callable[..., StageRunner] = StageRunner,
    clock: tuple[float, datetime] | None = None,
    overwrite: bool = False,
) -> Outcome:
    """Execute a prepared recipe. make: returns the stage runner. clock: the start, as `perf_counter` and as time."""
    started, began = clock or (time.perf_counter(), datetime.now(UTC))
    if extension is not None:
        extension.check(prepared)
    with_digests(prepared)
    place = Workplace.of(prepared.recipe.work_dir)
    run_dir = place.run_dir
    running: list[StageRunner] = []
    with (
        _hint_to_resume(running),
        explained(place.name),
        run_dir.held(),
        locked(targets.locks(prepared.recipe, prepared.stats)),
        logged(run_dir.log),
        _watched(prepared, run_dir, progress) as watch,
        explained(
            place.name, _read(prepared)
        ),  # once more inside, so that the log and `refinery status` have the user's message
    ):
        log_plan(prepared)
        job = _Job(prepared, place, started, began, progress, extension, watch, SideFiles(prepared.beside), overwrite)
        job.beside.require()
        outcome = _execute(job, make, running)
        outcome = replace(outcome, notes=(*outcome.notes, *place.publish(overwrite)))
        log_end(outcome.alarms, outcome.notes)
    require_readable(outcome.alarms, run_dir)
    return outcome


@contextmanager
def _hint_to_resume(running: list[StageRunner]) -> Iterator[None]:
    """Report the number of finished shards when a run fails or is ended. running: its stages, once there are any."""
    last = partial(_resume_hint, running, look=False)
    process_guard.last_words.append(last)
    try:
        yield
    except ConservationError:
        raise
    except BaseException as error:
        if words := _resume_hint(running):
            error.add_note(words)
        raise
    finally:
        process_guard.last_words.remove(last)


def _resume_hint(running: list[StageRunner], look: bool = True) -> str:
    """A line about the finished shards; "" for none. look: also count the done marks in the store."""
    kept = [(stages.finished, stages.kept) for stages in running if stages.kept is not None]
    count = sum(max(finished, marks.count() if look else 0) for finished, marks in kept)
    pieces = "1 shard is done" if count == 1 else f"{count} shards are done"
    return f"{pieces} and kept: run the same command again to continue" if count else ""


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


@dataclass(frozen=True)
class _Job:
    """A run in progress: its recipe, its place, its start (`started`: as `perf_counter`), its observers.

    beside: files besides the samples that results depend on. overwrite: also replace files that no run has written.
    """

    prepared: Plan
    place: Workplace
    started: float
    began: datetime
    progress: Progress | None
    extension: Extension | None
    watch: RunMonitor
    beside: SideFiles
    overwrite: bool


def _execute(job: _Job, make: Callable[..., StageRunner], running: list[StageRunner]) -> Outcome:
    prepared, run_dir = job.prepared, job.place.run_dir
    belongings, written = OwnedFiles(run_dir, job.overwrite, bool(job.place.url)), targets.of_run(prepared, run_dir)
    belongings.require(written, but=run_dir.database)  # once more, now that no other run can write
    require_objects(prepared, job.place, job.overwrite)
    _fresh(run_dir, belongings)
    job.place.tidy()
    prepared.keep_order(run_dir)
    store = job.place.parts()
    with (
        _tidied(store, prepared.recipe.use_cache),
        make(prepared, store, _first_rows(prepared), exports=True) as stages,
    ):
        running.append(stages)
        stages.keep()
        stages.began = job.watch.began
        with same_files(prepared.stamps, prepared.notes):
            done = stages.run(_reporter(prepared, job.progress, job.watch, store))
        job.beside.require()
        results = [result for stage in done for result in stage.results]
        if any(result.reused for result in results):
            log_reused(sum(result.reused for result in results), len(results))
        job.watch.began(0, "tables")
        parameters = tables.parameters_json(prepared.recipe.steps)
        samples = sum(result.rows for result in done[0].results)
        made = tables.statements(prepared.stages, [stage.findings for stage in done], parameters, samples)
        if samples > tables.MANY // 2:
            give_back()
        base, reached = stages.tables.database if stages.tables else None, _reached(prepared.recipe, store)
        with (
            index.extending(_remembered(done)) as extend,
            belongings.claim(written, but=run_dir.database),
            Database(run_dir.database, reached, base, stages.spill, run_dir.aside(run_dir.database)) as db,
            ThreadPoolExecutor(1) as beside,
        ):
            withheld = prepared.recipe.max_quarantined is None and none_readable(db, done[0])
            exporting = beside.submit(_export, prepared, stages, done[-1], withheld)  # while the tables are built
            keep = prepared.recipe.use_cache and stages.output is not None
            holdings = job.place.holdings(job.overwrite)
            delivery = Delivery(prepared.recipe.export_path, holdings)
            exported = RunExport(exporting, delivery, keep, stages, holdings, withheld)
            with exported.vouched_for():
                fill = partial(stages.tables.fill if stages.tables else database.fill, db, done, made)
                outcome, description = _accounted(job, db, done, fill, exported, store)
            if not withheld:
                extend(description["run_id"], description["project_name"])  # now that the run is published
        if stages.kept is not None and not withheld:
            stages.kept.end({folder_of(stage.planned): stage.results for stage in done})
    if not withheld:
        supersede(prepared.recipe, prepared.stats, belongings, exported, description)
    return outcome


def _accounted(
    job: _Job, db: Database, done: list[StageResult], fill: Callable[[], None], exported: RunExport, store: Store
) -> tuple[Outcome, dict[str, Any]]:
    """Make the tables, check them against the written samples, and publish them; return outcome and manifest."""
    prepared, run_dir = job.prepared, job.place.run_dir
    recipe = prepared.recipe
    fill()
    summarise(db, [stage.program for stage in prepared.stages], recipe.stat_summary)
    outputs = exported.written.result()
    counts = database.check(db, done)
    if recipe.exports and not exported.withheld:
        database.check_written(counts, sum(item.rows for item in outputs))
        if prepared.stats:
            columns = [stat.column for stat in prepared.stats]
            path = job.place.file_of_export(recipe.export_path)
            copied = exported.stages.exported_stats()
            exported.beside.append(copied or db.with_room(partial(write_stats, db.con, path, columns)))
    summed = left_out(db, recipe.stat_summary)
    if recipe.stat_summary.export is not None and not exported.withheld:
        exported.statistics.extend(write_statistics(db, recipe.stat_summary, exported.holdings))
        written, rank = len(exported.statistics), recipe.stat_summary.rank
        summed.append(f"{written} statistics files of rank {rank} in {recipe.stat_summary.export}")
    if job.extension is not None:
        job.extension.fill(db, prepared)
    files = _trace(db, done, recipe, run_dir, store)
    job.beside.require()
    if files:
        log_traces(db)
    beside = exported.delivery.put(exported.beside, keep=False)
    outputs = exported.delivery.put(outputs, exported.keep)
    seconds, size = time.perf_counter() - job.started, sum(result.bytes for result in done[0].results)
    disk = store.size() + sum(item.bytes for item in outputs if not is_url(item.path))
    description = manifest.describe(prepared_facts(prepared), outputs, beside, counts, job.began, seconds, size, disk)
    plan = {"stages": manifest.plan(done), "orderings": [found.json() for found in prepared.orderings]}
    manifest.write(db, run_dir, description, dump(recipe), plan)
    resources.fill(db, job.watch.table(), prepared.stages)
    idle = [] if recipe.measure_only else idle_steps(db)
    if counts.quarantined:
        log_quarantine(db)
    loud = alarms(db, counts, prepared.sources, recipe.max_quarantined is not None)
    db.publish()
    results = [result for stage in done for result in stage.results]
    noted = [note for stage in done if stage.findings for note in stage.findings.notes]
    return Outcome(
        run_dir,
        tuple(item.path if is_url(item.path) else Path(item.path) for item in outputs),
        counts,
        seconds,
        size,
        disk,
        (*prepared.notes, *noted, *idle, *summed),
        tuple(files),
        (sum(result.reused for result in results), len(results)),
        tuple(loud),
    ), description


def _reached(recipe: Recipe, store: Store) -> list[str | Path]:
    """Folders that the database reads facts from and writes files to."""
    target = Workplace.of(recipe.work_dir).file_of_export(recipe.export_path)
    exported = [os.path.dirname(os.path.expanduser(target)) or "."]
    return [store.scratch().parent, *exported]


def prepared_facts(prepared: Plan) -> dict[str, Any]:
    """Entries of the manifest that are known before the run."""
    return {
        "project_name": prepared.recipe.project_name,
        "recipe": prepared.recipe.path,
        "fingerprint": prepared.fingerprint,
        "shard_size": prepared.shard_size,
        "workers": prepared.workers,
        "inputs": prepared.inputs(),
        "side_files": prepared.beside,
    }


def _remembered(done: list[StageResult]) -> list[tuple[index.Index, Path]]:
    """The indexes that this run extends, with the files of its samples' marks."""
    found = [stage.findings for stage in done if stage.findings is not None]
    return [(item.index, item.extends) for item in found if item.index is not None and item.extends is not None]


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


def _first_rows(prepared: Plan) -> list[int]:
    """Each shard's first row number, counted beforehand only if a step's SQL names `_row`; else zeros."""
    if not any(planned.program.uses_row for planned in prepared.stages):
        return [0] * len(prepared.shards)
    first, found = 0, []
    for shard in prepared.shards:
        found.append(first)
        first += count_rows(shard)
    return found


def _watched(prepared: Plan, run_dir: RunDir, progress: Progress | None) -> RunMonitor:
    """Monitor of the run, which also shows its resource use where progress is shown."""
    recipe, stages = prepared.recipe, len(prepared.stages)
    about = {"project_name": recipe.project_name, "recipe": recipe.path, "workers_asked": prepared.workers}
    total = sum(source.size for source in prepared.sources) * stages
    return RunMonitor(run_dir, about, stages, total, recipe.open_monitor, getattr(progress, "uses", None))


def _reporter(
    prepared: Plan, progress: Progress | None, watch: RunMonitor, store: Store
) -> Callable[[ShardResult], None]:
    sizes = [shard.size for shard in prepared.shards]

    def report(result: ShardResult) -> None:
        watch.done(result, sizes[result.shard], lambda: last_of(store.fetch(result.quarantine)))
        if progress is not None:
            progress(watch.far.bytes, watch.far.total)

    return report


def _trace(db: Database, done: list[StageResult], recipe: Recipe, run_dir: RunDir, store: Store) -> list[Path]:
    chosen = trace.choose(db, done, recipe.op_list_to_trace, recipe.trace_limit) if recipe.open_tracer else {}
    trace.record(db, done, chosen, recipe.trace_keys, store.scratch())
    return trace.write_files(db, done, run_dir, chosen) if chosen else []


def _export(prepared: Plan, stages: StageRunner, last: StageResult, withheld: bool) -> list[Written]:
    if withheld:
        if stages.output is not None:
            stages.output.discard()
        return []
    written = stages.exported(last)
    if written is not None:
        return written
    recipe = prepared.recipe
    if not recipe.exports:
        return []
    return export(
        last.files("part"),
        Workplace.of(recipe.work_dir).file_of_export(recipe.export_path),
        recipe.export_format,
        recipe.export_shard_size,
        prepared.lines,
        recipe.export_in_parallel,
    )
