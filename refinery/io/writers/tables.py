"""Results as Parquet, and tables as JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.lazy import pq
from refinery.errors import OutputError
from refinery.io.batch import LINE
from refinery.io.conform import conform
from refinery.io.convert import Converter
from refinery.io.limits import ReadLimits
from refinery.io.model import Source, Written
from refinery.io.readers.json_lines import read_lines
from refinery.io.writers.temp_files import aside_of
from refinery.io.writers.write import ROW_GROUP, parquet_writer, writing

_MOST_COLUMNS = 20_000
_INTEGERS = ("UBIGINT", "BIGINT", "HUGEINT")

Names = Callable[[int], list[str]]


def table_to_lines(part: str, target: str) -> str:
    """Write a Parquet part as JSON lines."""
    with Converter() as converter, open(target, "wb") as file:
        for table in _tables_of(part):
            lines = converter.lines(table)
            data = lines.buffers()[2]
            if len(lines) and data is not None:
                wide = 8 if pa.types.is_large_string(lines.type) else 4
                offsets = memoryview(lines.buffers()[1]).cast("q" if wide == 8 else "i")
                file.write(memoryview(data)[offsets[lines.offset] : offsets[lines.offset + len(lines)]])
    return target


def export_parquet(parts: Sequence[str], lines: bool, workers: int, targets: Names, shard_size: int) -> list[Written]:
    """Write parts to one Parquet file, or to several with about the same number of rows."""
    if not lines:
        # A part without rows knows less of the types of columns that were added to it.
        schemas = [pq.read_schema(part).remove_metadata() for part in parts]
        schema = pa.unify_schemas(schemas, promote_options="permissive") if parts else pa.schema([])
        metadata = [pq.read_metadata(part) for part in parts]
        rows = sum(found.num_rows for found in metadata)
        size = sum(found.row_group(i).total_byte_size for found in metadata for i in range(found.num_row_groups))
        tables = (conform(table, schema, "a part") for table in _in_order(parts, _tables_of, workers))
        return _write(tables, schema, rows, size, targets, shard_size)
    structure, rows, size = _structure(parts, workers)
    wide: set[str] = set()
    while True:
        schema = pa.schema([(name, _arrow(kind, name in wide)) for name, kind in structure.items()])
        read = partial(_parse, structure=structure, schema=schema)
        try:
            return _write(_in_order(parts, read, workers), schema, rows, size, targets, shard_size)
        except _TooWide as error:
            wide.add(error.column)


def _in_order(parts: Sequence[str], read: Callable[[str], Iterator[pa.Table]], workers: int) -> Iterator[pa.Table]:
    """The tables of all parts, with some parts read ahead."""

    def whole(part: str) -> list[pa.Table]:
        return list(read(part))

    with ThreadPoolExecutor(max(1, workers)) as pool:
        ahead = [pool.submit(whole, part) for part in parts[:workers]]
        for k in range(len(parts)):
            yield from ahead.pop(0).result()
            if k + workers < len(parts):
                ahead.append(pool.submit(whole, parts[k + workers]))


def _tables_of(part: str) -> Iterator[pa.Table]:
    with pq.ParquetFile(part, pre_buffer=False, buffer_size=1 << 20) as file:
        for i in range(file.num_row_groups):
            yield file.read_row_group(i, use_threads=False)


def _write(
    tables: Iterator[pa.Table], schema: pa.Schema, rows: int, size: int, targets: Names, shard_size: int
) -> list[Written]:
    """Write tables to files of equal numbers of rows; the first files have one row more if needed."""
    count = max(1, min(int(size / shard_size) + 1, rows)) if shard_size > 0 else 0
    paths = targets(count)
    share, more = divmod(rows, len(paths))
    written = []
    rest: pa.Table = schema.empty_table()
    for k, path in enumerate(paths):
        goal = share + (k < more) if count else None
        done, rest = _write_file(path, schema, tables, rest, goal)
        written.append(done)
    return written


def _write_file(
    path: str, schema: pa.Schema, tables: Iterator[pa.Table], rest: pa.Table, goal: int | None
) -> tuple[Written, pa.Table]:
    """Write `goal` rows (None: all) to one file; returns the rest of the last table, too."""
    aside = aside_of(path)
    rows = size = 0
    pending: list[pa.Table] = []
    try:
        with writing(path), parquet_writer(Path(aside), schema, "zstd") as writer:
            while goal is None or rows < goal:
                table = rest if len(rest) else next(tables, None)
                if table is None:
                    break
                take = len(table) if goal is None else min(len(table), goal - rows)
                piece, rest = table.slice(0, take), table.slice(take)
                rows += take
                size += piece.nbytes
                pending.append(piece)
                if size >= ROW_GROUP:
                    writer.write_table(pa.concat_tables(pending), row_group_size=1 << 30)
                    pending, size = [], 0
            if pending:
                writer.write_table(pa.concat_tables(pending), row_group_size=1 << 30)
        with writing(path):
            os.replace(aside, path)
            return Written(path, rows, os.path.getsize(path)), rest
    finally:
        Path(aside).unlink(missing_ok=True)


# JSON lines as tables


class _TooWide(Exception):
    """A number in this column does not fit 64 bits with a sign."""

    def __init__(self, column: str) -> None:
        self.column = column


def _source(part: str) -> Source:
    compression = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(part)[1])
    return Source(part, "jsonl", compression, ".jsonl", os.path.getsize(part))


def _columns(part: str) -> Iterator[pa.Table]:
    for batch in read_lines(_source(part), 0, -1, ReadLimits(rows=1 << 16, line=1 << 40, check=False)):
        if len(batch):
            yield batch.table


def _converted(part: str) -> Iterator[tuple[Converter, pa.Table]]:
    """Lines of a part in batches, with a converter for them; a part without lines has none, as one takes its time."""
    tables = _columns(part)
    first = next(tables, None)
    if first is None:
        return
    with Converter() as converter:
        for table in chain((first,), tables):
            converter.con.register("lines", table)
            yield converter, table


def _structure(parts: Sequence[str], workers: int) -> tuple[dict[str, Any], int, int]:
    """Names and types of the members of all lines, the number of lines, and their bytes."""

    def of_part(part: str) -> tuple[Any, int, int]:
        found: Any = {}
        rows = size = 0
        for converter, table in _converted(part):
            sql = f"SELECT json_group_structure({LINE}::JSON)::VARCHAR FROM lines"
            [(text,)] = converter.con.execute(sql).fetchall()
            found = _merge(found, json.loads(text))
            rows += len(table)
            size += table.nbytes
        return found, rows, size

    merged: Any = {}
    total = total_size = 0
    with ThreadPoolExecutor(max(1, workers)) as pool:
        for found, rows, size in pool.map(of_part, parts):
            merged = _merge(merged, found)
            total += rows
            total_size += size
    if len(merged) > _MOST_COLUMNS:
        raise OutputError(
            f"the results have {len(merged)} different fields, too many for columns. Export them as jsonl, "
            "which does not need the same fields in every row"
        )
    return merged, total, total_size


def _merge(one: Any, two: Any) -> Any:
    """The type for values of both; types are DuckDB's names, objects for structs, [type] for lists."""
    if one == two or two == "NULL":
        return one
    if one == "NULL":
        return two
    if isinstance(one, dict) and isinstance(two, dict):
        return {**one, **{name: _merge(one.get(name, "NULL"), kind) for name, kind in two.items()}}
    if isinstance(one, list) and isinstance(two, list):
        return [_merge(one[0], two[0])]
    numbers = (*_INTEGERS, "DOUBLE")
    if one in numbers and two in numbers:
        return "DOUBLE" if "DOUBLE" in (one, two) else "HUGEINT"
    return "JSON"


