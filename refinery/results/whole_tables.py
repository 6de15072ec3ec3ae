"""Makers of a run's tables; here the one that writes all of them into the database, from the facts of all shards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from refinery.compiler.program import Program
from refinery.io.model import Written
from refinery.io.writers.export import write_stats
from refinery.recipe.stat_summary import StatSummary
from refinery.results import database, trace
from refinery.results.database import Counts, Database
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import left_out, summarise
from refinery.results.tables import TableStatement


class TableMaker(Protocol):
    """Maker of the tables of a run. All makers leave the same rows in the same order.

    folder: of the parts in the store of tables; "" where the database holds all rows.
    """

    folder: str

    def fill(self, db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
        """Make the tables that `statements` make, and the relation `facts`."""

    def summarise(self, db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
        """Make the table `stat_summary`."""

    def check(self, db: Database, done: Sequence[StageResult]) -> Counts:
        """Compare rows read, in tables, and written. Raises ConservationError."""

    def chosen(
        self, db: Database, done: Sequence[StageResult], names: Sequence[str], limit: int | None
    ) -> dict[int, list[int]]:
        """The rows to trace, by step; see `trace.choose`."""

    def write_stats(self, db: Database, export_path: str, columns: Sequence[str]) -> Written:
        """Write the statistics of the kept samples beside the export."""

    def left_out(self, db: Database, summary: StatSummary) -> list[str]:
        """Notes on what the summary leaves out."""

    def vouched_for(self) -> AbstractContextManager[None]:
        """Remove files that only the driver has needed at the end, and all files if the next steps fail."""


class WholeTables:
    """Maker that fills the database from the facts of all shards, on this machine."""

    folder = ""

    def fill(self, db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
        """Make the tables."""
        database.fill(db, done, statements)

    def summarise(self, db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
        """Make the table `stat_summary`."""
        summarise(db, programs, summary)

    def check(self, db: Database, done: Sequence[StageResult]) -> Counts:
        """Compare rows."""
        return database.check(db, done)

    def chosen(
        self, db: Database, done: Sequence[StageResult], names: Sequence[str], limit: int | None
    ) -> dict[int, list[int]]:
        """The rows to trace."""
        return trace.choose(db, done, names, limit)

    def write_stats(self, db: Database, export_path: str, columns: Sequence[str]) -> Written:
        """Write the statistics of the kept samples."""
        return db.with_room(partial(write_stats, db.con, export_path, columns))

    def left_out(self, db: Database, summary: StatSummary) -> list[str]:
        """Notes on what the summary leaves out."""
        return left_out(db, summary)

    def vouched_for(self) -> AbstractContextManager[None]:
        """Do nothing: the unfinished database is removed where it is made."""
        return nullcontext()
