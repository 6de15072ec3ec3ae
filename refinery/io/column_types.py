"""Types of columns: map types that DuckDB does not know to types that it knows, or refuse them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from refinery.errors import DataError
from refinery.io.layouts import DIGITS, plain_type


def known_kind(kind: pa.DataType, column: str) -> pa.DataType:
    """The type that a column is read as: that of the same values in a known layout, see `layouts`.

    column: its name, with those of fields inside. Raises DataError, without the file's name, when there is none.
    """
    _require_known(kind, column)
    return plain_type(kind)


def _require_known(kind: pa.DataType, column: str) -> None:
    """Raise DataError for a type, at any depth, that DuckDB or Parquet does not have."""
    if pa.types.is_decimal256(kind) and kind.precision > DIGITS:
        raise DataError(_refused(column, kind, f"decimal({DIGITS}, {min(kind.scale, DIGITS)}) or text"))
    if pa.types.is_union(kind):
        raise DataError(_refused(column, kind, "a struct or text"))
    if pa.types.is_interval(kind) or (pa.types.is_struct(kind) and kind.num_fields == 0):
        raise DataError(f"column {column!r} is {kind}, which Parquet cannot hold. Leave the column out")
    if pa.types.is_timestamp(kind) and kind.tz:
        _require_zone(kind, column)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        _require_known(kind.value_type, column)
    elif pa.types.is_nested(kind):
        _require_inside(kind, column)


def _refused(column: str, kind: pa.DataType, cure: str) -> str:
    return f"column {column!r} is {kind}, which DuckDB has no type for. Write it as {cure}, or leave the column out"


def _require_zone(kind: pa.DataType, column: str) -> None:
    try:
        pa.scalar(0, kind).as_py()
    except (pa.ArrowException, ValueError, KeyError) as error:
        cure = "Write it with UTC, or install the time zone data (tzdata)"
        raise DataError(f"column {column!r} has the time zone {kind.tz!r}, which is not known here. {cure}") from error


def _require_inside(kind: pa.DataType, column: str) -> None:
    """`_require_known` for the types inside of a list, struct or map."""
    if not pa.types.is_struct(kind):
        for field in (kind.field(place) for place in range(kind.num_fields)):
            _require_known(field.type, column)
        return
    twice = [name for name, count in Counter(field.name for field in kind).items() if count > 1]
    if twice:
        raise DataError(f"column {column!r} has two fields named {twice[0]!r}. Rename one of them")
    for field in kind:
        _require_known(field.type, f"{column}.{field.name}")
