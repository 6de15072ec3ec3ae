"""The run that the page shows: its folder, its tables, and what is kept in memory between requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from refinery.common.lazy import duckdb
from refinery.errors import DataError
from refinery.inspect.finished_run import FinishedRun
from refinery.results.views.create import add_views
from refinery.storage.run_folder import RunDir

T = TypeVar("T")


class ExploredRun:
    """One finished run, open for reading. others: folders of runs to compare it with."""

    def __init__(self, folder: Path, others: Sequence[Path] = ()) -> None:
        self.folder, self.others = folder, tuple(others)
        self._stored = _opened(folder)
        self._opened = self._version()
        own = "SELECT count(*) FROM duckdb_views() WHERE view_name = 'samples' AND NOT temporary"
        self._lacks_views = not self._stored.count(own)  # an earlier version of refinery made the run
        self._memory: dict[Any, Any] = {}
        self._locks: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the database."""
        self._stored.con.close()

    @contextmanager
    def stored(self) -> Iterator[FinishedRun]:
        """The run with a connection of its own, for one request. Raises DataError if a later run has replaced it."""
        if self._version() != self._opened:
            raise DataError(f"{self.folder}: another run has ended here since. Start `refinery explore` again")
        with self._lock:
            con = self._stored.con.cursor()
        if self._lacks_views:
            add_views(con)
        try:
            yield replace(self._stored, con=con)
        finally:
            con.close()

    def lasting(self) -> FinishedRun:
        """The run with a connection of its own that stays open, for what is kept in memory."""
        with self._lock:
            return replace(self._stored, con=self._stored.con.cursor())

    @contextmanager
    def con(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to the run's tables, for one request; temporary tables on it are the request's own."""
        with self.stored() as stored:
            yield stored.con

    def remember(self, key: Any, compute: Callable[[], T]) -> T:
        """The value for a key, computed by the first request that asks for it; others wait for that one."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._memory:
                self._memory[key] = compute()
            value: T = self._memory[key]
            return value

    def forget(self, key: Any) -> None:
        """Forget the value for a key, so that the next request computes it anew."""
        with self._lock:
            self._memory.pop(key, None)

    def _version(self) -> tuple[int, int]:
        """Inode and time of the database: a run replaces the file."""
        try:
            stat = self._stored.run_dir.database.stat()
        except OSError as error:
            raise DataError(f"{self.folder}: the run's tables are gone: {error.strerror}") from None
        return stat.st_ino, stat.st_mtime_ns


def _opened(folder: Path) -> FinishedRun:
    """The finished run in a folder. Raises DataError, which says so if a run is at work there."""
    try:
        return FinishedRun.open(folder)
    except DataError as error:
        if RunDir.of_finished(folder).is_held():
            how = f"`refinery status {folder} --watch` shows its progress; explore it when it has ended"
            raise DataError(f"{folder}: a run is at work here. {how}") from error
        raise
