"""The Arrow types in which a function may return values of the type that its header declares."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
from pyarrow import types

from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident
from refinery.errors import OperatorError
from refinery.operators import Function

Test = Callable[[pa.DataType], bool]

_TEXTS: tuple[Test, ...] = (types.is_string, types.is_large_string, types.is_string_view)
_BYTES: tuple[Test, ...] = (
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_fixed_size_binary,
)
_LISTS: tuple[Test, ...] = (types.is_list, types.is_large_list, types.is_list_view, types.is_large_list_view)
_NUMBERS: tuple[Test, ...] = (types.is_integer, types.is_floating, types.is_decimal)

# Tests of a declared type, with tests of the types that may hold its values; nested types have rules of their own.
_FAMILIES: tuple[tuple[Test, tuple[Test, ...]], ...] = (
    (types.is_boolean, (types.is_boolean,)),
    (types.is_integer, (types.is_integer, types.is_floating)),  # pandas has floats beside a NaN
    (types.is_floating, _NUMBERS),
    (types.is_decimal, (types.is_decimal, types.is_integer)),
    (types.is_string, _TEXTS),
    (types.is_dictionary, _TEXTS),  # an ENUM
    (types.is_binary, _BYTES),
    (types.is_date, (types.is_date,)),
    (types.is_time, (types.is_time,)),
)


def declared_type(function: Function) -> pa.DataType:
    """Arrow type that a function declares to return. Raises OperatorError when DuckDB knows no such type."""
    try:
        return _arrow_type(function.returns)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise OperatorError(
            f"{function.path}: {function.name}: returns {function.returns!r} is no type of DuckDB: {reason}"
        ) from None


_PLAIN = {
    "BIGINT": pa.int64(),
    "BLOB": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "INTEGER": pa.int32(),
    "UBIGINT": pa.uint64(),
    "VARCHAR": pa.string(),
}
_STRUCT = re.compile(r"STRUCT\((\w+ \w+(?:\[\])?(?:, \w+ \w+(?:\[\])?)*)\)")


def _plain_type(declared: str) -> pa.DataType | None:
    """Arrow type of a frequent declaration: a plain type, a list of it, a structure of these; None for any other."""
    if (match := _STRUCT.fullmatch(declared)) is not None:
        members = [member.split(" ") for member in match[1].split(", ")]
        kinds = [_plain_type(kind) for _, kind in members]
        named = {name for name, _ in members if ident(name) == name}  # neither keywords nor upper case
        whole = len(named) == len(members) and None not in kinds
        return pa.struct([(name, kind) for (name, _), kind in zip(members, kinds, strict=True)]) if whole else None
    kind = _PLAIN.get(declared.removesuffix("[]"))
    return pa.list_(pa.field("l", kind)) if kind is not None and declared.endswith("[]") else kind


@lru_cache(maxsize=256)
def _arrow_type(declared: str) -> pa.DataType:
    if (plain := _plain_type(declared)) is not None:
        return plain
    with _database().cursor() as con:
        return con.sql(f"SELECT CAST(NULL AS {declared}) AS v").to_arrow_table().schema.field("v").type


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    """A database for types alone: opening one takes as long as a small shard."""
    return duckdb.connect(config={"threads": 1})


def any_of(tests: tuple[Test, ...], kind: pa.DataType) -> bool:
    """Return whether one of the tests holds for a type."""
    return any(test(kind) for test in tests)


def same(actual: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether DuckDB reads the type without a cast: names of list items and widths of offsets do not count."""
    if actual == wanted or types.is_null(actual):
        return True
    if types.is_string(wanted):
        return any_of(_TEXTS, actual)
    if types.is_binary(wanted):
        return types.is_large_binary(actual)
    if types.is_list(wanted):
        plain = types.is_list(actual) or types.is_large_list(actual)
        return plain and same(actual.value_type, wanted.value_type)
    if types.is_struct(wanted) and types.is_struct(actual):
        return _names(actual) == _names(wanted) and all(
            same(actual.field(number).type, wanted.field(number).type) for number in range(wanted.num_fields)
        )
    return False


@lru_cache(maxsize=256)
def acceptable(actual: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values of a type may stand for the declared type; each value must still fit."""
    if actual == wanted or types.is_null(actual):
        return True
    if types.is_struct(wanted):
        return (
            types.is_struct(actual)
            and sorted(_names(actual)) == sorted(_names(wanted))
            and all(acceptable(actual.field(name).type, wanted.field(name).type) for name in _names(wanted))
        )
    if types.is_map(wanted) or types.is_map(actual):
        maps = types.is_map(wanted) and types.is_map(actual)
        return maps and acceptable(actual.key_type, wanted.key_type) and acceptable(actual.item_type, wanted.item_type)
    if types.is_list(wanted) or types.is_fixed_size_list(wanted):
        lists = any_of((*_LISTS, types.is_fixed_size_list), actual)
        return lists and acceptable(actual.value_type, wanted.value_type)
    if types.is_timestamp(wanted):
        return types.is_timestamp(actual) and (actual.tz is None) == (wanted.tz is None)
    return any(test(wanted) and any_of(tests, actual) for test, tests in _FAMILIES)


def _names(kind: pa.DataType) -> list[str]:
    return [kind.field(number).name for number in range(kind.num_fields)]
