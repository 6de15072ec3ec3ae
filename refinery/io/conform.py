"""Fit tables of single files to the common schema of all files."""

from __future__ import annotations

import pyarrow as pa

from refinery.errors import DataError
from refinery.io.model import Partitions
from refinery.io.partitions import with_columns
from refinery.io.text_columns import cast_to


def conform(table: pa.Table, schema: pa.Schema, path: str, partitions: Partitions = ()) -> pa.Table:
    """The table of a file with its partitions and exactly the schema's columns; missing columns are NULL."""
    table = with_columns(table, partitions)
    if table.schema.equals(schema):
        return table.replace_schema_metadata(None)
    columns = []
    known = dict(zip(table.column_names, table.columns, strict=True))
    for field in schema:
        if field.name not in known:
            columns.append(pa.chunked_array([pa.nulls(len(table), field.type)]))
            continue
        try:
            columns.append(cast_to(known[field.name], field.type))
        except pa.ArrowException as error:
            what = f"column {field.name!r} does not fit the other files' {field.type}: {error}"
            raise DataError(f"{path}: {what}") from error
    return pa.Table.from_arrays(columns, schema=schema)
