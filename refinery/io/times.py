"""Times in tables that other formats cannot hold, found before they end a run somewhere else."""

from __future__ import annotations

import pyarrow as pa

from refinery.errors import DataError


def require_times(table: pa.Table, path: str) -> None:
    """Check that Parquet can hold all times of a table, as milliseconds at the coarsest. Raises DataError.

    Only costs time for columns with times in seconds, which only Arrow has.
    """
    for field, column in zip(table.schema, table.columns, strict=True):
        finer = _finer(field.type)
        if finer is None:
            continue
        try:
            column.cast(finer)
        except pa.ArrowInvalid as error:
            what = f"{path or 'dataset'}: column {field.name!r} holds a time that Parquet cannot ({error})"
            raise DataError(f"{what}. Correct such times, or store the column as numbers or texts") from error
        except pa.ArrowNotImplementedError:
            continue


def _finer(kind: pa.DataType) -> pa.DataType | None:
    """The type with milliseconds for seconds; None for a type without seconds."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ms", kind.tz) if kind.unit == "s" else None
    if pa.types.is_struct(kind):
        inner = [(field, _finer(field.type)) for field in kind]
        if all(finer is None for _, finer in inner):
            return None
        return pa.struct([field.with_type(finer or field.type) for field, finer in inner])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        finer = _finer(kind.value_type)
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(finer) if finer is not None else None
    return None
