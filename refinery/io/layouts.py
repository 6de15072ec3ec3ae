"""Columns in the layouts that DuckDB and all writers know: the same values, without views, runs and odd dictionaries.

pyarrow's casts of list views lose values, and it has none from runs inside of lists: views are made from offsets and sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc

# Digits of a decimal that DuckDB holds.
DIGITS = 38

_VIEWS = (pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW)


def is_list_view(kind: pa.DataType) -> bool:
    """True for lists whose values stand in any order; Parquet's writer does not know them."""
    return kind.id in _VIEWS


def plain_table(table: pa.Table) -> pa.Table:
    """The table with all columns in known layouts; columns of types that cannot be known stay as they are."""
    for place, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if any(_is_odd(chunk) for chunk in column.chunks) or (not column.chunks and _is_odd_type(column.type)):
            chunks = [plain(chunk) for chunk in column.chunks or [pa.array([], field.type)]]
            # A dictionary of one chunk may have been odd, that of another not; their types are the same.
            table = table.set_column(place, field.with_type(chunks[0].type), pa.chunked_array(chunks))
    return table


def _is_odd_type(kind: pa.DataType) -> bool:
    """True for a type with another layout, at any depth."""
    return plain_type(kind) != kind


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of `plain` for arrays of a type."""
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_dictionary(kind):
        value = plain_type(kind.value_type)
        return kind if value == kind.value_type else value
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        pair = plain_type(kind.key_type), plain_type(kind.item_type)
        return kind if pair == (kind.key_type, kind.item_type) else pa.map_(*pair)
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return _list_type(kind, kind.value_field.with_type(plain_type(kind.value_type)))
    return _flat_type(kind)


def _flat_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal256(kind) and kind.precision <= DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _list_type(kind: pa.DataType, field: pa.Field) -> pa.DataType:
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(field, kind.list_size)
    return pa.list_(field) if pa.types.is_list(kind) else pa.large_list(field)


def _is_odd(array: Any) -> bool:
    """True if `plain` changes an array; dictionaries with a null among their values are odd, too."""
    kind = array.type
    if _is_odd_type(kind):
        return True
    if pa.types.is_dictionary(kind):
        return bool(array.dictionary.null_count) or _is_odd(array.dictionary)
    if pa.types.is_struct(kind):
        return any(_is_odd(array.field(place)) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _is_odd(array.keys) or _is_odd(array.items)
    return pa.types.is_nested(kind) and not pa.types.is_union(kind) and _is_odd(array.values)


def plain(array: Any) -> Any:
    """An array in known layouts, at any depth."""
    if not _is_odd(array):
        return array
    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        return _decoded(array)
    if pa.types.is_dictionary(kind):
        return _dictionary(array)
    if pa.types.is_struct(kind):
        parts = [plain(array.field(place)) for place in range(kind.num_fields)]
        fields = [field.with_type(part.type) for field, part in zip(kind, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_nested(kind):
        return _list(array)
    return array.cast(plain_type(kind))


def _decoded(array: Any) -> Any:
    """The values of runs, one for each row; Arrow's own function knows not all types."""
    ends = np.asarray(array.run_ends)
    places = np.searchsorted(ends, np.arange(len(array)) + array.offset, side="right")
    return plain(array.values).take(pa.array(places))


def _dictionary(array: Any) -> Any:
    """A dictionary without a null among its values; the values alone if their layout changes."""
    values = array.dictionary
    if _is_odd_type(array.type):
        return plain(values).take(array.indices)
    known = np.asarray(values.is_valid())
    places = pa.array(np.cumsum(known) - 1, array.indices.type, mask=~known)
    return pa.DictionaryArray.from_arrays(
        places.take(array.indices), plain(values.filter(pa.array(known))), ordered=array.type.ordered
    )


def _list(array: Any) -> Any:
    """Lists of any kind, and maps."""
    kind, mask = array.type, array.is_null()
    if is_list_view(kind):
        offsets, places = _spread(array)
        return _large_list(kind, offsets, plain(array.values).take(pa.array(places)), mask)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = plain(array.values.slice(array.offset * size, len(array) * size))
        return pa.FixedSizeListArray.from_arrays(values, type=_list_type(kind, _field(kind, values)), mask=mask)
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    offsets = pc.subtract(array.offsets, pa.scalar(first, array.offsets.type))
    if pa.types.is_map(kind):
        parts = [plain(part.slice(first, last - first)) for part in (array.keys, array.items)]
        return pa.MapArray.from_arrays(offsets, *parts, type=pa.map_(parts[0].type, parts[1].type), mask=mask)
    values = plain(array.values.slice(first, last - first))
    if pa.types.is_large_list(kind):
        return _large_list(kind, offsets, values, mask)
    return pa.ListArray.from_arrays(offsets, values, type=pa.list_(_field(kind, values)), mask=mask)


def _field(kind: pa.DataType, values: Any) -> pa.Field:
    return kind.value_field.with_type(values.type)


def _large_list(kind: pa.DataType, offsets: Any, values: Any, mask: Any) -> Any:
    return pa.LargeListArray.from_arrays(offsets, values, type=pa.large_list(_field(kind, values)), mask=mask)


def _spread(array: Any) -> tuple[Any, np.ndarray]:
    """Offsets of the lists of a view once they stand one after another, and the place of each value in the view."""
    starts = np.asarray(array.offsets).astype(np.int64)
    sizes = np.where(np.asarray(array.is_valid()), np.asarray(array.sizes), 0).astype(np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return pa.array(offsets), np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
