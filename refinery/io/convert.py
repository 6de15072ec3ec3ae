"""Tables as JSON lines: for inputs of mixed formats, and for results written as JSON."""

from __future__ import annotations

import warnings
from datetime import datetime
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.duckdb_facts import settings
from refinery.errors import DataError
from refinery.io.batch import LINE, Batch, as_json
from refinery.kernels.core.arrow import from_zero, whole


class Converter:
    """Converts rows to JSON objects with a DuckDB connection of its own."""

    def __init__(self) -> None:
        self.con = connect(threads=1)
        self.con.execute(settings.LARGE_TEXTS).fetchall()

    def __enter__(self) -> Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def as_lines(self, batch: Batch) -> Batch:
        """The same samples as JSON lines."""
        table = pa.table({LINE: self.lines(batch.table)})
        return Batch(True, table, batch.rows, batch.line_numbers, batch.bad, batch.lines_seen, batch.origins)

    def lines(self, table: pa.Table) -> pa.Array:
        """Each row as a JSON object and a line feed: every column, in order, NULL as null, times as in ISO 8601."""
        columns = [_readable(*item) for item in zip(table.column_names, table.columns, strict=True)]
        names = [f"c{i}" for i in range(len(columns))]
        plain = from_zero(pa.table(dict(zip(names, columns, strict=True))))
        pairs = ", ".join(f"{_quoted(key)}, {name}" for key, name in zip(table.column_names, names, strict=True))
        if any("\0" in name for name in table.column_names):  # no SQL literal can hold NUL
            return _by_python(table)
        return self._written(table, plain, f"SELECT json_object({pairs})::VARCHAR || chr(10) AS line FROM _rows")

    def _written(self, table: pa.Table, plain: pa.Table, sql: str) -> pa.Array:
        """The rows by `sql`; rows that DuckDB refuses (a map with a key twice) are written one by one by Python."""
        import duckdb

        try:
            self.con.register("_rows", plain)
            lines = self.con.sql(sql).to_arrow_table()["line"].cast(pa.large_string())
            return whole(lines)
        except duckdb.Error:
            if len(table) < 2:
                return _by_python(table)
        finally:
            self.con.unregister("_rows")
        half = len(table) // 2
        parts = [self._written(table.slice(*part), from_zero(plain.slice(*part)), sql) for part in ((0, half), (half,))]
        return pa.concat_arrays(parts)


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _by_python(table: pa.Table) -> pa.Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a key twice in a map: the last one counts, as in JSON
        rows = table.to_pylist(maps_as_pydicts="lossy")
    return pa.array([as_json(row).decode() + "\n" for row in rows], pa.large_string())


def _readable(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with timestamps, at any depth, as texts of Python's isoformat; other columns unchanged.

    Raises DataError for a year that Python does not have.
    """
    if not _has_time(column.type):
        return column
    try:
        values = [_iso(value) for value in column.to_pylist()]
    except (OverflowError, ValueError) as error:
        what = f"column {name!r} holds a time that JSON lines cannot: its year is not one of 1 to 9999"
        raise DataError(f"{what}. Correct such times, or export as Parquet") from error
    return pa.chunked_array([pa.array(values, _iso_type(column.type))])


def _has_time(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return True
    return any(_has_time(kind.field(i).type) for i in range(kind.num_fields))


def _iso_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_iso_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_iso_type(kind.key_type), _iso_type(kind.item_type))
    if pa.types.is_nested(kind):
        return pa.large_list(_iso_type(kind.value_type))
    return kind


def _iso(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _iso(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_iso(item) for item in value)
    return value.isoformat() if isinstance(value, datetime) else value
