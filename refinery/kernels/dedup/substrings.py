"""Items by which repeated substrings are found: anchors of a text, and cells of their windows.

A window is `length` consecutive symbols of a text: bytes, or tokens by their hashes. Every window has an anchor, the place
of the least hash among its sequences of `gram` symbols, the leftmost of equal ones. The choice depends on the window's
content alone, so equal windows have equal anchors at the same distance. An item stands for some consecutive windows of one
anchor, four numbers (`ITEM`):

- place: first window << 32 | last window - first window << 16 | anchor - first window, which `first_of` and others read;
- key: hash of symbols that all these windows contain, so equal windows are in items of equal keys;
- content, two numbers: hash of 128 bits of all symbols from the first window to the end of the last one, and of the
  distances in `place`. Items of equal key and content have the same windows.

Consecutive items of a text that are equal (it repeats itself with a period) are one item and one of key `REPEATED`, whose
`content` is the end of the repetition and the first window of the first item; its place has the first window of the second.

The choice of anchors is winnowing (Schleimer, Wilkerson, Aiken: Winnowing, SIGMOD 2003).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, texts
from refinery.kernels.core.charclass import SPACE, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.dedup.line_units import key_of, lists
from refinery.kernels.dedup.text_keys import mixed, murmur

ITEM = ("place", "key", "content", "content_2")
REPEATED = 0  # the key of a repetition
_PLACE, _KEY, _CONTENT, _SECOND = range(4)
_COUNT = len(ITEM)
# Symbols from 50 on have an anchor for about every fifth of a window's length.
_PARTS = 5
LONGEST = 0xFFFF  # of a window, in symbols

_BASE = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


def gram_of(length: int) -> int:
    """Number of symbols that are hashed to choose an anchor, for windows of `length` symbols."""
    return max(1, length // _PARTS)


def first_of(place: np.ndarray) -> np.ndarray:
    """First window of items (int64), from their places (uint64)."""
    return (place >> np.uint64(32)).astype(np.int64)


def last_of(place: np.ndarray) -> np.ndarray:
    """Last window of items."""
    return first_of(place) + (place >> np.uint64(16) & np.uint64(0xFFFF)).astype(np.int64)


def widths(length: int) -> list[int]:
    """Most windows in an item, for each round of cells: powers of 8, down to one window."""
    windows = length - gram_of(length) + 1
    return [8**power for power in range(8, -1, -1) if 8**power < windows]


def anchors(column: pa.Array | pa.ChunkedArray, length: int, tokens: bool) -> pa.Array:
    """Items of each text, one after another (`list<uint64>`); NULL for NULL. Texts of fewer than `length` symbols have none.

    tokens: windows are of tokens, the longest sequences of characters that are no white space (`str.split`).
    """
    view, gram = texts(column), gram_of(length)
    windows = length - gram + 1
    hashes, places, room = np.empty((2, windows), np.uint64), np.empty(windows, np.int64), np.empty((1, 2), np.uint64)
    shared = length, gram, hashes, places, room
    size = view.size // (max(1, length // 2)) + 2 * len(view) + 16
    while True:
        items, ends = np.empty((size, _COUNT), np.uint64), np.zeros(len(view) + 1, np.int64)
        if tokens:
            used = _token_anchors(view.data, view.offsets, view.valid, *_token_room(view), *shared, items, ends)
        else:
            used = _byte_anchors(view.data, view.offsets, view.valid, *shared, items, ends)
        if used >= 0:
            return lists(ends * _COUNT, items[:used].reshape(-1), view.valid)
        size *= 4


def cells(
    column: pa.Array | pa.ChunkedArray, wanted: np.ndarray, firsts: np.ndarray, length: int, width: int, tokens: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Items of at most `width` windows each, in place of others. Gives the items (uint64, n by 4), and the first of each text.

    wanted: places (uint64) of items; those of text r are wanted[firsts[r]:firsts[r + 1]].
    """
    view, gram = texts(column), gram_of(length)
    windows = length - gram + 1
    size = len(wanted) * (-(-windows // width) + 1) + 1
    items, ends, room = (
        np.empty((size, _COUNT), np.uint64),
        np.zeros(len(view) + 1, np.int64),
        np.empty((1, 2), np.uint64),
    )
    shared = wanted, firsts, length, gram, width, room, items, ends
    if tokens:
        used = _token_cells(view.data, view.offsets, *_token_room(view), *shared)
    else:
        used = _byte_cells(view.data, view.offsets, *shared)
    return items[:used], ends


def _token_room(view: Texts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Character classes, room for the hashes of a text's tokens, and the same room as bytes."""
    symbols = np.empty(int(np.diff(view.offsets).max(initial=0)) // 2 + 2, np.uint64)
    return classes(), symbols, symbols.view(np.uint8)


@entry("uint8[] int64[] bool[] int64 int64 uint64[,] int64[] uint64[,] uint64[,] int64[] -> int64")
def _byte_anchors(data, offsets, valid, length, gram, hashes, places, room, items, ends):
    used = 0
    for row in range(len(valid)):
        if valid[row]:
            used = _anchors(
                data, data, offsets[row], offsets[row + 1], 1, length, gram, hashes, places, room, items, used
            )
            if used < 0:
                return -1
        ends[row + 1] = used
    return used


@entry(
    "uint8[] int64[] bool[] uint8[] uint64[] uint8[] int64 int64 uint64[,] int64[] uint64[,] uint64[,] int64[] -> int64"
)
def _token_anchors(
    data, offsets, valid, class_table, symbols, raw, length, gram, hashes, places, room, items, ends
):  # fmt: skip
    used = 0
    for row in range(len(valid)):
        if valid[row]:
            count = _tokens(data, offsets[row], offsets[row + 1], class_table, symbols)
            used = _anchors(symbols, raw, 0, count, 8, length, gram, hashes, places, room, items, used)
            if used < 0:
                return -1
        ends[row + 1] = used
    return used


@kernel
def next_token(data, i, end, class_table):
    """Bounds of the first token in data[i:end]; `end` twice if there is none."""
    while i < end:
        cp, after = decode(data, i)
        if not class_table[cp] & SPACE:
            break
        i = after
    start = i
    while i < end:
        cp, after = decode(data, i)
        if class_table[cp] & SPACE:
            break
        i = after
    return start, i


@kernel
def _tokens(data, i, end, class_table, symbols):
    """Write the hash of each token of data[i:end] to `symbols`; returns their number."""
    count = 0
    while True:
        start, i = next_token(data, i, end, class_table)
        if start == end:
            return count
        symbols[count] = key_of(data, start, i)
        count += 1


@inlined
def _symbol(symbols, at):
    return np.uint64(symbols[at]) + _ONE


@kernel
def _anchors(symbols, raw, first, end, width, length, gram, hashes, places, room, items, used):
    """Write the items of symbols[first:end], each of `width` bytes in `raw`; returns the end of all items, or -1.

    hashes: room for those of the sequences in the last block of `windows`, and for the least ones from each place of the block
    before on, whose places are `places`. So each window's least hash is the lesser one of two (van Herk, 1992).
    """
    count, windows, begun = end - first, length - gram + 1, used
    if count < length:
        return used
    power, rolled = _ONE, np.uint64(0)
    for i in range(gram - 1):
        power *= _BASE
        rolled = rolled * _BASE + _symbol(symbols, first + i)
    block, least, place = 0, _MOST, 0
    anchor, key, start = -1, np.uint64(0), 0
    for j in range(count - gram + 1):
        rolled = rolled * _BASE + _symbol(symbols, first + j + gram - 1)
        order = mixed(rolled)
        rolled -= _symbol(symbols, first + j) * power
        hashes[0, j - block] = order
        if order < least:
            least, place = order, j
        window = j - windows + 1
        if window < 0:
            continue
        if window == block:
            _turn(hashes, places, windows, block)
            block, least, place = j + 1, _MOST, j + 1
        at = window - block + windows
        chosen = places[at] if hashes[1, at] <= least else place
        if chosen != anchor:
            if anchor >= 0:
                used = _add(raw, first, width, length, key, anchor, start, window - 1, room, items, begun, used)
                if used < 0:
                    return -1
            anchor, key, start = chosen, min(hashes[1, at], least), window
    return _add(raw, first, width, length, key, anchor, start, count - length, room, items, begun, used)


@kernel
def _turn(hashes, places, count, block):
    """Write the least of the hashes from each place of a block on, and where the first of these is."""
    least, place = _MOST, block
    for i in range(count - 1, -1, -1):
        if hashes[0, i] <= least:
            least, place = hashes[0, i], block + i
        hashes[1, i], places[i] = least, place


@kernel
def _add(raw, first, width, length, key, anchor, start, last, room, items, begun, used):
    """Add an item for the windows from `start` to `last`, or make the repetition of the last one longer."""
    if used + 1 >= len(items):
        return -1
    _write(raw, first, width, length, key, anchor, start, last, room, items, used)
    repeated = used > begun and items[used - 1, _KEY] == REPEATED
    known = used - 2 if repeated else used - 1
    if known < begun or not _equal(items, known, used):
        return used + 1
    if repeated:
        items[used - 1, _CONTENT] = np.uint64(last + length)
        return used
    items[used, _PLACE] = np.uint64(start) << np.uint64(32)
    items[used, _KEY] = np.uint64(REPEATED)
    items[used, _CONTENT] = np.uint64(last + length)
    items[used, _SECOND] = items[known, _PLACE] >> np.uint64(32)
    return used + 1


@inlined
def _equal(items, one, other):
    return (
        items[one, _KEY] == items[other, _KEY]
        and items[one, _CONTENT] == items[other, _CONTENT]
        and items[one, _SECOND] == items[other, _SECOND]
    )


@kernel
def _write(raw, first, width, length, key, anchor, start, last, room, items, at):
    """Write the item of the windows from `start` to `last` to items[at]."""
    distances = np.uint64(last - start) << np.uint64(16) | np.uint64(anchor - start)
    murmur(raw, (first + start) * width, (first + last + length) * width, room, 0)
    items[at, _PLACE] = np.uint64(start) << np.uint64(32) | distances
    items[at, _KEY] = key if key != np.uint64(REPEATED) else _ONE
    items[at, _CONTENT] = room[0, 0] ^ mixed(distances + _ONE)
    items[at, _SECOND] = room[0, 1]


@entry("uint8[] int64[] uint64[] int64[] int64 int64 int64 uint64[,] uint64[,] int64[] -> int64")
def _byte_cells(data, offsets, wanted, firsts, length, gram, width, room, items, ends):
    used = 0
    for row in range(len(firsts) - 1):
        for at in range(firsts[row], firsts[row + 1]):
            used = _cells(data, offsets[row], 1, length, gram, width, wanted[at], room, items, used)
        ends[row + 1] = used
    return used


@entry(
    "uint8[] int64[] uint8[] uint64[] uint8[] uint64[] int64[] int64 int64 int64 uint64[,] uint64[,] int64[] -> int64"
)
def _token_cells(
    data, offsets, class_table, symbols, raw, wanted, firsts, length, gram, width, room, items, ends
):  # fmt: skip
    used = 0
    for row in range(len(firsts) - 1):
        if firsts[row + 1] > firsts[row]:
            _tokens(data, offsets[row], offsets[row + 1], class_table, symbols)
        for at in range(firsts[row], firsts[row + 1]):
            used = _cells(raw, 0, 8, length, gram, width, wanted[at], room, items, used)
        ends[row + 1] = used
    return used


@kernel
def _cells(raw, first, size, length, gram, width, place, room, items, used):
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
        murmur(raw, (first + anchor - nearest) * size, (first + anchor - farthest + length) * size, room, 0)
        key = mixed(room[0, 0] + np.uint64(cell + 1))
        begin, end = max(start, anchor - farthest), min(last, anchor - nearest)
        _write(raw, first, size, length, key, anchor, begin, end, room, items, used)
        used += 1
    return used
