"""Read tables (Parquet, Arrow) and text files as typed samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.errors import DataError
from refinery.io.batch import RAW_LIMIT, VECTOR, BadSample, Batch, as_json
from refinery.io.conform import conform
from refinery.io.formats import encoding_mark, encoding_without_mark
from refinery.io.layouts import plain_table
from refinery.io.limits import ReadLimits
from refinery.io.line_errors import not_utf8
from refinery.io.model import Shard, Source
from refinery.io.objects import one_by_one
from refinery.io.open import open_source
from refinery.io.partitions import with_columns
from refinery.io.readers.open_groups import Group, GroupReader, open_groups
from refinery.io.readers.table_files import open_table, record_batches
from refinery.io.text_columns import is_plain_text
from refinery.io.times import require_times
from refinery.kernels.core.arrow import flags, texts


def read_table(source: Source, start: int, end: int, schema: pa.Schema, limits: ReadLimits) -> Iterator[Batch]:
    """Batches of rows [start, end) of a Parquet or Arrow file; a row with a text that is not UTF-8 is a BadSample."""
    row = 0
    try:
        for table in _sized(_pieces(source, start, end, limits), limits):
            require_times(table, source.path)
            yield checked(conform(table, schema, source.path, source.partitions), row)
            row += len(table)
    except (pa.ArrowException, OSError) as error:
        cure = "It is damaged: copy or download it again, or write it anew"
        raise DataError(f"{source.path}: reading failed after row {start + row}: {error}. {cure}") from error


def _pieces(source: Source, start: int, end: int, limits: ReadLimits) -> Iterator[pa.Table]:
    """The rows in small tables."""
    with open_table(source) as reader:
        if not hasattr(reader, "iter_batches"):  # an Arrow file or stream, or a table in memory
            tables = (plain_table(pa.Table.from_batches([batch])) for batch in record_batches(reader))
            yield from _between(tables, 0, start, end)
            return
        groups, size = _touched(reader.metadata, start, end)
        if not groups:
            return
        # Dictionaries make rows look smaller than they are, so batches start small and are joined by true size.
        count = groups[-1].end - groups[0].first
        step = int(max(1, min(VECTOR, limits.batch_bytes // 4 * count // max(1, size))))
        if len(groups) > 1 or (start <= groups[0].first and groups[0].end <= end):
            numbers = [group.number for group in groups]
            batches = reader.iter_batches(step, row_groups=numbers, use_threads=False)
            yield from _between((pa.Table.from_batches([batch]) for batch in batches), groups[0].first, start, end)
            return
    key = source.state(), step
    yield from open_groups.rows(key, groups[0], start, end, lambda: GroupReader(open_table(source), groups[0], step))


def _touched(metadata: Any, start: int, end: int) -> tuple[list[Group], int]:
    """The groups of rows that have some of the rows [start, end), and their bytes."""
    found: list[Group] = []
    first = size = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if first + group.num_rows > start and first < end:
            found.append(Group(number, first, first + group.num_rows))
            size += group.total_byte_size
        first += group.num_rows
    return found, size


def _between(tables: Iterator[pa.Table], first: int, start: int, end: int) -> Iterator[pa.Table]:
    """Rows [start, end) of tables, the first of which starts at row `first`."""
    for table in tables:
        low, high = max(start - first, 0), min(end - first, len(table))
        if low < high:
            yield table.slice(low, high - low)
        first += len(table)
        if first >= end:
            return


def _sized(tables: Iterator[pa.Table], limits: ReadLimits) -> Iterator[pa.Table]:
    """Tables cut and joined to batches."""
    pending: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        step = max(1, min(limits.rows, len(table) * limits.batch_bytes // max(1, table.nbytes)))
        for at in range(0, len(table), step):
            piece = table.slice(at, step)
            if pending and (size + piece.nbytes > limits.batch_bytes or rows + len(piece) > limits.rows):
                yield pa.concat_tables(pending)
                pending, size, rows = [], 0, 0
            pending.append(piece)
            size += piece.nbytes
            rows += len(piece)
    if pending:
        yield pa.concat_tables(pending)


def checked(table: pa.Table, first: int) -> Batch:
    """Rows, numbered from `first`, without the rows that hold a text that is not UTF-8."""
    rows = np.arange(first, first + len(table))
    broken = _broken(table, 0, len(table))
    if not broken:
        return Batch(False, table, rows, rows + 1, [], first + len(table))
    bad = [BadSample(first + i, first + i + 1, *_raw(table.slice(i, 1))) for i in broken]
    good = np.ones(len(table), np.bool_)
    good[broken] = False
    return Batch(False, table.filter(flags(good)), rows[good], rows[good] + 1, bad, first + len(table))


def _broken(table: pa.Table, start: int, stop: int) -> list[int]:
    """Rows whose texts are not all UTF-8, found by halving down to single rows."""
    piece = table.slice(start, stop - start)
    if all(_sound(chunk) for column in piece.columns for chunk in column.chunks):
        return []
    if stop - start == 1:
        return [start]
    middle = (start + stop) // 2
    return _broken(table, start, middle) + _broken(table, middle, stop)


def _sound(array: pa.Array) -> bool:
    """Return whether every text in the array, at any depth, is UTF-8."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _sound(array.storage)
    if len(array) == array.null_count:
        return True
    if is_plain_text(kind):
        view = texts(array)
        return bool(kernels.text.lines.valid_texts(view.data, view.offsets))
    if pa.types.is_string_view(kind):
        return _sound(array.cast(pa.large_binary()).view(pa.large_string()))
    if pa.types.is_dictionary(kind):
        return _sound(array.dictionary)
    if pa.types.is_struct(kind):
        return all(_sound(child) for child in array.flatten())
    if pa.types.is_map(kind):
        return all(_sound(child) for child in (array.keys, array.items))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _sound(array.flatten())
    return True


