"""`str.strip` in kernels."""

from __future__ import annotations

from refinery.kernels.core.charclass import SPACE
from refinery.kernels.core.jit import inlined
from refinery.kernels.core.utf8 import before, decode


@inlined
def stripped(data, start, end, class_table):
    """Bounds of data[start:end] without the white space at its ends (str.strip)."""
    while start < end:
        if data[start] > 32 and data[start] < 127:
            break
        cp, after = decode(data, start)
        if not class_table[cp] & SPACE:
            break
        start = after
    while start < end:
        if data[end - 1] > 32 and data[end - 1] < 127:
            break
        last = before(data, end, start)
        cp, _ = decode(data, last)
        if not class_table[cp] & SPACE:
            break
        end = last
    return start, end