def _arrow(kind: Any, wide: bool) -> pa.DataType:
    """The Arrow type of a column. wide: a whole number in it does not fit int64."""
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(inner, wide)) for name, inner in kind.items()])
    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0], wide))
    if kind in _INTEGERS:
        return (pa.uint64() if kind == "UBIGINT" else pa.float64()) if wide else pa.int64()
    return {"BOOLEAN": pa.bool_(), "DOUBLE": pa.float64()}.get(kind, pa.string())


def _parse(part: str, structure: dict[str, Any], schema: pa.Schema) -> Iterator[pa.Table]:
    """The lines of a part as columns."""
    import duckdb

    if not structure:
        for table in _columns(part):
            yield pa.table({"": pa.nulls(len(table))}).select([])
        return
    # Whole numbers are read wide and narrowed here: DuckDB would make NULL of a number that does not fit.
    text = json.dumps(_widest(structure), ensure_ascii=False).replace("'", "''")
    for converter, table in _converted(part):
        try:
            found = converter.con.sql(f"SELECT UNNEST(from_json({LINE}, '{text}')) FROM lines").to_arrow_table()
        except duckdb.Error:  # names that differ in letter case alone
            found = None
        yield _narrow(found, schema) if found is not None else _parse_slowly(table, structure, schema)


def _widest(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {name: _widest(inner) for name, inner in kind.items()}
    if isinstance(kind, list):
        return [_widest(kind[0])]
    return "HUGEINT" if kind in _INTEGERS else "VARCHAR" if kind == "NULL" else kind


def _narrow(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = []
    for column, field in zip(table.columns, schema, strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowInvalid:
            raise _TooWide(field.name) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _parse_slowly(lines: pa.Table, structure: dict[str, Any], schema: pa.Schema) -> pa.Table:
    rows = [json.loads(line) for line in lines[LINE].to_pylist()]
    columns = []
    for field in schema:
        values = [_fit(row.get(field.name), structure[field.name]) for row in rows]
        try:
            columns.append(pa.array(values, field.type))
        except (pa.ArrowInvalid, OverflowError):
            raise _TooWide(field.name) from None
    return pa.Table.from_arrays(columns, schema=schema)


def _fit(value: Any, kind: Any) -> Any:
    """A JSON value in the column's type: values without a common type stay JSON text."""
    if value is None:
        return None
    if isinstance(kind, dict):
        return {name: _fit(value.get(name), inner) for name, inner in kind.items()}
    if isinstance(kind, list):
        return [_fit(item, kind[0]) for item in value]
    if kind == "JSON":
        return json.dumps(value, ensure_ascii=False)
    return float(value) if kind == "DOUBLE" else value
