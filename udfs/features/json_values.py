"""JSON values by what they say, not by how they are written: the order of members, and forms of numbers, decide nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import flags, ints, of_texts

FEATURE = {
    "doc": (
        "A JSON value in one form for all that are equal: integers exactly, other numbers as DOUBLE, those without a "
        "fraction like integers, members sorted; NULL for null. Fields of mixed types are read through it."
    ),
    "version": 1,
    "functions": {
        "json_by_value": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "kernel",  # about a microsecond per value: a process of its own would cost more
            "call": "by_value",
        },
        "json_key": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "keys",
        },
        "json_order": {
            "columns": ["VARCHAR", "VARCHAR"],
            "constants": [],
            "returns": "INTEGER",
            "runs": "kernel",
            "call": "order",
        },
        "json_fits": {
            "columns": ["VARCHAR", "VARCHAR"],
            "constants": [],
            "returns": "BOOLEAN",
            "runs": "kernel",
            "call": "fits",
        },
    },
    "sql": "json_by_value({{ text }})",
}

# Longest integer that Python reads.
_LONGEST = 4000


def by_value(column: pa.Array) -> pa.Array:
    """The form of each value that all equal values have; NULL for NULL and null."""
    return of_texts([None if text is None else form_of(text) for text in column.to_pylist()])


def keys(column: pa.Array) -> pa.Array:
    """The form of each value without members that are null; NULL for NULL and null."""
    return of_texts([None if text is None else _key(text) for text in column.to_pylist()])


def order(left: pa.Array, right: pa.Array) -> pa.Array:
    """-1, 0 or 1 where the left value is less, equal or greater; NULL beside NULL and null.

    Raises ValueError for values of two types, and for types without an order.
    """
    found = [_compared(*pair) for pair in zip(left.to_pylist(), right.to_pylist(), strict=True)]
    valid = np.array([value is not None for value in found], np.bool_)
    return ints(np.array([value or 0 for value in found], np.int32), valid)


def fits(value: pa.Array, converted: pa.Array) -> pa.Array:
    """Return whether a value that was converted to another type and back is still the same; members that are null do not count."""
    pairs = zip(value.to_pylist(), converted.to_pylist(), strict=True)
    return flags(np.array([_fits(*pair) for pair in pairs], np.bool_))


def form_of(text: str) -> str | None:
    """The form of one value."""
    if text.isdecimal() and text.isascii():
        return text
    value = _read(text)
    return None if value is None else _written(value)


def _key(text: str) -> str | None:
    value = _read(text)
    return None if value is None else _written(_without_null(value))


def _fits(value: str | None, converted: str | None) -> bool:
    if value is None or converted is None:
        return value is None or _read(value) is None
    return _written(_without_null(_read(value))) == _written(_without_null(_read(converted)))


def _compared(left: str | None, right: str | None) -> int | None:
    a, b = (None if text is None else _read(text) for text in (left, right))
    if a is None or b is None:
        return None
    if _kind(a) != _kind(b) or _kind(a) not in _ORDERED:
        raise ValueError(f"{_shown(left)} and {_shown(right)} have no order: one is {_kind(a)}, the other {_kind(b)}")
    return (a > b) - (a < b)


_KINDS: dict[type, str] = {bool: "a truth value", int: "a number", float: "a number", str: "a text", list: "a list"}
_ORDERED = {"a truth value", "a number", "a text"}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "an object")


def _shown(text: str | None) -> str:
    return f"{text[:40]}..." if text is not None and len(text) > 40 else str(text)


def _without_null(value: Any) -> Any:
    """The value without members that are null."""
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _read(text: str) -> Any:
    return _DECODER.decode(text)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) < _LONGEST else f"\0{digits}"


def _decimal(text: str) -> int | float | str:
    """A number with a fraction or an exponent: an integer if it is whole."""
    digits, _, fraction = text.partition(".")
    if fraction and not fraction.strip("0"):
        return _integer(digits)
    value = float(text)
    return int(value) if math.isfinite(value) and value == math.floor(value) else value


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_decimal)
