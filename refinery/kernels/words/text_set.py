"""Set of the pieces of one text, for kernels that search repeated pieces. Equality is byte by byte.

A table is int64 (capacity, 3): hash, start and end of a piece. It serves texts one after another without being
cleared, because a piece that starts before the text belongs to an earlier text. So texts must be processed in their
order in `data`, each at most once with one table, and no piece may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refinery.kernels.core.jit import entry
from refinery.kernels.words.lexicon import equal

SMALLEST = 1 << 12  # initial capacity of a table, which may be half full


def new_table(capacity: int = SMALLEST) -> np.ndarray:
    """Make an empty table; the capacity is a power of two."""
    table = np.zeros((capacity, 3), np.int64)
    table[:, 1] = -1
    return table


def fill(rows: int, kernel: Callable[..., tuple[int, int]], *args: Any, room: int = 0) -> None:
    """Call `kernel(first_row, table, scratch, *args)` until all rows are done; scratch is int64 (room).

    The kernel returns the row reached, `rows` at the end, and the room missing for that row: numbers of scratch, or 0
    when the table is half full. It is called again for that row, always with a new table: the old table holds pieces of
    the failed attempt.
    """
    row, capacity, lacking = 0, SMALLEST, 0
    while row < rows:
        row, lacking = kernel(row, new_table(capacity), np.empty(room, np.int64), *args)
        if lacking:
            room = 2 * lacking
        else:
            capacity *= 4


@entry("int64[,] uint8[] uint64 int64 int64 int64 -> bool")
def add(table, data, key, start, end, text):
    """Add data[start:end], whose hash is `key`; returns True if it was in the set. text: start of the text."""
    mask = len(table) - 1
    place = np.int64(key) & mask
    while table[place, 1] >= text:
        if table[place, 0] == np.int64(key) and equal(data, start, end, data, table[place, 1], table[place, 2]):
            return True
        place = (place + 1) & mask
    table[place, 0], table[place, 1], table[place, 2] = np.int64(key), start, end
    return False
