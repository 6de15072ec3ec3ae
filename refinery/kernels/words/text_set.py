"""A set of pieces of one text, for kernels: which of them have stood before. Equal means equal byte by byte.

A table is int64 (capacity, 3): hash, start and end of a piece. It serves texts one after another without being
cleared, because a piece that starts before the text is one of an earlier text; so texts must lie in `data` in the order
in which they are looked at, none may be looked at twice with one table, and no piece may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refinery.kernels.core.jit import inlined
from refinery.kernels.words.lexicon import equal

SMALLEST = 1 << 12  # pieces that a table has room for at first, twice as many as may be in it


def new_table(capacity: int = SMALLEST) -> np.ndarray:
    """An empty table; the capacity is a power of two."""
    table = np.zeros((capacity, 3), np.int64)
    table[:, 1] = -1
    return table


def fill(rows: int, kernel: Callable[..., tuple[int, int]], *args: Any, room: int = 0) -> None:
    """Call `kernel(first_row, table, scratch, *args)` until it has done all rows; scratch is int64 (room).

    It answers the row that it has come to, `rows` at the end, and what it lacks for that row: so many numbers of scratch,
    or 0 when the table is half full. It is called for that row again, always with a new table: the old one holds pieces of
    the attempt that has failed.
    """
    row, capacity, lacking = 0, SMALLEST, 0
    while row < rows:
        row, lacking = kernel(row, new_table(capacity), np.empty(room, np.int64), *args)
        if lacking:
            room = 2 * lacking
        else:
            capacity *= 4


@inlined
def add(table, data, key, start, end, text):
    """Add data[start:end], whose hash is `key`, unless it is there; whether it was. text: where the text starts."""
    mask = len(table) - 1
    place = np.int64(key) & mask
    while table[place, 1] >= text:
        if table[place, 0] == np.int64(key) and equal(data, start, end, data, table[place, 1], table[place, 2]):
            return True
        place = (place + 1) & mask
    table[place, 0], table[place, 1], table[place, 2] = np.int64(key), start, end
    return False
