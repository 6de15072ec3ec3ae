"""Reports of processes that run tasks other than shards: deduplicators, tables and parts of the export."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from refinery.execution.ray import process_use
from refinery.monitoring.nodes import Report

_EVERY = 1.0
# Seconds since the last report of a process after which the end of a task is reported at once.
_WORTH = 0.2


class TaskReports:
    """Reports of a process that runs tasks other than shards: each second, and when a task has taken some time.

    A thread sends them, since tasks may be many and short.
    """

    def __init__(self, used: Callable[[], Report] | None = None) -> None:
        """used: returns what the process has used."""
        self._used = used or process_use.used
        self._board: Any = None
        self._running, self._sent = 0, 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def task(self, board: Any) -> Iterator[None]:
        """Report while a task runs. board: the actor that gets reports, or None."""
        if board is None:
            yield
            return
        with self._lock:
            self._board = board
            self._running += 1
            if self._thread is None:
                self._sent = time.monotonic()
                self._thread = threading.Thread(target=self._repeat, name="report of tasks", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if time.monotonic() - self._sent > _WORTH:
                    self._send()

    def _repeat(self) -> None:
        while True:
            time.sleep(_EVERY)
            with self._lock:
                if self._running:
                    self._send()

    def _send(self) -> None:
        self._sent = time.monotonic()
        about = {"stage": "", "shard": None, "seconds": 0.0, "running": self._running > 0, "rows": 0, "bytes": 0}
        with suppress(Exception):  # the cluster ends, or the board has gone
            self._board.report.remote({**self._used(), **about}, [])


OF_TASKS = TaskReports()
