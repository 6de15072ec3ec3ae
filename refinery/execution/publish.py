"""Publishes a run whose stages are done: its tables, which account for every sample, its export, its indexes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.dedup import index
from refinery.execution import index_run
from refinery.execution.account import accounted
from refinery.execution.export_sink import ExportSink, Note
from refinery.execution.exported import RemovedExport, RunExport
from refinery.execution.job import Outcome, RunJob, RunPlace
from refinery.execution.removed_files import RemovedFiles
from refinery.execution.stage_runner import StageRunner
from refinery.execution.table_maker import maker_of, most_in_database, table_order
from refinery.io.model import Written
from refinery.recipe.export import ExportSettings
from refinery.results import tables
from refinery.results.alarms import none_readable
from refinery.results.database import Database
from refinery.results.stage_result import StageResult
from refinery.results.tables import StepCells
from refinery.results.whole_tables import TableMaker, WholeTables
from refinery.storage.holdings import OwnedObjects
from refinery.storage.store import Store


def publish_run(job: RunJob, stages: StageRunner, done: list[StageResult]) -> tuple[Outcome, dict[str, Any], RunExport]:
    """Publish tables and export of the finished stages; return the outcome, the manifest and the export."""
    prepared, place, recipe = job.prepared, job.place, job.prepared.recipe
    job.watch.monitor.began(0, "tables")
    earlier, store, executor = stages.facts.tables, stages.store, stages.backend.executor
    base, reached = earlier.database if earlier else None, _reached(place, recipe.export_path, store)
    own = place.run_dir.database
    with (
        index.extending(_remembered(done)) as extend,
        place.belongings.claim(place.written, but=own),
        Database(own, reached, base, stages.backend.spill, place.run_dir.aside(own)) as db,
        ThreadPoolExecutor(1) as beside,
    ):
        withheld = recipe.max_quarantined is None and none_readable(db, done[0])
        exporting = beside.submit(_export, stages.sink, done[-1], withheld)  # while the tables are built
        keep = recipe.use_cache and stages.sink.output is not None
        holdings = place.workplace.holdings(place.overwrite)
        removed = None
        if recipe.removed is not None and not withheld:
            removed = _removed(recipe.removed, place, holdings, prepared.lines, prepared.notes.append)
        delivery = place.delivery(recipe.export, holdings)
        exported = RunExport(recipe.export, exporting, delivery, keep, stages.sink, holdings, withheld, removed=removed)
        parts = place.workplace.tables()
        order = table_order(prepared, exported.is_wanted)
        most = most_in_database(recipe.executor_type)
        maker = WholeTables() if earlier else maker_of(order, most, executor, done, store, parts)
        with exported.vouched_for(), maker.vouched_for():
            (earlier or maker).fill(db, done, _statements(order.cells, done, maker))
            outcome, description = accounted(job, db, maker, done, exported, store, executor)
        if not withheld:
            extend(description["run_id"], description["project_name"])  # now that the run is published
        if index_run.uses_index(recipe.steps):
            index_run.end(place.workplace)
    return outcome, description, exported


def _reached(place: RunPlace, export_path: str, store: Store) -> list[str | Path]:
    """Folders that the database reads facts from and writes files to."""
    exported = os.path.dirname(os.path.expanduser(place.workplace.file_of_export(export_path))) or "."
    stored = place.workplace.tables()
    return [store.scratch().parent, exported, *([] if stored.on_this_machine else [stored.url])]


def _remembered(done: list[StageResult]) -> list[tuple[index.Index, Path | None]]:
    """The indexes that this run changes, with the files of its samples' marks; None if all of them are removed."""
    indexes = [(stage.findings.index, stage.findings.extends) for stage in done if stage.findings is not None]
    return [(known, added) for known, added in indexes if known is not None and (added is not None or known.own)]


def _export(sink: ExportSink, last: StageResult, withheld: bool) -> list[Written]:
    """Write the export. withheld: discard it."""
    if not withheld:
        return sink.finish(last)
    if sink.output is not None:
        sink.output.discard()
    return []


def _removed(
    settings: ExportSettings, place: RunPlace, holdings: OwnedObjects, lines: bool, note: Note
) -> RemovedExport:
    """The files of removed samples."""
    files = RemovedFiles(settings, place.workplace.file_of_export(settings.path), lines, note)
    return RemovedExport(files, place.delivery(settings, holdings))


def _statements(
    cells: Mapping[int, StepCells], done: list[StageResult], maker: TableMaker
) -> list[tables.TableStatement]:
    """The statements that make the tables in the database."""
    if maker.folder:  # tasks make the tables
        return []
    samples = sum(result.rows for result in done[0].results)
    made = tables.statements(
        [stage.planned for stage in done], [stage.local_findings() for stage in done], cells, samples
    )
    if samples > tables.MANY // 2:
        pa.default_memory_pool().release_unused()  # for DuckDB
    return made
