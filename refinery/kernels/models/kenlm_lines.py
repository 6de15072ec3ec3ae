"""Lines and words of a text as Python and KenLM see them.

Python cuts lines as str.splitlines and words as str.split do, at white space of all Unicode. KenLM cuts words at six ASCII
characters, and reads up to the first NUL.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refinery.kernels.core.blocks import (
    BLOCK,
    all_of,
    any_of,
    blanks,
    count_set,
    first_set,
    is_byte,
    lanes,
    within,
)
from refinery.kernels.core.jit import inlined, kernel

NONE, SPACE, LINE_END = 0, 1, 2

_ONE = np.uint64(1)

kenlm_spaces = lanes(lambda x: any_of(within(x, 9, 13), is_byte(x, b" ")))


def _unusual(x: Any, y: Any, z: Any) -> Any:
    """Bytes that begin NUL, white space but U+0020, or a control character. y, z: the bytes after them."""
    general = any_of(within(z, 0x80, 0x8A), within(z, 0xA8, 0xA9), z == 0xAF)
    return any_of(
        within(x, 0, 0x1F),
        all_of(x == 0xC2, any_of(y == 0x85, y == 0xA0)),
        all_of(x == 0xE1, y == 0x9A, z == 0x80),
        all_of(x == 0xE2, y == 0x80, general),
        all_of(x == 0xE2, y == 0x81, z == 0x9F),
        all_of(x == 0xE3, y == 0x80, z == 0x80),
    )


unusual = lanes(_unusual)  # 66 bytes must exist


@inlined
def kind_of(data, i, end):
    """NONE, SPACE or LINE_END for the character that begins at i, and its length if it is white space."""
    b = data[i]
    if b <= 0x20:
        if 0x0A <= b <= 0x0D or 0x1C <= b <= 0x1E:
            return LINE_END, 1
        return (SPACE if b in (0x20, 0x09, 0x1F) else NONE), 1
    if b == 0xC2 and i + 1 < end:
        return (LINE_END if data[i + 1] == 0x85 else SPACE if data[i + 1] == 0xA0 else NONE), 2
    if b < 0xE1 or b > 0xE3 or i + 2 >= end:
        return NONE, 1
    c, d = data[i + 1], data[i + 2]
    if b == 0xE1:
        return (SPACE if c == 0x9A and d == 0x80 else NONE), 3
    if b == 0xE3:
        return (SPACE if c == 0x80 and d == 0x80 else NONE), 3
    if c == 0x81:
        return (SPACE if d == 0x9F else NONE), 3
    if c == 0x80 and (d == 0xA8 or d == 0xA9):
        return LINE_END, 3
    return (SPACE if c == 0x80 and (d <= 0x8A or d == 0xAF) else NONE), 3


@kernel
def next_line(data, i, end, only_line_feeds):
    """The line of data[i:end] from i on: its end, the start of the next, its words by str.split, its first NUL.

    only_line_feeds: lines end at U+000A alone. The last line ends at `end`, and the next one would start after it.
    """
    words, inside, nul = 0, False, np.int64(-1)
    while i < end:
        if i + BLOCK <= end and i + BLOCK + 2 <= len(data) and unusual(data, i) == np.uint64(0):
            letters = ~blanks(data, i)
            words += count_set(letters & ~((letters << _ONE) | np.uint64(inside)))
            inside = letters >> np.uint64(BLOCK - 1) != np.uint64(0)
            i += BLOCK
            continue
        stop = min(i + BLOCK, end)
        while i < stop:
            kind, size = kind_of(data, i, end)
            if kind == LINE_END and (not only_line_feeds or data[i] == 0x0A):
                pair = data[i] == 0x0D and i + 1 < end and data[i + 1] == 0x0A and not only_line_feeds
                return i, i + size + pair, words, nul if nul >= 0 else i
            if kind == NONE:
                words += not inside
                if data[i] == 0 and nul < 0:
                    nul = i
            inside = kind == NONE
            i += size
    return end, end + 1, words, nul if nul >= 0 else end


@inlined
def is_kenlm_space(byte):
    return byte == 0x20 or 0x09 <= byte <= 0x0D


@inlined
def next_space(data, i, end):
    """Position of the first white space of KenLM from i on, `end` without one."""
    while i + BLOCK <= len(data) and i < end:
        spaces = kenlm_spaces(data, i)
        if spaces != np.uint64(0):
            return min(i + first_set(spaces), end)
        i += BLOCK
    while i < end and not is_kenlm_space(data[i]):
        i += 1
    return min(i, end)
