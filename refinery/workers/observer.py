"""Observers of a worker: who hears of the statements that it runs, and may wrap the functions that they call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from refinery.operators import Function
from refinery.workers.single_rows import RowWatch


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
