"""A run in progress: its plan, its place, its observers; and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from refinery.io.side_files import SideFiles
from refinery.monitoring.watch import RunMonitor, last_of
from refinery.planning.plan import CompiledStage, Plan
from refinery.recipe.export import ExportSettings
from refinery.recipe.model import Step
from refinery.results.alarms import Alarm
from refinery.results.database import Counts, Database
from refinery.results.delivery import Delivery
from refinery.results.owned_files import OwnedFiles
from refinery.storage.holdings import OwnedObjects
from refinery.storage.run_folder import RunDir
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.worker import ShardResult

Progress = Callable[[int, int], None]
# Called with the notes that are known before the first sample is read.
Noted = Callable[[Sequence[str]], None]


class Extension(Protocol):
    """Further tables in the database of a run."""

    def check(self, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Check that the tables can be made, before anything is processed. steps: of the recipe. Raises RecipeError."""

    def fill(self, db: Database, stages: Sequence[CompiledStage], steps: Sequence[Step]) -> None:
        """Make the tables. The temporary table `facts` has a row per sample, with the bytes of every text version."""


@dataclass(frozen=True)
class Outcome:
    """Result of an execution. outputs: files, and URLs as texts. bytes: of the input.

    disk: bytes of parts, marks and outputs together. reused: number of reused shard results, and number of all shard
    results, of all stages. alarms: warnings that must stand out. repeats: times that kept samples are exported, besides the
    first of each.
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
    run_id: str = ""
    repeats: int = 0

    @property
    def warnings(self) -> list[str]:
        """Lines that a user should read, the alarms first."""
        return [*map(str, self.alarms), *self.notes]


@dataclass(frozen=True)
class RunPlace:
    """The place of a run that holds it: no other run writes there.

    written: patterns of the files that it writes outside of its folder. belongings: those that earlier runs have written.
    overwrite: also replace files that no run has written.
    """

    workplace: Workplace
    written: list[str]
    belongings: OwnedFiles
    overwrite: bool

    @property
    def run_dir(self) -> RunDir:
        """The folder on this machine."""
        return self.workplace.run_dir

    def delivery(self, export: ExportSettings, holdings: OwnedObjects) -> Delivery:
        """The way of an export from this machine to its URL. holdings: the list of objects that runs have put."""
        folder = self.workplace.file_of_export(export.path) if export.is_folder else ""
        return Delivery(export.path, holdings, folder)


@dataclass(frozen=True)
class RunWatch:
    """The observers of a run, and its start: `started` as `perf_counter`, `began` as time."""

    started: float
    began: datetime
    monitor: RunMonitor
    progress: Progress | None

    def reporter(self, sizes: Sequence[int], store: Store) -> Callable[[ShardResult], None]:
        """Function that gets each shard's result. sizes: input bytes of each shard. store: of the results."""

        def report(result: ShardResult) -> None:
            self.monitor.done(result, sizes[result.shard], lambda: last_of(store.fetch(result.quarantine)))
            if self.progress is not None:
                self.progress(self.monitor.progress.bytes, self.monitor.progress.total)

        return report


@dataclass(frozen=True)
class RunJob:
    """A run in progress. beside: files besides the samples that results depend on."""

    prepared: Plan
    place: RunPlace
    watch: RunWatch
    beside: SideFiles
    extension: Extension | None = None
