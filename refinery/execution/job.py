"""A run in progress, and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from refinery.io.side_files import SideFiles
from refinery.monitoring.watch import RunMonitor
from refinery.planning.plan import Plan
from refinery.results.alarms import Alarm
from refinery.results.database import Counts, Database
from refinery.storage.run_folder import RunDir
from refinery.storage.workplace import Workplace

Progress = Callable[[int, int], None]
# Called with the notes that are known before the first sample is read.
Noted = Callable[[Sequence[str]], None]


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
class RunJob:
    """A run in progress: its recipe, its place, its start (`started`: as `perf_counter`), its observers.

    beside: files besides the samples that results depend on. overwrite: also replace files that no run has written. noted: gets
    the notes that are known before the first sample is read.
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
    noted: Noted | None = None