def _raw(row: pa.Table) -> tuple[bytes, str]:
    """A row with broken text as JSON, its bytes unchanged, and the reason."""
    values, error = {}, "invalid UTF-8"
    for name, column in zip(row.column_names, row.columns, strict=True):
        try:
            values[name] = column.to_pylist()[0]
        except UnicodeDecodeError:
            value = column.cast(pa.large_binary()).to_pylist()[0] if is_plain_text(column.type) else b"?"
            values[name] = value
            error = f"column {name!r}: {not_utf8(value) if is_plain_text(column.type) else 'invalid UTF-8'}"
    return as_json(values)[:RAW_LIMIT], error


def read_texts(shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
    """Text files, one sample each in the column `text`; line ends become line feeds, as in Python's text mode."""
    source = shard.source  # the partitions of all files of a shard are the same
    for batch in _texts(shard.sources, limits):
        table = with_columns(batch.table, source.partitions)
        yield replace(
            batch,
            table=table if shard.schema is None else conform(table, shard.schema, source.path, source.partitions),
        )


def _texts(sources: Sequence[Source], limits: ReadLimits) -> Iterator[Batch]:
    contents: list[bytes] = []
    rows: list[int] = []
    bad: list[BadSample] = []
    size = 0
    for row, source in enumerate(one_by_one(sources)):
        content = _text(source, row, limits, bad)
        if contents and (size + len(content or b"") > limits.batch_bytes or len(contents) == limits.rows):
            yield _text_batch(contents, rows, bad)
            contents, rows, bad, size = [], [], [], 0
        if content is not None:
            contents.append(content)
            rows.append(row)
            size += len(content)
    if contents or bad:
        yield _text_batch(contents, rows, bad)


def _text(source: Source, row: int, limits: ReadLimits, bad: list[BadSample]) -> bytes | None:
    """The text of a file as UTF-8; None, and an entry in `bad`, for other bytes."""
    try:
        with open_source(source, buffering=-1) as file:
            content = file.read(limits.line + 1)
    except OSError as error:
        raise DataError(f"{source.path}: {error.strerror or error}") from error
    data = np.frombuffer(content, np.uint8)
    if len(content) > limits.line:
        bad.append(BadSample(row, 1, content[:RAW_LIMIT], f"a text of {source.size} bytes is longer than the limit"))
        return None
    if not kernels.text.lines.valid_utf8(data, 0, len(data)):
        mark = encoding_mark(content)
        reason = _convert(mark) if mark else not_utf8(content)
        bad.append(BadSample(row, _broken_line(content), content[:RAW_LIMIT], reason))
        return None
    if b"\0" in content[:4] and (wide := encoding_without_mark(content[:4096])):
        bad.append(BadSample(row, 1, content[:RAW_LIMIT], _convert(wide)))
        return None
    if b"\r" not in content:
        return content
    out = np.empty(len(data), np.uint8)
    return out[: kernels.text.lines.unix_line_ends(data, 0, len(data), out)].tobytes()


def _convert(encoding: str) -> str:
    return f"{encoding}, not UTF-8; convert it: iconv -f {encoding} -t UTF-8"


def _broken_line(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return 1


def _text_batch(contents: list[bytes], rows: list[int], bad: list[BadSample]) -> Batch:
    kind = pa.string() if sum(map(len, contents)) < 2**31 - 1 else pa.large_string()
    column = pa.array(contents, pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)
    numbers = np.array(rows, np.int64)
    return Batch(False, pa.table({"text": column}), numbers, np.ones(len(rows), np.int64), bad, len(rows) + len(bad))
