"""Connections to the tables of a run: one for each thread, on the database as it was when the thread asked."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

from refinery.common.lazy import duckdb
from refinery.errors import DataError
from refinery.results.attached_tables import attached_tables


class _Connected(NamedTuple):
    con: duckdb.DuckDBPyConnection
    mark: tuple[int, int]  # of the file that it reads


class ThreadConnections:
    """Connections to one run's database: DuckDB's are for one thread at a time, and their views are their own."""

    def __init__(self, database: Path, run_id: str) -> None:
        """run_id: of the run whose tables they must be; "" for any."""
        self.database, self._run_id = database, run_id
        self._own, self._all, self._lock = threading.local(), list[duckdb.DuckDBPyConnection](), threading.Lock()
        self.closed = False

    def own(self) -> duckdb.DuckDBPyConnection:
        """The connection of this thread. Raises DataError if the database is missing, or a later run has replaced it."""
        connected: _Connected | None = getattr(self._own, "connected", None)
        mark = self._mark()
        if connected is None or connected.mark != mark:
            connected = _Connected(self._opened(), mark)
            self._own.connected = connected
        return connected.con

    def _opened(self) -> duckdb.DuckDBPyConnection:
        con = attached_tables(self.database)
        if self._run_id and con.execute("SELECT run_id FROM runs").fetchall() != [(self._run_id,)]:
            con.close()
            raise DataError(f"{self.database}: {REPLACED}")
        with self._lock:
            self._all.append(con)
        return con

    def _mark(self) -> tuple[int, int]:
        """Inode and time of the file: a later run puts another file in its place."""
        try:
            state = self.database.stat()
        except OSError as error:
            raise DataError(f"{self.database}: cannot be read: {error.strerror or error}") from None
        return state.st_ino, state.st_mtime_ns

    def close(self) -> None:
        """Close the connections of all threads; relations that read them raise errors from now on."""
        self.closed = True
        with self._lock:
            for con in self._all:
                con.close()
            self._all.clear()


REPLACED = (
    "a later run has replaced the results of this one. Use the object that it has returned, open the folder again with "
    "refinery.open, or give each run a work_dir of its own"
)
