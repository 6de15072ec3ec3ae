"""Repeated groups of characters, and runs of characters of one kind, as regular expressions of dolma find them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.core.charclass import RE_SPACE, SPACE, WORD, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode

LINE_FEED = 0x0A
COPIES = 4  # of a group, at least


def count_runs(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    r"""Matches of `\w+|[^\w\s]+` of the `regex` module in each text; NULL for NULL."""
    view = texts(column)
    counts = np.zeros(len(view), np.int64)
    _count_rows(view.data, view.offsets, view.valid, classes(), counts)
    return ints(counts, view.valid)


@entry("uint8[] int64[] bool[] uint8[] int64[]")
def _count_rows(data, offsets, valid, table, counts):
    for row in range(len(valid)):
        i, last = offsets[row], np.uint8(0)
        while valid[row] and i < offsets[row + 1]:
            cp, i = decode(data, i)
            bits = table[cp]
            kind = np.uint8(1) if bits & WORD else np.uint8(0) if bits & RE_SPACE else np.uint8(2)
            counts[row] += kind != 0 and kind != last
            last = kind


def repeated_groups(text: str, by_line: bool) -> list[tuple[int, int, int]]:
    r"""Matches of `(.+?)(\s?\1){3,}` in a text, or in each of its lines: start, end, and characters of the group."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    room = np.empty((3, len(points) // COPIES + 1), np.int64)
    count = _groups(points, by_line, classes(), room)
    return [(int(start), int(end), int(size)) for start, end, size in room[:, :count].T.tolist()]


@entry("uint32[] bool uint8[] int64[,] -> int64")
def _groups(points, by_line, table, room):
    """Write starts, ends and sizes of groups to `room`; returns their number."""
    count = i = 0
    while i < len(points):
        line = i
        while line < len(points) and points[line] != LINE_FEED:
            line += 1
        stop = min(line + 1, len(points)) if by_line else len(points)
        while i < line:
            size, end = _group_at(points, i, line, stop, table)
            if size:
                room[0, count], room[1, count], room[2, count] = i, end, size
                count += 1
            i = end
        i = max(i, line + 1 if i <= line else i)
    return count


@kernel
def _group_at(points, i, line, stop, table):
    """Size of the shortest group at i that is repeated, and the end of its copies; 0 and the next place if none is."""
    first = points[i]
    for size in range(1, min(line - i, (stop - i) // COPIES) + 1):
        after = points[i + size]
        if after == first or (table[after] & SPACE and points[i + size + 1] == first):
            end = _copies_end(points, i, size, stop, table)
            if end:
                return size, end
    return 0, i + 1


@kernel
def _copies_end(points, i, size, stop, table):
    """End of at least three further copies of the group, each perhaps after white space; 0 if there are fewer.

    The expression tries white space first. Where the group begins with white space, a copy can follow in two ways, of
    which eight combinations exist for three copies.
    """
    ways = 8 if table[points[i]] & SPACE else 1
    for way in range(ways):
        at = i + size
        for copy in range(3):
            skipped = ways > 1 and (way >> (2 - copy)) & 1
            at = _copy_end(points, i, size, at, stop, table, not skipped, ways == 1 or skipped)
            if not at:
                break
        if at:
            end = at
            while at:
                end = at
                at = _copy_end(points, i, size, at, stop, table, True, True)
            return end
    return 0


@inlined
def _copy_end(points, i, size, at, stop, table, blank, plain):
    """End of a copy of the group at `at`: after a white space if `blank` allows it, else right there if `plain` does; or 0."""
    if blank and at < stop and table[points[at]] & SPACE and _same(points, i, size, at + 1, stop):
        return at + 1 + size
    if plain and _same(points, i, size, at, stop):
        return at + size
    return 0


@inlined
def _same(points, i, size, at, stop):
    if at + size > stop:
        return False
    for k in range(size):
        if points[i + k] != points[at + k]:
            return False
    return True
