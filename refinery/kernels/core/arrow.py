"""Conversion of Arrow columns to numpy views and back, before and after every kernel."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json

from refinery.common.lazy import pc

UNCHANGED, CHANGED, EXACT = 0, 1, 2

_NO_BYTES = np.zeros(1, np.uint8)
_NO_BYTES.flags.writeable = False


class Texts(NamedTuple):
    """Column of texts in the form that kernels read.

    data: uint8 (bytes of all texts, UTF-8). offsets: int64 (rows + 1, into data, the first need not be 0).
    valid: bool (rows). array: the Arrow array that owns the memory.
    """

    data: np.ndarray
    offsets: np.ndarray
    valid: np.ndarray
    array: pa.Array

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def size(self) -> int:
        """Bytes of text in the column."""
        return int(self.offsets[-1] - self.offsets[0])


def texts(column: pa.Array | pa.ChunkedArray) -> Texts:
    """View a `string` or `large_string` column, or one of bytes; only the offsets are copied."""
    array = _whole(column) if isinstance(column, pa.ChunkedArray) else column
    rows = len(array)
    _, offsets_buffer, data_buffer = array.buffers()
    width = np.int64 if array.type in (pa.large_string(), pa.large_binary()) else np.int32
    if rows == 0 or offsets_buffer is None:
        return Texts(_NO_BYTES, np.zeros(rows + 1, np.int64), np.zeros(rows, np.bool_), array)
    offsets = np.frombuffer(offsets_buffer, width)[array.offset : array.offset + rows + 1].astype(np.int64)
    data = _NO_BYTES
    if data_buffer is not None and data_buffer.size:
        data = np.frombuffer(data_buffer, np.uint8)
        data.flags.writeable = False  # Arrow's memory is not to be changed
    return Texts(data, offsets, present(array), array)


def present(column: pa.Array) -> np.ndarray:
    """True for each value of numbers, truth values or texts that is not NULL."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    return bits(column.buffers()[0], column.offset, len(column))


