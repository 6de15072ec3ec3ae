"""Observers of a worker: who hears of the statements that it runs, and may wrap the functions that they call.

That of a worker process reports rows before they run, and ends operators that take too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from refinery.operators import Function
from refinery.workers.row_timeouts import TimedFunction
from refinery.workers.single_rows import RowWatch, SentRows


class WorkerObserver(Protocol):
    """Observer of one worker, called on the worker's thread. row_watch: that of functions that may hang, or None."""

    row_watch: RowWatch | None

    def wrapped(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function that DuckDB calls. run: the function with its results checked."""

    def reads(self, row: int | None) -> None:
        """Note that the batch that begins with this row of the shard is read now; None: all have been read."""

    def begins(self, first: int, last: int) -> None:
        """Note that a statement over the rows from first to last begins."""

    def ended(self) -> None:
        """Note that the statement has ended well."""

    def passed(self, rows: int, size: int) -> None:
        """Note that a batch of a shard is done. size: its bytes."""


class SilentObserver:
    """The observer of workers that nobody watches."""

    row_watch: RowWatch | None = None

    def wrapped(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is."""
        return run

    def reads(self, row: int | None) -> None:
        """Do nothing."""

    def begins(self, first: int, last: int) -> None:
        """Do nothing."""

    def ended(self) -> None:
        """Do nothing."""

    def passed(self, rows: int, size: int) -> None:
        """Do nothing."""


Send = Callable[[dict[str, Any]], None]


class ProcessObserver:
    """Reports to the driver; see WorkerObserver.

    timeout: seconds for a row, or None. one_by_one: functions receive one row at a time. spoiled: see SentRows.
    """

    def __init__(
        self, send: Send, timeout: float | None, one_by_one: bool, spoiled: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._send, self._timeout, self._one_by_one = send, timeout, one_by_one
        self.row_watch: RowWatch | None = SentRows(send, timeout, spoiled)

    def wrapped(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its time limit, if there is one."""
        if self._timeout is None or function.runs == "process":  # `row_watch` has the limit of these
            return run
        return TimedFunction(function, run, self._timeout, self._one_by_one)

    def reads(self, row: int | None) -> None:
        """Report the row that is read now, by which the process may die before any row runs."""
        self._send({"row": row})

    def begins(self, first: int, last: int) -> None:
        """Report the rows that run now: those of a process that dies."""
        self._send({"at": [first, last], "row": first if first == last else None})

    def ended(self) -> None:
        """Report that no rows run."""
        self._send({"at": None})

    def passed(self, rows: int, size: int) -> None:
        """Do nothing: the shard is counted when it ends."""
