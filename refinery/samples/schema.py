"""The columns of typed files, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from refinery.errors import DataError
from refinery.samples.sources import Source

TEXT = pa.schema([("text", pa.string())])


def common_schema(sources: Sequence[Source]) -> pa.Schema:
    """The columns that all files' samples get: those of every file, types widened where files differ.

    Raises DataError naming two files whose types for a column do not fit together.
    """
    merged: pa.Schema | None = None
    seen: list[tuple[Source, pa.Schema]] = []
    for source in sources:
        schema = schema_of(source)
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
    """Dictionaries as the texts they stand for, views as plain texts: kinds that do not merge with others."""
    fields = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = pa.large_string() if pa.types.is_string_view(kind) else kind
        fields.append(field.with_type(kind))
    return pa.schema(fields)


def schema_of(source: Source) -> pa.Schema:
    """The columns of one file; none for an empty one. Raises DataError when it is not what its name says."""
    if source.format == "text":
        return TEXT
    if source.format in ("csv", "tsv"):
        from refinery.samples.read_csv import infer

        return infer(source)
    with open_table(source) as reader:
        schema = reader.schema_arrow if source.format == "parquet" else reader.schema
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1}) if len(set(schema.names)) < len(schema) else []
    if twice:
        raise DataError(f"{source.path}: two columns are named {twice[0]!r}. Rename one of them")
    # What other libraries note about the whole table (an index, their own types) is not true of the results.
    return schema.remove_metadata()


def open_table(source: Source):  # type: ignore[no-untyped-def]
    """A ParquetFile, or a reader of record batches from an Arrow file or stream."""
    import pyarrow.parquet as pq

    try:
        if source.format == "parquet":
            return pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20)
        try:
            return pa.ipc.open_file(pa.memory_map(source.path))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.memory_map(source.path))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source.path}: no readable {source.format} file ({error})") from error


def row_groups(source: Source) -> list[tuple[int, int]]:
    """Rows and uncompressed bytes of each row group, or record batch."""
    with open_table(source) as reader:
        if source.format == "parquet":
            groups = (reader.metadata.row_group(i) for i in range(reader.metadata.num_row_groups))
            return [(group.num_rows, group.total_byte_size) for group in groups]
        return [(batch.num_rows, batch.nbytes) for batch in record_batches(reader)]


def record_batches(reader) -> Iterator[pa.RecordBatch]:  # type: ignore[no-untyped-def]
    """The record batches of an Arrow file or stream."""
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from reader


def conform(table: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """The table with exactly the schema's columns; NULL in those that the file lacks."""
    if table.schema.equals(schema):
        return table
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(len(table), field.type)]))
            continue
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise DataError(f"{path}: column {field.name!r} does not fit the other files' {field.type}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)
