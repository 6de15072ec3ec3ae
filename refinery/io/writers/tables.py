"""Results as Parquet, and tables as JSON lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from refinery.common.field_profile import InputProfile
from refinery.common.lazy import pq
from refinery.errors import OutputError
from refinery.io.batch import LINE
from refinery.io.conform import conform
from refinery.io.convert import Converter
from refinery.io.field_scan import FieldScan
from refinery.io.json_columns import JsonColumns, mixed_note
from refinery.io.limits import ReadLimits
from refinery.io.model import Source, Written
from refinery.io.readers.json_lines import read_lines
from refinery.io.writers.model import ExportJob
from refinery.io.writers.temp_files import aside_of
from refinery.io.writers.write import ROW_GROUP, parquet_writer, writing
from refinery.kernels.core.arrow import texts

_MOST_COLUMNS = 20_000

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


def export_parquet(job: ExportJob) -> list[Written]:
    """Write parts to one Parquet file, or to several with about the same number of rows."""
    parts, workers, targets, shard_size = job.parts, job.workers, job.targets, job.shard_size
    if not job.lines:
        # A part without rows knows less of the types of columns that were added to it.
        schemas = [pq.read_schema(part).remove_metadata() for part in parts]
        schema = pa.unify_schemas(schemas, promote_options="permissive") if parts else pa.schema([])
        metadata = [pq.read_metadata(part) for part in parts]
        rows = sum(footer.num_rows for footer in metadata)
        size = sum(footer.row_group(i).total_byte_size for footer in metadata for i in range(footer.num_row_groups))
        tables = (conform(table, schema, "a part") for table in _in_order(parts, _tables_of, workers))
        return _write(tables, schema, rows, size, targets, shard_size)
    columns, rows, size = _columns_of(job)
    if job.note is not None and (note := mixed_note(columns, targets(0)[0])):
        job.note(note)
    read = partial(_parsed, columns=columns)
    return _write(_in_order(parts, read, workers), columns.schema, rows, size, targets, shard_size)


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


def tables_of_part(part: str, lines: bool) -> Iterator[pa.Table]:
    """The samples of a part. lines: they are JSON lines, of a column `_line`."""
    return _lines_of(part) if lines else _tables_of(part)


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
        with writing(path), parquet_writer(Path(aside), schema, "zstd", lasting=True) as writer:
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


def profile_of_part(part: str) -> tuple[InputProfile, int, int]:
    """Profile of the fields of a part of JSON lines, the number of the lines, and their bytes."""
    scan, rows, size = FieldScan(None), 0, 0
    for table in _lines_of(part):
        scan.see(texts(table[LINE]))
        rows += len(table)
        size += table.nbytes
    return scan.profile(), rows, size


def _columns_of(job: ExportJob) -> tuple[JsonColumns, int, int]:
    """The columns for all lines, the number of lines, and their bytes."""
    profile, total, total_size = InputProfile(), 0, 0
    with ThreadPoolExecutor(max(1, job.workers)) as pool:
        for part_profile, rows, size in pool.map(profile_of_part, job.parts):
            profile.merge(part_profile)
            total += rows
            total_size += size
    if job.profile is not None and (job.whole or not total):
        profile = job.profile()
    if len(profile.names) > _MOST_COLUMNS:
        raise OutputError(
            f"the results have {len(profile.names)} different fields, too many for columns. Export them as jsonl, "
            "which does not need the same fields in every row"
        )
    return JsonColumns.of(profile), total, total_size


def _source(part: str) -> Source:
    compression = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}.get(os.path.splitext(part)[1])
    return Source(part, "jsonl", compression, ".jsonl", os.path.getsize(part))


def _lines_of(part: str) -> Iterator[pa.Table]:
    for batch in read_lines(_source(part), 0, -1, ReadLimits(rows=1 << 16, line=1 << 40, check=False)):
        if len(batch):
            yield batch.table


def _parsed(part: str, columns: JsonColumns) -> Iterator[pa.Table]:
    """The lines of a part as columns; a part without lines needs no connection, as one takes its time."""
    tables = _lines_of(part)
    first = next(tables, None)
    if first is None:
        return
    with Converter() as converter:
        for table in chain((first,), tables):
            yield columns.table(converter.con, table)
