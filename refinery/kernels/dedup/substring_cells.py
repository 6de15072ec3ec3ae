"""Cells: the windows of an item of `substrings` in smaller items, computed from excerpts of the texts.

An excerpt has the symbols of some items of a text, each symbol once: bytes, or hashes of 8 bytes of the tokens. Its parts have the
number of their first symbol and of their symbols before them, 8 bytes each.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import strings, texts
from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import copy
from refinery.kernels.dedup.line_units import numbers
from refinery.kernels.dedup.substrings import (
    ITEM,
    first_of,
    gram_of,
    last_of,
    mixed,
    murmur,
    token_room,
    tokens_of,
    write_item,
)

_HEAD = 16  # bytes before a part of an excerpt


def widths(length: int) -> list[int]:
    """Most windows in an item, for each round of cells: powers of 8, down to one window."""
    windows = length - gram_of(length) + 1
    return [8**power for power in range(8, -1, -1) if 8**power < windows]


def excerpts(
    column: pa.Array | pa.ChunkedArray, places: pa.Array | pa.ChunkedArray, length: int, tokens: bool
) -> pa.Array:
    """Excerpt of each text with the items of some places, which ascend; NULL for a text without any.

    A part for which a text is too short has no symbols; the text is not the one that had the items.
    """
    view, (wanted, offsets) = texts(column), numbers(places)
    wanted, offsets = wanted[offsets[0] : offsets[-1]].view(np.uint64), offsets - offsets[0]
    first, end, size = first_of(wanted), last_of(wanted) + length, 8 if tokens else 1
    text = np.repeat(np.arange(len(view)), np.diff(offsets))
    begins = np.append(True, (text[1:] != text[:-1]) | (first[1:] > end[:-1]))[: len(text)]
    parts = np.flatnonzero(begins)
    first, count = first[parts], end[np.append(parts[1:], len(text))[: len(parts)] - 1] - first[parts]
    of_text = np.searchsorted(parts, offsets)
    bounds = np.append(0, np.cumsum(count * size + _HEAD))
    data = np.zeros(int(bounds[-1]), np.uint8)
    shared = first, count, of_text, bounds, data
    if tokens:
        _token_excerpts(view.data, view.offsets, *token_room(view), *shared)
    else:
        _byte_excerpts(view.data, view.offsets, *shared)
    heads = np.ascontiguousarray(np.stack([first, count], axis=1)).view(np.uint8).reshape(-1, _HEAD)
    data[bounds[:-1, None] + np.arange(_HEAD)] = heads
    valid = np.diff(of_text) > 0
    cells = strings(data, bounds[of_text], valid)
    return cells.cast(pa.binary() if cells.type == pa.string() else pa.large_binary())


@entry("uint8[] int64[] int64[] int64[] int64[] int64[] uint8[]")
def _byte_excerpts(data, offsets, first, count, of_text, bounds, out):
    for row in range(len(of_text) - 1):
        for part in range(of_text[row], of_text[row + 1]):
            start = offsets[row] + first[part]
            if start + count[part] <= offsets[row + 1]:
                copy(data, start, start + count[part], out, bounds[part] + _HEAD)
            else:
                count[part] = 0


@entry("uint8[] int64[] uint8[] uint64[] uint8[] int64[] int64[] int64[] int64[] uint8[]")
def _token_excerpts(data, offsets, class_table, symbols, raw, first, count, of_text, bounds, out):
    for row in range(len(of_text) - 1):
        there = 0
        if of_text[row + 1] > of_text[row]:
            there = tokens_of(data, offsets[row], offsets[row + 1], class_table, symbols)
        for part in range(of_text[row], of_text[row + 1]):
            if first[part] + count[part] <= there:
                copy(raw, first[part] * 8, (first[part] + count[part]) * 8, out, bounds[part] + _HEAD)
            else:
                count[part] = 0


def cells(
    column: pa.Array | pa.ChunkedArray, wanted: np.ndarray, firsts: np.ndarray, length: int, width: int, tokens: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Items of at most `width` windows each, in place of others. Gives the items (uint64, n by 4), and the first of each text.

    column: excerpts. wanted: places (uint64) of items; those of text r are wanted[firsts[r]:firsts[r + 1]], ascending. None if
    excerpts lack some.
    """
    view, gram = texts(column), gram_of(length)
    size = len(wanted) * (-(-(length - gram + 1) // width) + 1) + 1
    items, ends = np.empty((size, len(ITEM)), np.uint64), np.zeros(len(view) + 1, np.int64)
    sizes = length, gram, width, 8 if tokens else 1
    used = _cells_of(view.data, view.offsets, wanted, firsts, *sizes, np.empty((1, 2), np.uint64), items, ends)
    return (items[:used], ends) if used >= 0 else None


@entry("uint8[] int64[] uint64[] int64[] int64 int64 int64 int64 uint64[,] uint64[,] int64[] -> int64")
def _cells_of(data, offsets, wanted, firsts, length, gram, width, size, room, items, ends):
    used = 0
    for row in range(len(firsts) - 1):
        part, stop = offsets[row], offsets[row + 1]
        for at in range(firsts[row], firsts[row + 1]):
            start = np.int64(wanted[at] >> np.uint64(32))
            end = start + np.int64(wanted[at] >> np.uint64(16) & np.uint64(0xFFFF)) + length
            while part + _HEAD <= stop and start >= _end_of(data, part):
                part += _HEAD + np.int64(load_word(data, part + 8)) * size
            if part + _HEAD > stop or start < np.int64(load_word(data, part)) or end > _end_of(data, part):
                return -1
            base = part + _HEAD - np.int64(load_word(data, part)) * size
            used = _cells(data, base, size, length, gram, width, wanted[at], room, items, used)
        ends[row + 1] = used
    return used


@kernel
def _end_of(data, part):
    """Number of the first symbol after a part of an excerpt."""
    return np.int64(load_word(data, part) + load_word(data, part + 8))


@kernel
def _cells(raw, base, size, length, gram, width, place, room, items, used):
    """Write items of at most `width` windows in place of one; returns the end of all items.

    A cell has the windows whose distances to the anchor are from a multiple of `width` to before the next one; its key is the
    hash of the symbols that all windows of the whole cell contain. size: bytes of a symbol.
    """
    start = np.int64(place >> np.uint64(32))
    last = start + np.int64(place >> np.uint64(16) & np.uint64(0xFFFF))
    anchor = start + np.int64(place & np.uint64(0xFFFF))
    for cell in range((anchor - last) // width, (anchor - start) // width + 1):
        nearest = cell * width
        farthest = min(nearest + width - 1, length - gram)
        murmur(raw, base + (anchor - nearest) * size, base + (anchor - farthest + length) * size, room, 0)
        key = mixed(room[0, 0] + np.uint64(cell + 1))
        begin, end = max(start, anchor - farthest), min(last, anchor - nearest)
        write_item(raw, base, size, length, key, anchor, begin, end, room, items, used)
        used += 1
    return used
