"""The export of a run: its files, their removal when the run fails, and the removal of earlier exports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from refinery.compiler.model import Stat
from refinery.execution.export_sink import ExportSink
from refinery.execution.removed_files import RemovedFiles
from refinery.io.model import Written
from refinery.recipe.export import ExportSettings
from refinery.recipe.stat_summary import StatSummary
from refinery.results import targets
from refinery.results.database import Database, check_removed
from refinery.results.delivery import Delivery
from refinery.results.owned_files import OwnedFiles
from refinery.results.stage_result import StageResult
from refinery.storage.holdings import OwnedObjects
from refinery.storage.urls import is_url


@dataclass(frozen=True)
class RemovedExport:
    """The files of removed samples. delivery: puts them at their URL. written: the files, once they exist."""

    files: RemovedFiles
    delivery: Delivery
    written: list[Written] = field(default_factory=list)

    def write(self, db: Database, done: Sequence[StageResult], removed: int) -> list[str]:
        """Write and deliver the files; return notes. removed: number of samples. Raises ConservationError, OutputError."""
        self.written.extend(self.files.write(db, done))
        check_removed(removed, sum(item.rows for item in self.written))
        self.written[:] = self.delivery.put(self.written, keep=False)
        return self.files.notes()


@dataclass(frozen=True)
class RunExport:
    """The export of a run.

    settings: its place and form. written: its files, once they are written. delivery: puts them at their URL. keep: keep them on this machine, too.
    holdings: the list of objects that runs have put at URLs. beside: the file of the samples' statistics, once it
    exists. statistics: paths or URLs of statistics files, once they exist. withheld: no row could be read, so neither
    export nor statistics are written, and those of an earlier run stay. removed: the files of removed samples, if the recipe has them
    written.
    """

    settings: ExportSettings
    written: Future[list[Written]]
    delivery: Delivery
    keep: bool
    sink: ExportSink
    holdings: OwnedObjects
    withheld: bool = False
    beside: list[Written] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)
    removed: RemovedExport | None = None

    @property
    def is_wanted(self) -> bool:
        """True if samples are written: the recipe asks for them, and a row could be read."""
        return self.settings.is_written and not self.withheld

    @contextmanager
    def vouched_for(self) -> Iterator[None]:
        """Remove the exported files if the next steps fail, because no tables would account for the files."""
        try:
            yield
        except BaseException:
            if self.removed is not None:
                self.removed.delivery.take_back(self.removed.written)
            if not self.written.cancel() and self.written.exception() is None:
                output, copied = self.sink.output, self.sink.stats()
                files = [] if output is not None else self.written.result()
                self.delivery.take_back([*files, *self.beside, *([copied] if copied else [])])
                if output is not None and not self.withheld:
                    output.take_back()
            raise


def supersede(
    summary: StatSummary,
    stats: Sequence[Stat],
    belongings: OwnedFiles,
    exported: RunExport,
    description: dict[str, Any],
) -> None:
    """Remove files of earlier exports to the same place after the new export: readers would read both together."""
    _supersede_statistics(summary, belongings, exported)
    if exported.removed is not None:
        exported.removed.delivery.end()
        settings, written = exported.removed.files.settings, [item.path for item in exported.removed.written]
        if settings.is_local:
            belongings.supersede(settings.path, targets.of_removed(settings), written)
    if not exported.settings.is_written:
        return
    exported.delivery.end()
    files = [item["path"] for item in (*description["outputs"], *description["beside"]) if not is_url(item["path"])]
    if exported.settings.is_local:
        belongings.supersede(exported.settings.path, targets.of_export(exported.settings, stats), files)


def _supersede_statistics(summary: StatSummary, belongings: OwnedFiles, exported: RunExport) -> None:
    """Remove statistics files of earlier runs that this run does not replace: a merge would count them in."""
    if summary.export is None:
        return
    if is_url(summary.export):
        exported.holdings.keep(summary.export, exported.statistics)
    else:
        name = os.path.join(summary.export, f"{summary.rank:05d}.json")
        belongings.supersede(name, targets.of_statistics(summary), exported.statistics)