def bits(buffer: pa.Buffer, start: int, count: int) -> np.ndarray:
    """Bits of a buffer from `start` on, as truth values."""
    packed = np.frombuffer(buffer, np.uint8)[start >> 3 : (start + count + 7) >> 3]
    return np.unpackbits(packed, count=(start & 7) + count, bitorder="little")[start & 7 :].view(np.bool_)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Column of texts as one array; chunks that are neighbouring slices of one array are joined without a copy."""
    joined = _neighbours(column.chunks)
    if joined is not None:
        return joined
    array = whole(column)
    if isinstance(array, pa.ChunkedArray):  # the column does not fit one array
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    return array


def _neighbours(chunks: list[pa.Array]) -> pa.Array | None:
    if len(chunks) < 2:
        return chunks[0] if chunks else None
    first = chunks[0]
    places = [None if buffer is None else buffer.address for buffer in first.buffers()]
    end = first.offset
    for chunk in chunks:
        if chunk.offset != end or [None if part is None else part.address for part in chunk.buffers()] != places:
            return None
        end += len(chunk)
    return pa.Array.from_buffers(first.type, end - first.offset, first.buffers(), -1, first.offset)


# In place of `pa.array` and `to_numpy`, which import pandas where it is installed (a quarter of a second).


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column as one array, which is copied only if it has several chunks; chunks that do not fit one stay chunks."""
    if isinstance(column, pa.Array):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def ints(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Numbers as an Arrow array over the same memory, NULL where `valid` is False."""
    values = np.ascontiguousarray(values)
    mask, nulls = _mask(valid)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [mask, pa.py_buffer(values)], nulls)


def flags(values: np.ndarray) -> pa.Array:
    """Truth values as an Arrow array."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _packed(values)], 0)


def of_texts(values: Sequence[str | None]) -> pa.Array:
    """Python strings as a `string` array (`large_string` above 2 GiB)."""
    return _of_bytes([None if value is None else value.encode() for value in values])


def _of_bytes(values: Sequence[bytes | None]) -> pa.Array:
    encoded = [value or b"" for value in values]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    valid = np.fromiter((value is not None for value in values), np.bool_, len(encoded))
    return strings(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets, valid)


def of_records(records: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Records of numbers and texts as a table, without pyarrow's import of pandas (a quarter of a second of CPU)."""

    def column(field: pa.Field) -> pa.Array:
        values = [record.get(field.name) for record in records]
        if pa.types.is_integer(field.type):
            valid = np.fromiter((value is not None for value in values), np.bool_, len(values))
            return ints(np.array([value or 0 for value in values], field.type.to_pandas_dtype()), valid)
        texts = [value if value is None or isinstance(value, bytes) else value.encode() for value in values]
        return _of_bytes(texts).cast(field.type)

    return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def from_zero(table: pa.Table) -> pa.Table:
    """The same table, with nested structs copied where they are slices of longer structs.

    DuckDB 2.0 refuses to read such slices ("a struct or union below an offset the conversion would drop").
    """
    deep = [number for number, field in enumerate(table.schema) if _has_deep_struct(field.type)]
    if not deep:
        return table
    return pa.Table.from_batches([_copied(batch, deep) for batch in table.to_batches()], table.schema)


def _has_deep_struct(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return False
    within = [kind.field(number).type for number in range(kind.num_fields)]
    return any(pa.types.is_struct(part) or pa.types.is_union(part) for part in within)


def _copied(batch: pa.RecordBatch, columns: Sequence[int]) -> pa.RecordBatch:
    whole = ints(np.arange(batch.num_rows))
    copied = [column.take(whole) if number in columns else column for number, column in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(copied, schema=batch.schema)


def numbers(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Numbers of a column without NULLs; a single array is not copied."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = np.dtype(column.type.to_pandas_dtype())
    parts = [np.frombuffer(chunk.buffers()[1], kind)[chunk.offset :][: len(chunk)] for chunk in chunks if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, kind), *parts])


def rows_at(table: pa.Table, index: np.ndarray) -> pa.Table:
    """The rows of a table at ascending positions; no text is copied of columns that have texts in no other rows.

    Without Arrow's functions, whose import takes 50 ms, for the columns that most statements have.
    """
    if len(index) == len(table):
        return table
    columns = [whole(column) for column in table.columns]
    return pa.table([_at(column, index) for column in columns], table.schema)


def _at(column: pa.Array | pa.ChunkedArray, index: np.ndarray) -> pa.Array | pa.ChunkedArray:
    kind, taken = column.type, None
    if isinstance(column, pa.Array) and len(index):
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            taken = _without_gaps(column, index)
        elif pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_float64(kind):
            taken = _numbers_at(column, index)
    return column.take(ints(index)) if taken is None else taken


def _numbers_at(column: pa.Array, index: np.ndarray) -> pa.Array:
    """The numbers or truth values at positions."""
    valid = present(column)[index] if column.null_count else None
    if not pa.types.is_boolean(column.type):
        return ints(numbers(column)[index], valid)
    mask, nulls = _mask(valid)
    chosen = bits(column.buffers()[1], column.offset, len(column))[index]
    return pa.Array.from_buffers(column.type, len(index), [mask, _packed(chosen)], nulls)


def _without_gaps(column: pa.Array, index: np.ndarray) -> pa.Array | None:
    """The texts at ascending positions over the same bytes, if no bytes lie between them; else None."""
    view = texts(column)
    starts, ends = view.offsets[index], view.offsets[index + 1]
    if (starts[1:] != ends[:-1]).any():
        return None
    mask, nulls = _mask(view.valid[index])
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    offsets = np.append(starts, ends[-1]).astype(width)
    return pa.Array.from_buffers(column.type, len(index), [mask, pa.py_buffer(offsets), column.buffers()[2]], nulls)


def _packed(values: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def _mask(valid: np.ndarray | None) -> tuple[pa.Buffer | None, int]:
    """Validity buffer, and the number of NULLs."""
    nulls = 0 if valid is None else int(len(valid) - np.count_nonzero(valid))
    return (_packed(valid) if valid is not None and nulls else None), nulls


def strings(data: np.ndarray, offsets: np.ndarray, valid: np.ndarray) -> pa.Array:
    """Make a `string` array (`large_string` above 2 GiB) of len(valid) texts over data[offsets[i]:offsets[i+1]]."""
    mask, nulls = _mask(valid)
    if int(offsets[-1]) < 2**31 - 1:
        kind, starts = pa.string(), offsets.astype(np.int32)
    else:
        kind, starts = pa.large_string(), np.ascontiguousarray(offsets, np.int64)
    return pa.Array.from_buffers(kind, len(valid), [mask, pa.py_buffer(starts), pa.py_buffer(data)], nulls)


def delta(
    column: pa.Array | pa.ChunkedArray,
    kernel: Callable[..., int],
    *args: Any,
    exact: Callable[[str], str] | None = None,
    growth: float = 1.0,
) -> pa.Array:
    """Run a mapper kernel; the result is NULL for a row whose text does not change, the new text for others.

    `kernel(data, offsets, valid, out, out_offsets, state, *args)` writes the changed texts back to back into `out`
    (an unchanged row writes nothing), `out_offsets[i + 1]` after each row and `state[i]` = UNCHANGED, CHANGED or
    EXACT; it returns the bytes used, or -1 when `out` is too small, and is then called again with twice the room.
    Rows marked EXACT go through `exact(text)`, which is plain Python.
    """
    view = texts(column)
    rows = len(view)
    room = int(view.size * growth) + 64
    while True:
        out = np.empty(room, np.uint8)
        out_offsets = np.zeros(rows + 1, np.int64)
        state = np.zeros(rows, np.uint8)
        used = kernel(view.data, view.offsets, view.valid, out, out_offsets, state, *args)
        if used >= 0:
            break
        room *= 2
    changed, todo = state == CHANGED, np.flatnonzero(state == EXACT)
    if len(todo):
        assert exact is not None, "the kernel asked for an exact path that the operator does not have"
        values = [changed_or_none(exact, text) for text in texts_at(view, todo)]
        changed[todo] = [value is not None for value in values]
        out, out_offsets = replaced(out, out_offsets, todo, [value or "" for value in values])
    return strings(out[: max(int(out_offsets[-1]), 1)], out_offsets, changed)


def texts_at(view: Texts, rows: np.ndarray) -> list[str]:
    """The texts of rows, none of them NULL, as Python's; `take` and `filter` import Arrow's functions, which takes 50 ms."""
    places = zip(view.offsets[rows].tolist(), view.offsets[rows + 1].tolist(), strict=True)
    return [view.data[start:end].tobytes().decode() for start, end in places]


def replaced(
    data: np.ndarray, offsets: np.ndarray, rows: np.ndarray, values: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and offsets of texts of which those of some ascending rows are replaced."""
    encoded = [value.encode() for value in values]
    sizes, parts, at = np.diff(offsets), list[np.ndarray](), int(offsets[0])
    for row, value in zip(rows.tolist(), encoded, strict=True):
        parts += [data[at : offsets[row]], np.frombuffer(value or b"\0", np.uint8)[: len(value)]]
        at = int(offsets[row + 1])
    sizes[rows] = [len(value) for value in encoded]
    joined = np.concatenate([*parts, data[at : offsets[-1]], _NO_BYTES])  # never empty
    return joined, np.append(0, np.cumsum(sizes))


def changed_or_none(function: Callable[[str], str], text: str) -> str | None:
    """`function(text)`, or None when that is `text` itself."""
    result = function(text)
    return None if result == text else result


def each(column: pa.Array | pa.ChunkedArray, function: Callable[[str], str]) -> pa.Array:
    """Run a Python function on every text; NULL where nothing changes (and where the text is NULL)."""
    results = [None if text is None else changed_or_none(function, text) for text in column.to_pylist()]
    return of_texts(results)


def without_blank(column: pa.Array) -> pa.Array:
    """Texts, with "" in place of those that are nothing but white space; a NULL stays."""
    blank = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.binary_length(blank).cast(pa.bool_()), column, of_texts([""]).cast(column.type)[0])


def items(lists: pa.ListArray) -> pa.Array:
    """Items of all lists, as `flatten` gives them; without Arrow's functions, whose import takes 50 ms, if no list is NULL."""
    if lists.null_count or not len(lists):
        return lists.flatten()
    offsets = numbers(lists.offsets)
    return lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def structs(valid: np.ndarray, **fields: np.ndarray | pa.Array) -> pa.Array:
    """Struct column of fields of equal length; NULL where `valid` is False."""
    arrays = [_plain(value) for value in fields.values()]
    mask = None if valid.all() else flags(~valid)  # Arrow would import its functions to invert it
    return pa.StructArray.from_arrays(arrays, names=list(fields), mask=mask)


def _plain(values: np.ndarray | pa.Array) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return flags(values) if values.dtype == np.bool_ else ints(values)


def of_rows(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows of plain values as a table, converted through JSON.

    Arrow converts Python lists with pandas where that is installed, and its import takes longer than a small run.
    """
    if not rows:
        return schema.empty_table()
    lines = "\n".join(json.dumps(row) for row in rows)
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return pyarrow.json.read_json(io.BytesIO(lines.encode()), parse_options=options)
