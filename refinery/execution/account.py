"""Tables, statistics, traces and manifest of a run, checked against what was written, and published together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from refinery.execution.audited_texts import StageTexts
from refinery.execution.exported import RunExport
from refinery.execution.job import Outcome, RunJob, RunWatch
from refinery.execution.plan_facts import PlanFacts
from refinery.io.model import Written
from refinery.planning.plan import CompiledStage
from refinery.recipe import dump
from refinery.recipe.stat_summary import StatSummary
from refinery.recipe.traces import TraceSettings
from refinery.results import database, manifest, resources, trace
from refinery.results.alarms import Alarm, alarms
from refinery.results.audit import record as record_audit
from refinery.results.database import Counts, Database
from refinery.results.digests.record import WITH, RunDigests, record
from refinery.results.events import empty_texts, idle_steps, log_quarantine, log_traces, null_values, passed_over
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import write_statistics
from refinery.results.views.comments import comment_on_all
from refinery.results.views.create import create_views
from refinery.results.views.field_columns import field_comments
from refinery.results.views.input_macro import create_macro
from refinery.results.views.verdicts import verdicts_of_run
from refinery.results.whole_tables import TableMaker
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.urls import is_url
from refinery.workers.executor import Executor


def accounted(
    job: RunJob,
    db: Database,
    maker: TableMaker,
    done: list[StageResult],
    exported: RunExport,
    store: Store,
    executor: Executor,
) -> tuple[Outcome, dict[str, Any]]:
    """Check the tables against the written samples, complete and publish them; return outcome and manifest.

    maker: has filled the database. executor: runs tasks.

    Raises ConservationError if rows do not add up.
    """
    prepared, recipe, run_dir = job.prepared, job.prepared.recipe, job.place.run_dir
    maker.summarise(db, [stage.program for stage in prepared.stages], recipe.stat_summary)
    outputs = exported.written.result()
    if exported.is_wanted and prepared.stats:  # while tables are made in the background, for which the check waits
        path, columns = job.place.workplace.file_of_export(recipe.export_path), [stat.column for stat in prepared.stats]
        exported.beside.append(exported.sink.stats() or maker.write_stats(db, path, columns))
    counts = maker.check(db, done)
    removed = _checked(db, done, exported, outputs, counts)
    summed = _statistics(recipe.stat_summary, db, maker, exported)
    if job.extension is not None:
        job.extension.fill(db, prepared.stages, recipe.steps)
    files = _trace(recipe.traces, db, maker, done, store.scratch(), run_dir)
    facts, texts = PlanFacts.of(prepared), StageTexts(done, executor, store)
    audit = db.with_room(partial(record_audit.audited, db.con, facts.audited, facts.text_key, texts, recipe.audit))
    audit.write(db.con)
    job.beside.require()
    if files:
        log_traces(db)
    beside = exported.delivery.put(exported.beside, keep=False)
    outputs = exported.delivery.put(outputs, exported.keep)
    description = _described(facts.manifest, job.watch, done, store, outputs, beside, counts)
    description["removed"] = manifest.described(exported.removed.written if exported.removed is not None else ())
    plan = {"stages": manifest.plan(done), "orderings": facts.orderings}
    manifest.write(db, run_dir, description, dump(recipe), plan)
    resources.fill(db, job.watch.monitor.table(), prepared.stages)
    run_dir.digests.unlink(missing_ok=True)  # those of an earlier run
    recorded = _digested(record(run_dir, description, recipe.inputs, recipe.export, WITH)) if recipe.digests else []
    passed = [*passed_over(db), *(_repeated(done, counts) if recipe.exports else [])]
    seen = _seen(db, counts, recipe.measure_only)
    empty = empty_texts(db, prepared.stages) if exported.is_wanted else []
    loud = alarms(db, counts, prepared.sources, recipe.max_quarantined is not None)
    _add_views(db, facts, prepared.stages, recipe.steps)
    unlike = record_audit.notes_of(audit, facts.audited, db.con)
    db.publish()
    notes = [*prepared.notes, *_of_stages(done), *unlike, *passed, *seen, *summed, *empty, *removed, *recorded]
    return _outcome(run_dir, done, outputs, counts, description, notes, files, loud), description


def _checked(
    db: Database, done: list[StageResult], exported: RunExport, outputs: list[Written], counts: Counts
) -> list[str]:
    """Check the written samples against the tables, and write the removed ones; return notes. Raises ConservationError."""
    if exported.is_wanted:
        repeats = sum(result.repeats for result in done[-1].results)
        database.check_written(counts, sum(item.rows for item in outputs), repeats)
    return exported.removed.write(db, done, counts.removed) if exported.removed is not None else []


def _seen(db: Database, counts: Counts, measures: bool) -> list[str]:
    """Log what the tables show; return notes for the user. measures: filters only measure."""
    idle = [] if measures else idle_steps(db)
    if counts.quarantined:
        log_quarantine(db)
    return [*idle, *(null_values(db) if counts.removed else [])]


def _repeated(done: list[StageResult], counts: Counts) -> list[str]:
    """A line on samples that are exported more than once."""
    repeats = sum(result.repeats for result in done[-1].results)
    what = f"repeat_by: {counts.kept:,} kept samples are written as {counts.kept + repeats:,}"
    return [what] if repeats else []


def _of_stages(done: list[StageResult]) -> list[str]:
    """Notes of the deduplicators."""
    return [note for stage in done if stage.findings for note in stage.findings.notes]


def _add_views(db: Database, facts: PlanFacts, stages: Sequence[CompiledStage], steps: Sequence[Any]) -> None:
    """Create the views, and comments on all tables and views. steps: of the recipe."""
    kept = [field for stage in stages for field in stage.program.kept_fields]
    create_views(db.con, kept, verdicts_of_run(stages, steps, db.con))
    create_macro(db.con, facts.samples)
    comment_on_all(db.con, facts.comments | field_comments(kept))


def _outcome(
    run_dir: RunDir,
    done: list[StageResult],
    outputs: list[Written],
    counts: Counts,
    description: dict[str, Any],
    notes: list[str],
    files: list[Path],
    loud: list[Alarm],
) -> Outcome:
    """The outcome of a published run. files: of the trace."""
    results = [result for stage in done for result in stage.results]
    return Outcome(
        run_dir,
        tuple(item.path if is_url(item.path) else Path(item.path) for item in outputs),
        counts,
        description["seconds"],
        description["bytes"],
        description["disk"],
        tuple(notes),
        tuple(files),
        (sum(result.reused for result in results), len(results)),
        tuple(loud),
        description["run_id"],
        sum(result.repeats for result in done[-1].results),
    )


def _statistics(summary: StatSummary, db: Database, maker: TableMaker, exported: RunExport) -> list[str]:
    """Write statistics files, if the recipe wants them; notes about what the summary leaves out."""
    notes = maker.left_out(db, summary)
    if summary.export is not None and not exported.withheld:
        exported.statistics.extend(write_statistics(db, summary, exported.holdings))
        written = len(exported.statistics)
        notes.append(f"{written} statistics files of rank {summary.rank} in {summary.export}")
    return notes


def _trace(
    settings: TraceSettings, db: Database, maker: TableMaker, done: list[StageResult], folder: Path, run_dir: RunDir
) -> list[Path]:
    """Trace samples, if the recipe wants them; return the files. folder: for temporary files."""
    chosen = maker.chosen(db, done, settings.operators, settings.limit) if settings.are_on else {}
    trace.record(db, done, chosen, settings.fields, folder)
    return trace.write_files(db, done, run_dir, chosen) if chosen else []


def _described(
    facts: dict[str, Any],
    watch: RunWatch,
    done: list[StageResult],
    store: Store,
    outputs: list[Written],
    beside: list[Written],
    counts: Counts,
) -> dict[str, Any]:
    """The manifest. facts: its entries that are known before the run."""
    seconds, size = time.perf_counter() - watch.started, sum(result.bytes for result in done[0].results)
    disk = store.size() + sum(item.bytes for item in outputs if not is_url(item.path))
    return manifest.describe(facts, outputs, beside, counts, watch.began, seconds, size, disk)


def _digested(digests: RunDigests) -> list[str]:
    """A line on the recorded digests."""
    return [f"digests of {len(digests.files):,} files are recorded, with the root {digests.root}"]
