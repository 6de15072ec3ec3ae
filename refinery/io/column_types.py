"""Types of columns: map types that DuckDB does not know to types that it knows, or refuse them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from refinery.errors import DataError

# Digits of a decimal that DuckDB holds.
_DIGITS = 38

# Lists whose values stand in any order; Parquet's writer does not know them.
_VIEWS = (pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW)


def known_kind(kind: pa.DataType, column: str) -> pa.DataType:
    """The type that a column is read as: the same values, in a layout that DuckDB and all writers know.

    column: its name, with those of fields inside. Raises DataError, without the file's name, when there is none.
    """
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal256(kind):
        if kind.precision > _DIGITS:
            raise DataError(_refused(column, kind, f"decimal({_DIGITS}, {min(kind.scale, _DIGITS)}) or text"))
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_union(kind):
        raise DataError(_refused(column, kind, "a struct or text"))
    if pa.types.is_run_end_encoded(kind):
        return known_kind(kind.value_type, column)
    if pa.types.is_interval(kind) or (pa.types.is_struct(kind) and kind.num_fields == 0):
        raise DataError(f"column {column!r} is {kind}, which Parquet cannot hold. Leave the column out")
    if pa.types.is_timestamp(kind) and kind.tz:
        return _of_known_zone(kind, column)
    return _nested(kind, column) if pa.types.is_nested(kind) else kind


def _refused(column: str, kind: pa.DataType, cure: str) -> str:
    return f"column {column!r} is {kind}, which DuckDB has no type for. Write it as {cure}, or leave the column out"


def _of_known_zone(kind: pa.DataType, column: str) -> pa.DataType:
    try:
        pa.scalar(0, kind).as_py()
    except (pa.ArrowException, ValueError, KeyError) as error:
        cure = "Write it with UTC, or install the time zone data (tzdata)"
        raise DataError(f"column {column!r} has the time zone {kind.tz!r}, which is not known here. {cure}") from error
    return kind


def _nested(kind: pa.DataType, column: str) -> pa.DataType:
    """`known_kind` for the types inside of a list, struct or map."""
    if pa.types.is_struct(kind):
        twice = [name for name, count in Counter(field.name for field in kind).items() if count > 1]
        if twice:
            raise DataError(f"column {column!r} has two fields named {twice[0]!r}. Rename one of them")
        return pa.struct([field.with_type(known_kind(field.type, f"{column}.{field.name}")) for field in kind])
    if pa.types.is_map(kind):
        pair = known_kind(kind.key_type, column), known_kind(kind.item_type, column)
        return kind if pair == (kind.key_type, kind.item_type) else pa.map_(*pair)
    if kind.num_fields != 1:
        return kind
    inner = known_kind(kind.value_type, column)
    if inner == kind.value_type and kind.id not in _VIEWS:
        return kind
    field = kind.value_field.with_type(inner)
    if kind.id in _VIEWS:
        return pa.large_list(field)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(field, kind.list_size)
    return pa.large_list(field) if pa.types.is_large_list(kind) else pa.list_(field)
