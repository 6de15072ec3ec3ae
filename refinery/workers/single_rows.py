"""Functions of the kind `process`, which may raise, hang or end their process: each gets one row at a time, in plain values.

An error or a row that takes too long is a value, the field `fault` of the result. So it costs its row alone: nothing is run
again for it. Only native code that does not return in time ends the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery.common.digest import Digest
from refinery.errors import OperatorError
from refinery.kernels.core.arrow import of_texts, structs
from refinery.operators import Function
from refinery.operators.user_code import function_of
from refinery.workers.function_result_types import declared_type
from refinery.workers.function_results import Contract, named
from refinery.workers.row_timeouts import RowTimeout, Watchdog, in_time

_SHOWN = 1000  # characters of an error's message


class RowWatch(Protocol):
    """The observer of a function's rows, called on the thread that runs it. most: most seconds for a row, None for no limit."""

    most: float | None

    def begins(self, row: str, seconds: float | None) -> str | None:
        """Note that a row begins; returns the reason why it must not. row: a digest of what the function receives."""

    def ended(self) -> None:
        """Note that no row runs."""


class SentRows:
    """Sends each row to the driver before it runs: the last one is the cause if the process ends.

    spoiled: rows that have ended a process, with the reason.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None], most: float | None, spoiled: Mapping[str, str]) -> None:
        self._send, self.most, self._spoiled = send, most, spoiled

    def begins(self, row: str, seconds: float | None) -> str | None:
        """Send the row, unless it is known to end the process."""
        if row not in self._spoiled:
            self._send({"call": row, "seconds": seconds})
        return self._spoiled.get(row)

    def ended(self) -> None:
        """Send that no row runs."""
        self._send({"call": None})


class SingleRows:
    """A function for columns, of one for a row. Its first constant is the time limit of a row in seconds, None for no limit.

    For the main thread of a worker process, as `row_timeouts.in_time` is.
    """

    def __init__(
        self, function: Function, run: Callable[..., dict[str, Any]], contract: Contract, watch: RowWatch | None = None
    ) -> None:
        self._function, self._run, self._contract, self._watch = function, run, contract, watch
        self._kind, self._width = declared_type(function), len(function.columns)
        self._ready: set[str] = set()
        self._dog = Watchdog()

    def __call__(self, *arguments: Any) -> pa.Array:
        columns, (seconds, *constants) = arguments[: self._width], arguments[self._width :]
        if self._watch is not None and self._watch.most is not None:
            seconds = self._watch.most if seconds is None else min(seconds, self._watch.most)
        try:
            if len(columns[0]):
                self._prepare(constants)
            rows = [self._row([column[at] for column in columns], seconds, constants) for at in range(len(columns[0]))]
        except ImportError as error:  # the machine's fault, not the row's
            self._contract.refuse(OperatorError(f"{named(self._function)} cannot import what it needs: {error}"))
        finally:
            self._dog.rest()
            if self._watch is not None:
                self._watch.ended()
        return _array(rows, self._kind)

    def _prepare(self, constants: Sequence[Any]) -> None:
        """Let the function import and load what it needs; the time counts for no row."""
        if self._function.prepare and repr(constants) not in self._ready:
            function_of(self._function.path, self._function.prepare)(*constants)
            self._ready.add(repr(constants))

    def _row(
        self, values: Sequence[pa.Scalar], seconds: float | None, constants: Sequence[Any]
    ) -> dict[str, Any] | None:
        """The result for a row; None if a value is NULL."""
        if not all(value.is_valid for value in values):
            return None
        reason = None if self._watch is None else self._watch.begins(_digest(values, constants), seconds)
        return self._in_time(values, seconds, constants) if reason is None else {"fault": reason}

    def _in_time(self, values: Sequence[pa.Scalar], seconds: float | None, constants: Sequence[Any]) -> dict[str, Any]:
        arguments = [*(value.as_py() for value in values), *constants]
        if seconds is None:
            return self._result(arguments)
        try:
            return in_time(lambda: self._result(arguments), seconds, self._dog)
        except RowTimeout:
            return {"fault": too_slow(seconds)}

    def _result(self, arguments: Sequence[Any]) -> dict[str, Any]:
        try:
            return self._run(*arguments)
        except (MemoryError, ImportError):
            raise  # no fault of the row: memory may suffice for a smaller batch
        except (Exception, SystemExit) as error:
            return {"fault": _message(error)}


def _digest(values: Sequence[pa.Scalar], constants: Sequence[Any]) -> str:
    """A digest of what the function receives."""
    digest = Digest()
    for value in values:
        text = value.as_buffer() if hasattr(value, "as_buffer") else repr(value.as_py()).encode()
        digest.update(b"%d " % len(text))
        digest.update(text)
    digest.update(repr(constants).encode())
    return digest.hexdigest()


def too_slow(seconds: float) -> str:
    """The reason of a row that took too long."""
    return f"took longer than {seconds:g} seconds (time limit of the step)"


def _message(error: BaseException) -> str:
    text = " ".join(str(error).split())[:_SHOWN]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _array(rows: Sequence[dict[str, Any] | None], kind: pa.DataType) -> pa.Array:
    """The results as an array; one that does not fit its type, such as a text with half a surrogate pair, is a fault."""
    try:
        array = _of_texts(rows, kind)
        return pa.array(rows, kind) if array is None else array
    except (pa.ArrowException, UnicodeError, ValueError, TypeError, OverflowError) as error:
        if len(rows) == 1:
            return pa.array([{"fault": _message(error)}], kind)
        return pa.concat_arrays([_array([row], kind) for row in rows])


def _of_texts(rows: Sequence[dict[str, Any] | None], kind: pa.DataType) -> pa.Array | None:
    """The results as an array where all of their fields are texts, else None; Arrow would import pandas for it."""
    if not isinstance(kind, pa.StructType):
        return None
    fields = [kind.field(number) for number in range(kind.num_fields)]
    if not all(pa.types.is_string(field.type) for field in fields):
        return None
    columns = {field.name: [None if row is None else row.get(field.name) for row in rows] for field in fields}
    if not all(value is None or isinstance(value, str) for column in columns.values() for value in column):
        return None
    valid = np.fromiter((row is not None for row in rows), np.bool_, len(rows))
    return structs(valid, **{name: of_texts(column).cast(pa.string()) for name, column in columns.items()})
