"""Columns of typed files, and the schema that they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from refinery.errors import DataError
from refinery.io.column_types import known_kind
from refinery.io.model import Partitions, Source
from refinery.io.objects import footer, mapped, open_exactly
from refinery.io.partitions import with_columns
from refinery.io.text_columns import Keys, read_anew, with_texts
from refinery.storage.urls import is_url

TEXT = pa.schema([("text", pa.string())])


def common_schema(sources: Sequence[Source], known: Mapping[str, pa.Schema] = MappingProxyType({})) -> pa.Schema:
    """The columns of all files' samples: those of every file, types widened where files differ.

    known: columns of files that need not be opened, by path. Raises DataError naming two files whose types for a column
    do not fit together.
    """
    merged: pa.Schema | None = None
    seen: list[tuple[Source, pa.Schema]] = []
    for source in sources:
        schema = known[source.path] if source.path in known else schema_of(source)
        if len(schema) == 0:
            continue
        if merged is None or schema.equals(merged):
            merged = schema if merged is None else merged
            seen = seen or [(source, schema)]
            continue
        merged = _merge(merged, schema, source, seen)
        seen.append((source, schema))
    return pa.schema([]) if merged is None else merged


def _merge(merged: pa.Schema, schema: pa.Schema, source: Source, seen: Sequence[tuple[Source, pa.Schema]]) -> pa.Schema:
    for prepare in (lambda found: found, _plain):
        try:
            return pa.unify_schemas([prepare(merged), prepare(schema)], promote_options="permissive")
        except pa.ArrowException:
            continue
    for name in schema.names:
        for other, known in seen:
            if name in known.names:
                kinds = known.field(name).type, schema.field(name).type
                try:
                    pa.unify_schemas([pa.schema([(name, kind)]) for kind in kinds], promote_options="permissive")
                except pa.ArrowException:
                    raise DataError(
                        f"column {name!r} is {kinds[0]} in {other.path}, but {kinds[1]} in {source.path}. "
                        "Give it one type, or convert one of the files to JSON Lines, where types may differ"
                    ) from None
    raise DataError(f"{source.path}: its columns do not fit those of the files before it")


def _plain(schema: pa.Schema) -> pa.Schema:
    """Dictionaries as their values, because only these merge with plain columns."""
    return pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema])


def schema_of(source: Source) -> pa.Schema:
    """The columns of one file and its partitions; none for an empty file. Raises DataError for another format."""
    found = _own_schema(source)
    return with_columns(found.empty_table(), source.partitions).schema if source.partitions and len(found) else found


def partitions_beside(source: Source) -> Partitions:
    """The partitions of a file that are no columns of it; for lines all partitions."""
    if not source.partitions or source.format in ("jsonl", "json"):
        return source.partitions
    own = {name.lower() for name in _own_schema(source).names}
    return tuple(pair for pair in source.partitions if pair[0].lower() not in own)


def _own_schema(source: Source) -> pa.Schema:
    if source.format == "text":
        return TEXT
    if source.format in ("csv", "tsv"):
        from refinery.io.readers.delimited import survey

        return survey(source)[0]
    return with_texts(_of_table(source), source.texts)


def texts_anew(source: Source) -> list[tuple[Keys, bool]]:
    """The fields of a table that are read as text but have another type in it; each with True if they hold bytes."""
    if source.format not in ("parquet", "arrow") or not source.texts:
        return []
    return read_anew(_of_table(source), source.texts)


def _of_table(source: Source) -> pa.Schema:
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


def row_groups(source: Source) -> list[tuple[int, int]]:
    """Rows and uncompressed bytes of each row group, or record batch."""
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
