"""Time limit for statements: endless SQL is interrupted; if that fails, its process is ended.

Only DuckDB's time outside of functions counts (`row_timeouts` limits functions). A statement costs the start of a
thread, a tenth of a millisecond.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from refinery.common.lazy import duckdb
from refinery.errors import StatementTimeout
from refinery.workers import process_guard

# Seconds for a statement without `row_timeout`, and the least for any statement, since planning takes time, too.
DEFAULT, LEAST = 120.0, 5.0

# Most seconds for an interrupted statement to end: DuckDB checks between vectors, not within an expression.
_PATIENCE = 30.0


def seconds_of(row_timeout: float | None) -> float:
    """Limit in seconds for the SQL of a statement."""
    return DEFAULT if row_timeout is None else max(LEAST, row_timeout)


class StatementLimit:
    """Time limit for the statements of one connection. label: their steps, for messages."""

    def __init__(self, con: duckdb.DuckDBPyConnection, seconds: float, label: str) -> None:
        self._stop, self._seconds, self._label = con.interrupt, seconds, label
        self._lock = threading.Lock()
        self._inside, self._entered, self._outside = 0, 0.0, 0.0

    def timed(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time does not count."""

        def call(*arguments: Any) -> Any:
            self._pass(1)
            try:
                return run(*arguments)
            finally:
                self._pass(-1)

        return call

    def _pass(self, step: int) -> None:
        """Enter (1) or leave (-1) a function; several threads can be inside functions at once."""
        with self._lock:
            now = time.monotonic()
            if not self._inside:
                self._entered = now
            self._inside += step
            if not self._inside:
                self._outside += now - self._entered

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Run a statement under the limit. Raises StatementTimeout when time is up."""
        self._inside, self._outside, began = 0, 0.0, time.monotonic()
        over, late = threading.Event(), threading.Event()
        threading.Thread(target=self._watch, args=(began, over, late), daemon=True).start()
        process_guard.statements.add(self._stop)
        try:
            yield
        except duckdb.InterruptException:
            if late.is_set():
                raise StatementTimeout(f"{self._label}: {too_long(self._seconds)}") from None
            raise
        finally:
            process_guard.statements.discard(self._stop)
            with self._lock:
                over.set()

    def _watch(self, began: float, over: threading.Event, late: threading.Event) -> None:
        while not over.wait(max(0.05, self._seconds - self._spent(began))):  # not at once: it can be within a function
            if self._spent(began) < self._seconds:
                continue
            with self._lock:
                if over.is_set():
                    return
                late.set()
                self._stop()
            if not over.wait(min(_PATIENCE, self._seconds)):
                process_guard.end_process(
                    f"{self._label}: {too_long(self._seconds)} and cannot be interrupted; "
                    "worker processes (row_timeout, or workers: processes) find the row"
                )
            return

    def _spent(self, began: float) -> float:
        """Seconds that the statement has spent outside of functions."""
        with self._lock:
            now = time.monotonic()
            return now - began - self._outside - (now - self._entered if self._inside else 0.0)


def too_long(seconds: float) -> str:
    """Error message for SQL that was ended."""
    least = ", which is never less for SQL" if seconds <= LEAST else ""
    return f"SQL took longer than {seconds:g} seconds (row_timeout{least})"
