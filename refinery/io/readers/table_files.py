"""Open Parquet and Arrow files, of this machine or at URLs: columns, groups of rows, record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from refinery.errors import DataError
from refinery.io.column_types import known_kind
from refinery.io.model import Source
from refinery.io.objects import footer, mapped, open_exactly
from refinery.storage.urls import is_url

# Files whose groups of rows are known.
_KNOWN = 1 << 16


def known_columns(source: Source) -> pa.Schema:
    """The columns of a table, of types that DuckDB knows. Raises DataError."""
    schema = _columns(source)
    seen: set[str] = set()
    for name in schema.names:
        if name in seen:
            raise DataError(f"{source.path}: two columns are named {name!r}. Rename one of them")
        seen.add(name)
    # Other libraries' metadata of the whole table (an index, their own types) is not true of the results.
    try:
        return pa.schema([field.with_type(known_kind(field.type, field.name)) for field in schema])
    except DataError as error:
        raise DataError(f"{source.path}: {error}") from error


def _columns(source: Source) -> pa.Schema:
    """The columns of a table with their own types. Raises DataError."""
    if source.format == "parquet" and is_url(source.path):
        return _footer(source)[1]
    with open_table(source) as reader:
        return reader.schema_arrow if source.format == "parquet" else reader.schema


def _footer(source: Source) -> tuple[Any, pa.Schema]:
    try:
        return footer(source)
    except pa.ArrowException as error:
        raise DataError(f"{source.path}: no readable {source.format} file ({error})") from error


class _InMemory:
    """A table in the shape of a reader of record batches."""

    def __init__(self, table: pa.Table) -> None:
        self.schema = table.schema
        self._table = table

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._table.to_batches())

    def __enter__(self) -> _InMemory:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""


def open_table(source: Source) -> Any:
    """A ParquetFile, or a reader of record batches."""
    import pyarrow.parquet as pq

    if source.table is not None:
        return _InMemory(source.table)
    try:
        if is_url(source.path):
            return _open_object(source)
        if source.format == "parquet":
            return pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)
        try:
            return pa.ipc.open_file(pa.memory_map(source.path))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.memory_map(source.path))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source.path}: no readable {source.format} file ({error})") from error


def _open_object(source: Source) -> Any:
    """As `open_table`, for an object at a URL: only the needed parts of a Parquet file are read, all at once."""
    import pyarrow.parquet as pq

    if source.format == "parquet":
        metadata, _ = footer(source)
        return pq.ParquetFile(open_exactly(source), metadata=metadata, pre_buffer=True, page_checksum_verification=True)
    data = mapped(source)
    try:
        return pa.ipc.open_file(data)
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(data)


def row_groups(source: Source) -> Sequence[tuple[int, int]]:
    """Rows and uncompressed bytes of each row group, or record batch. Raises DataError."""
    if source.table is not None:
        return _row_groups(source)
    try:
        return _known_groups(source, source.state())
    except OSError as error:
        raise DataError(f"{source.path}: {error.strerror or error}") from error


@lru_cache(maxsize=_KNOWN)
def _known_groups(source: Source, state: tuple[str, int, int | str]) -> Sequence[tuple[int, int]]:
    """The row groups of a file in this state."""
    return tuple(_row_groups(source))


def _row_groups(source: Source) -> list[tuple[int, int]]:
    if source.format == "parquet" and is_url(source.path):
        metadata, _ = _footer(source)
        groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]
    with open_table(source) as reader:
        if source.format == "parquet":
            groups = (reader.metadata.row_group(i) for i in range(reader.metadata.num_row_groups))
            return [(group.num_rows, group.total_byte_size) for group in groups]
        return [(batch.num_rows, batch.nbytes) for batch in record_batches(reader)]


def record_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    """The record batches of an Arrow file or stream."""
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from reader
