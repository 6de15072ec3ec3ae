"""Frames of pandas and polars as Arrow tables. Errors of their libraries name the column and the cure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from refinery.errors import DataError

_CURE = "Give it values of one type, such as text, or leave it out"
# Types of polars that Arrow does not have: Python objects, and integers of 128 bits.
_UNKNOWN = ("Object", "Int128")


def from_pandas(frame: Any) -> pa.Table:
    """A frame without its index, which is no field of the samples. Raises DataError for a column without one type."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except Exception as error:
        raise _refused(_column_of(frame), error) from error


def _column_of(frame: Any) -> str | None:
    """The first column of a frame of pandas that Arrow refuses."""
    for place, name in enumerate(frame.columns):
        try:
            pa.Array.from_pandas(frame.iloc[:, place])
        except Exception:
            return str(name)
    return None


def _refused(column: str | None, error: Exception) -> DataError:
    what = str(error.args[0] if error.args else error).strip().partition("\n")[0].rstrip(".")
    if column is None:
        return DataError(f"dataset: the frame cannot be read as a table: {type(error).__name__}: {what}")
    return DataError(
        f"dataset: column {column!r} holds values of several types, or of one that is unknown: {what}. {_CURE}"
    )


def from_polars(frame: Any) -> pa.Table:
    """A frame of polars. Raises DataError for columns of Python objects."""
    _require_known(frame.schema)
    try:
        return pa.table(frame)
    except Exception as error:
        raise _refused(None, error) from error


def from_lazy_polars(frame: Any) -> Iterator[pa.Table]:
    """The tables of a lazy frame's result, in order."""
    _require_known(frame.collect_schema())
    streamed: Callable[..., Iterable[Any]] | None = getattr(frame, "collect_batches", None)
    return map(from_polars, streamed(maintain_order=True) if streamed is not None else [frame.collect()])


def _require_known(schema: Mapping[str, Any]) -> None:
    for name, kind in schema.items():
        if any(unknown in str(kind) for unknown in _UNKNOWN):
            what = f"is polars' {kind}, which tables of Arrow do not have"
            raise DataError(f"dataset: column {name!r} {what}. {_CURE}")
