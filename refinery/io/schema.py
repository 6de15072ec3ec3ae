"""Columns of typed files, and the schema that they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from refinery.errors import DataError
from refinery.io.common_types import common_type
from refinery.io.model import Partitions, Source
from refinery.io.partitions import with_columns
from refinery.io.readers.registry import reader_of
from refinery.io.readers.table_files import known_columns
from refinery.io.text_columns import Keys, read_anew


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
    try:
        return _united(merged, schema)
    except pa.ArrowException:
        pass
    for field in schema:
        for other, known in seen:
            if field.name in known.names:
                _require_common(field, known.field(field.name), source, other)
    raise DataError(f"{source.path}: its columns do not fit the columns of the files before it")


def _united(one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The columns of both, in order. Raises ArrowException where types do not fit together."""
    for field in other:
        place = one.get_field_index(field.name)
        if place < 0:
            one = one.append(field)
        else:
            one = one.set(place, field.with_type(common_type(one.field(place).type, field.type)).with_nullable(True))
    return one


def _require_common(field: pa.Field, before: pa.Field, source: Source, other: Source) -> None:
    try:
        common_type(before.type, field.type)
    except pa.ArrowException:
        raise DataError(
            f"column {field.name!r} is {before.type} in {other.path}, but {field.type} in {source.path}. "
            "Give it one type, or convert one of the files to JSON Lines, where types may differ"
        ) from None


def schema_of(source: Source) -> pa.Schema:
    """The columns of one file and its partitions; none for an empty file. Raises DataError for another format."""
    schema = _own_schema(source)
    return with_columns(schema.empty_table(), source.partitions).schema if source.partitions and len(schema) else schema


def partitions_beside(source: Source) -> Partitions:
    """The partitions of a file that are no columns of it; for lines all partitions."""
    if not source.partitions or reader_of(source).lines:
        return source.partitions
    own = {name.lower() for name in _own_schema(source).names}
    return tuple(pair for pair in source.partitions if pair[0].lower() not in own)


def _own_schema(source: Source) -> pa.Schema:
    return reader_of(source).schema(source)


def texts_anew(source: Source) -> list[tuple[Keys, bool]]:
    """The fields of a table that are read as text but have another type in it; each with True if they hold bytes."""
    if not reader_of(source).by_rows or not source.texts:
        return []
    return read_anew(known_columns(source), source.texts)
