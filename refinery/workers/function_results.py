"""Checks of a function's results, once per call: kind, length, type, and UTF-8 of texts.

A function that returns something else than its header declares ends the run (Contract.refuse): halving the batch would
reach calls whose length fits by chance. A single bad value raises, and costs its row (see `row_errors`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow import types

from refinery.common.lazy import pc
from refinery.common.version import PACKAGE
from refinery.errors import OperatorError
from refinery.kernels.core.library import MissingKernel
from refinery.operators import Function, shipped
from refinery.workers.function_result_types import acceptable, declared_type, same


class BadValue(ValueError):
    """A returned value of one row that is not of the declared type."""


class Contract:
    """First breach of a declaration on a connection, kept apart from DuckDB, which could reword or swallow it (TRY)."""

    def __init__(self) -> None:
        self._broken: OperatorError | None = None
        self._lock = threading.Lock()

    def refuse(self, error: OperatorError) -> NoReturn:
        """Raise an error that ends the run; the first error counts."""
        with self._lock:
            self._broken = self._broken or error
        raise error

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Run a statement. Raises OperatorError when a function broke its declaration, whatever the statement did."""
        try:
            yield
        finally:
            if self._broken is not None:
                raise self._broken from None


def checked(function: Function, run: Callable[..., Any], contract: Contract) -> Callable[..., pa.Array]:
    """Wrap a function so that its results are checked and converted to the declared type."""
    wanted, width, trusted = declared_type(function), len(function.columns), _trusted(function)

    def refuse(what: str) -> NoReturn:
        contract.refuse(OperatorError(f"{named(function)} {what}"))

    def call(*arguments: Any) -> pa.Array:
        try:
            answer = run(*arguments)
        except MissingKernel as error:  # the installation's fault, not the row's
            contract.refuse(error)
        if trusted and isinstance(answer, pa.Array) and len(answer) == len(arguments[0]) and same(answer.type, wanted):
            return answer
        array = _array(answer, wanted, function, refuse)
        if width and len(array) != len(arguments[0]):
            counts = f"{_values(len(array))} for {_rows(len(arguments[0]))}"
            refuse(f"returned {counts}; it must return one value for each row")
        if not acceptable(array.type, wanted):
            refuse(f"returned values of type {array.type}; {function.returns} is declared")
        _sound(array, refuse)
        return array if same(array.type, wanted) else _converted(array, wanted, function, refuse)

    return call


def _trusted(function: Function) -> bool:
    """Return whether the function is a kernel of refinery, which writes UTF-8: a check takes a millisecond for 3 MB."""
    ours = (shipped() / "udfs", PACKAGE)
    return bool(function.runs == "kernel" and function.columns and any(map(function.path.is_relative_to, ours)))


def named(function: Function) -> str:
    """The function's name in a message: operator, function, file."""
    return f"{function.path.stem}: the function {function.call} ({function.path})"


def _array(answer: Any, wanted: pa.DataType, function: Function, refuse: Callable[[str], NoReturn]) -> pa.Array:
    """The result of a function as one plain array; refuses results of an unclear kind."""
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks() if answer.num_chunks != 1 else answer.chunk(0)
    if isinstance(answer, (list, tuple)):
        return _of_values(answer, wanted, function)
    kind = getattr(answer, "dtype", None)
    if kind is not None and hasattr(answer, "__array__") and getattr(answer, "ndim", 1) == 1:
        if str(kind) == "object":
            return _of_values([None if _missing(value) else value for value in answer.tolist()], wanted, function)
        answer = pa.array(answer)
    if isinstance(answer, pa.ChunkedArray):
        answer = answer.combine_chunks()
    if not isinstance(answer, pa.Array):
        refuse(f"returned {_described(answer)}; it must return an Arrow array")
    return _plain(answer)


def _missing(value: Any) -> bool:
    """Return whether a value is a NULL of pandas."""
    return (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


def _described(answer: Any) -> str:
    if answer is None:
        return "None"
    if getattr(answer, "ndim", 1) != 1:
        return f"a {type(answer).__name__} of {answer.ndim} dimensions"
    return f"a value of type {type(answer).__module__}.{type(answer).__qualname__}".replace("builtins.", "")


def _plain(array: pa.Array) -> pa.Array:
    """The array without an encoding: dictionaries and runs are unpacked, extensions replaced by their storage."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def _of_values(values: Any, wanted: pa.DataType, function: Function) -> pa.Array:
    """Python values as an array of the declared type. Raises BadValue for a value of another type."""
    for value in values:
        if not _is(value, wanted):
            raise BadValue(f"{function.call} returned {_short(value)}; {function.returns} is declared")
    try:
        return pa.array(values, wanted.value_type if types.is_dictionary(wanted) else wanted)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise BadValue(f"{function.call} returned a value that is no {function.returns}: {error}") from None


def _is(value: Any, wanted: pa.DataType) -> bool:
    """Check a Python value's type strictly: Arrow would cut fractions, drop fields and take a text for a list."""
    truth = isinstance(value, (bool, np.bool_))
    if value is None or types.is_temporal(wanted):
        return True
    if types.is_boolean(wanted):
        return truth
    if types.is_integer(wanted):
        whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        return whole or (isinstance(value, (int, np.integer)) and not truth)
    if types.is_floating(wanted) or types.is_decimal(wanted):
        inexact = () if types.is_decimal(wanted) else (float, np.floating)
        return isinstance(value, (int, np.integer, Decimal, *inexact)) and not truth
    if types.is_string(wanted) or types.is_dictionary(wanted):
        return isinstance(value, str)
    if types.is_list(wanted) or types.is_fixed_size_list(wanted):
        return isinstance(value, (list, tuple, np.ndarray)) and all(_is(item, wanted.value_type) for item in value)
    if types.is_struct(wanted):
        fields = {wanted.field(number).name: wanted.field(number).type for number in range(wanted.num_fields)}
        same_names = isinstance(value, dict) and value.keys() == fields.keys()
        return same_names and all(_is(value[name], kind) for name, kind in fields.items())
    return True


def _sound(array: pa.Array, refuse: Callable[[str], NoReturn]) -> None:
    """Validate an array; refuses a corrupt one. Raises BadValue for a text that is not UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise BadValue(f"a text was returned that is not UTF-8: {error}") from None
        refuse(f"returned an array that does not hold together: {error}")


def _converted(array: pa.Array, wanted: pa.DataType, function: Function, refuse: Callable[[str], NoReturn]) -> pa.Array:
    """The array in the declared type. Raises BadValue for a value that does not fit."""
    if types.is_integer(wanted) and types.is_floating(array.type) and _has_fraction(array):
        refuse(f"returned fractions; {function.returns} is declared")
    try:
        return _cast(array, wanted)
    except pa.ArrowNotImplementedError:
        refuse(f"returned values of type {array.type}; {function.returns} is declared")
    except pa.ArrowInvalid as error:
        raise BadValue(f"{function.call} returned a value that is no {function.returns}: {error}") from None


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if types.is_dictionary(wanted):
        return array.cast(wanted.value_type)  # DuckDB looks up each text in its ENUM
    if not types.is_struct(wanted) or types.is_null(array.type):
        return array.cast(wanted)
    fields = [wanted.field(number) for number in range(wanted.num_fields)]
    parts = [_cast(array.field(field.name), field.type) for field in fields]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())


def _has_fraction(array: pa.Array) -> bool:
    finite = array.filter(pc.is_finite(array))
    return not pc.all(pc.equal(finite, pc.trunc(finite)), min_count=0).as_py()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
