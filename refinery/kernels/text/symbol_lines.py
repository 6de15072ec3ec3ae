"""Rows with a line of nothing but symbols, or with line ends that Python's `str.splitlines` and a join by U+000A change."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from refinery.kernels.core.arrow import EXACT
from refinery.kernels.core.jit import entry, kernel

OTHER, SYMBOL, SEPARATOR, FEED = 0, 1, 2, 4


def kinds(symbols: Collection[str]) -> np.ndarray:
    """Classes of each byte, uint8 (256): those of symbols and of the space, and those with which a line end may begin."""
    table = np.zeros(256, np.uint8)
    table[[byte for symbol in symbols for byte in symbol.encode()]] = SYMBOL
    table[ord(" ")] = SYMBOL
    table[list(b"\v\f\r\x1c\x1d\x1e\xc2\xe2")] |= SEPARATOR
    table[ord("\n")] = FEED
    return table


@kernel
def _ends_line(data, i, high):
    """True if a line ends with the character at i, whose first byte is a SEPARATOR."""
    if data[i] == 0xC2:
        return i + 1 < high and data[i + 1] == 0x85
    if data[i] == 0xE2:
        return i + 2 < high and data[i + 1] == 0x80 and (data[i + 2] == 0xA8 or data[i + 2] == 0xA9)
    return True


@kernel
def _may_change(data, low, high, kinds):
    if high > low and kinds[data[high - 1]] & FEED:
        return True
    symbols = filled = 0  # bytes of the line that are of symbols, and all of its bytes
    for i in range(low, high):
        kind = kinds[data[i]]
        if kind & FEED:
            if filled > 0 and symbols == filled:
                return True
            symbols = filled = 0
            continue
        if kind & SEPARATOR and _ends_line(data, i, high):
            return True
        symbols += kind & SYMBOL
        filled += 1
    return filled > 0 and symbols == filled


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] -> int64")
def mark_rows(data, offsets, valid, out, out_offsets, state, kinds):
    """Kernel for `arrow.delta`: rows whose lines may change are EXACT, others stay as they are."""
    for row in range(len(valid)):
        if valid[row] and _may_change(data, offsets[row], offsets[row + 1], kinds):
            state[row] = EXACT
    return 0
