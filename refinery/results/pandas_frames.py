"""Tables as frames of pandas, without rounded integers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.common.lazy import pc

# Integers beyond it are not all floating numbers, which pandas makes of integers beside NULL.
_EXACT = 2**53


def frame_of(table: pa.Table) -> Any:
    """The frame; columns in which integers would be rounded hold objects, integers and None."""
    rounded = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if any(map(_is_rounded, column.chunks))
    ]
    frame = table.to_pandas()
    for name in rounded:
        frame[name] = table[name].to_pandas(integer_object_nulls=True)
    return frame


def _is_rounded(array: Any) -> bool:
    """True if pandas makes floating numbers of large integers of the array, at any depth."""
    kind = array.type
    if pa.types.is_integer(kind):
        bounds = pc.min_max(array).as_py().values() if array.null_count else ()
        return any(bound is not None and abs(bound) > _EXACT for bound in bounds)
    if pa.types.is_struct(kind):
        return any(_is_rounded(array.field(place)) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _is_rounded(array.items)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return is_list and _is_rounded(array.values)
