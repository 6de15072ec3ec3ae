"""Time limit for calls of operators' functions, which finds the row that takes too long.

A function is called with a few rows at a time. When time is up, an exception is raised inside it, and the rows are run
one by one. A row that takes too long by itself fails, and is remembered, so that finding it again among others costs
no further wait. Native code that does not return to the interpreter cannot be interrupted: the process ends.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from refinery.operators import Function

# Rows per call of functions that hold the GIL; kernels receive a whole vector of DuckDB.
_ROWS = 64

# Code that cannot be interrupted has this multiple of the limit, plus these seconds, until the process ends.
_HARD_FACTOR, _HARD_SECONDS = 2, 1.0

_SPARE = open(os.devnull, "w")  # for a traceback that nobody needs


class _TimeIsUp(BaseException):
    """Raised inside an operator's function; a BaseException, so that no `except Exception` there catches it."""


class RowTimeout(Exception):
    """A row took longer than the limit."""


class TimedFunction:
    """A function with a limit in seconds per row. one_by_one: the function never receives several rows at once.

    Only for the main thread of a process that uses SIGALRM for nothing else.
    """

    def __init__(self, function: Function, run: Callable[..., Any], seconds: float, one_by_one: bool = False) -> None:
        self._run, self._width, self._seconds = run, len(function.columns), seconds
        self._rows = 1 if one_by_one else _ROWS if function.runs == "python" else 0
        self._known: set[str] = set()

    def __call__(self, *arguments: Any) -> Any:
        columns, constants = arguments[: self._width], arguments[self._width :]
        rows = len(columns[0]) if columns else 0
        step = self._rows or rows
        pieces = []
        for start in range(0, rows, max(1, step)):
            pieces += self._few([column.slice(start, step) for column in columns], constants)
        return joined(pieces) if pieces else self._run(*arguments)

    def _few(self, columns: Sequence[pa.Array], constants: Sequence[Any]) -> list[Any]:
        rows = len(columns[0])
        result = self._in_time(columns, constants) if rows > 1 else None
        if result is not None:
            return [result]
        return [self._one([column.slice(at, 1) for column in columns], constants) for at in range(rows)]

    def _one(self, columns: Sequence[pa.Array], constants: Sequence[Any]) -> Any:
        if not self._known or _key(columns, constants) not in self._known:
            result = self._in_time(columns, constants)
            if result is not None:
                return result
            self._known.add(_key(columns, constants))
        raise RowTimeout(too_long(self._seconds))

    def _in_time(self, columns: Sequence[pa.Array], constants: Sequence[Any]) -> Any:
        """Result of the function; None when it takes too long."""
        try:
            return in_time(lambda: self._run(*columns, *constants), self._seconds)
        except RowTimeout:
            return None


def _key(columns: Sequence[pa.Array], constants: Sequence[Any]) -> str:
    return repr((*(column[0].as_py() for column in columns), *constants))


def too_long(seconds: float) -> str:
    """Error message of a row whose call was ended."""
    return f"took longer than {seconds:g} seconds (row_timeout)"


class Watchdog:
    """End of the process if native code does not return in time. Setting it takes a thread, so it is set for several rows."""

    def __init__(self) -> None:
        self._until = 0.0

    def watch(self, seconds: float) -> None:
        """Begin a row with this limit."""
        now = time.monotonic()
        if not now + seconds * _HARD_FACTOR < self._until <= now + seconds * _HARD_FACTOR + _HARD_SECONDS:
            self._until = now + seconds * _HARD_FACTOR + _HARD_SECONDS
            faulthandler.dump_traceback_later(self._until - now, exit=True, file=_SPARE)

    def rest(self) -> None:
        """End the last row."""
        self._until = 0.0
        faulthandler.cancel_dump_traceback_later()


def in_time(call: Callable[[], Any], seconds: float, watchdog: Watchdog | None = None) -> Any:
    """Result of a call. Raises RowTimeout when time is up, even if the call went on to its end.

    watchdog: of several calls, which the caller brings to rest. No context manager: the alarm may ring in any frame, and those
    of `with` and `contextlib` are outside of every `try`.
    """
    late, running = False, True

    def ring(*_: Any) -> None:
        nonlocal late
        if running:  # Python may handle a signal well after it came
            late = True
            raise _TimeIsUp

    dog, result = watchdog or Watchdog(), None
    before = signal.signal(signal.SIGALRM, ring)
    dog.watch(seconds)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            result = call()
        finally:
            running = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp:
        pass
    finally:
        if watchdog is None:
            dog.rest()
        signal.signal(signal.SIGALRM, before)
    if late:
        raise RowTimeout(too_long(seconds))
    return result


def joined(pieces: Sequence[Any]) -> Any:
    """Concatenate arrays; if one has large texts (64-bit offsets), all become large."""
    arrays = [piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece for piece in pieces]
    kinds = {array.type for array in arrays}
    if len(kinds) > 1:
        kind = pa.unify_schemas([pa.schema([("v", k)]) for k in kinds], promote_options="permissive").field("v").type
        arrays = [array.cast(kind) for array in arrays]
    return pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
