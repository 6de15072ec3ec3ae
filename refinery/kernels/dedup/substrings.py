"""Items by which repeated substrings are found: windows of a text by their anchors.

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
# Rows of the room of `_anchors`.
_LEAD, _REST, _BLOCK = range(3)

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


def anchors(column: pa.Array | pa.ChunkedArray, length: int, tokens: bool) -> pa.Array:
    """Items of each text, one after another (`list<uint64>`); NULL for NULL. Texts of fewer than `length` symbols have none.

    tokens: windows are of tokens, the longest sequences of characters that are no white space (`str.split`).
    """
    view, gram = texts(column), gram_of(length)
    windows = length - gram + 1
    hashes, places = np.empty((3, windows), np.uint64), np.empty((2, windows), np.int64)
    shared = length, gram, hashes, places, np.empty((1, 2), np.uint64)
    size = view.size // (max(1, length // 2)) + 2 * len(view) + 16
    while True:
        items, ends = np.empty((size, _COUNT), np.uint64), np.zeros(len(view) + 1, np.int64)
        if tokens:
            used = _token_anchors(view.data, view.offsets, view.valid, *token_room(view), *shared, items, ends)
        else:
            used = _byte_anchors(view.data, view.offsets, view.valid, *shared, items, ends)
        if used >= 0:
            return lists(ends * _COUNT, items[:used].reshape(-1), view.valid)
        size *= 4


def token_room(view: Texts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Character classes, room for the hashes of a text's tokens, and the same room as bytes."""
    symbols = np.empty(int(np.diff(view.offsets).max(initial=0)) // 2 + 2, np.uint64)
    return classes(), symbols, symbols.view(np.uint8)


@entry("uint8[] int64[] bool[] int64 int64 uint64[,] int64[,] uint64[,] uint64[,] int64[] -> int64")
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
    "uint8[] int64[] bool[] uint8[] uint64[] uint8[] int64 int64 uint64[,] int64[,] uint64[,] uint64[,] int64[] -> int64"
)
def _token_anchors(
    data, offsets, valid, class_table, symbols, raw, length, gram, hashes, places, room, items, ends
):  # fmt: skip
    used = 0
    for row in range(len(valid)):
        if valid[row]:
            count = tokens_of(data, offsets[row], offsets[row + 1], class_table, symbols)
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
def tokens_of(data, i, end, class_table, symbols):
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

    A window begins in one block of `windows` sequences and ends in the next one. Its least hash is the lesser one of two: the
    least from its first sequence to the end of the block, and the least of the next block up to its last sequence (van Herk, 1992).
    Each changes a few times in a block, and only there can the anchor change.

    hashes, places: room for the hashes of a block; for the least ones of the block before from each place on (`_rest`), the last
    place first; for the least ones up to each place (`_lead`), the first place first.
    """
    count, windows, begun, base = end - first, length - gram + 1, used, first * width
    if count < length:
        return used
    total, last = count - gram + 1, count - length
    factor, rolled = _ONE, np.uint64(0)
    for i in range(gram):
        factor *= _BASE
        rolled = rolled * _BASE + _symbol(symbols, first + i)
    anchor, key, start, rests, before, block = -1, np.uint64(0), 0, 0, 0, 0
    while block < total + windows:
        leads = 0
        if block < total:
            stop = min(block + windows, total)
            leads, rolled = _lead(symbols, first, block, stop, total, gram, factor, rolled, hashes, places)
        lead, window, end_here = -1, before, min(last, block - 1)
        while window <= end_here:
            while places[_REST, rests - 1] < window:
                rests -= 1
            while lead + 1 < leads and places[_LEAD, lead + 1] < window + windows:
                lead += 1
            chosen, least, until = places[_REST, rests - 1], hashes[_REST, rests - 1], places[_REST, rests - 1] + 1
            if lead >= 0 and hashes[_LEAD, lead] < least:
                chosen, least, until = places[_LEAD, lead], hashes[_LEAD, lead], end_here + 1
            if chosen != anchor:
                if anchor >= 0:
                    used = _add(raw, base, width, length, key, anchor, start, window - 1, room, items, begun, used)
                    if used < 0:
                        return -1
                anchor, key, start = chosen, least, window
            window = until
            if lead + 1 < leads:
                window = min(window, places[_LEAD, lead + 1] - windows + 1)
        rests = _rest(block, windows, hashes, places) if block + windows <= total else 0
        before = block
        block += windows
    return _add(raw, base, width, length, key, anchor, start, last, room, items, begun, used)


@kernel
def _lead(symbols, first, block, stop, total, gram, factor, rolled, hashes, places):
    """Write the hashes of a block's sequences, and each that is less than those before it; returns the number of these.

    rolled: sum of the block's first sequence. Returns that of the next block's first one, too. Indexes are unsigned, which
    spares a test for each that they count from the end.
    """
    count = np.uint64(stop - block)
    rolled = _sums(symbols, first + block, min(stop, total - 1) - block, gram, factor, rolled, hashes)
    if stop == total:
        hashes[_BLOCK, stop - block - 1] = rolled
    for i in range(count):  # apart from the sums, each of which needs the one before: several at once
        hashes[_BLOCK, i] = mixed(hashes[_BLOCK, i])
    leads, least = 0, _MOST
    for i in range(count):
        if hashes[_BLOCK, i] < least:
            least = hashes[_BLOCK, i]
            hashes[_LEAD, leads], places[_LEAD, leads] = least, block + np.int64(i)
            leads += 1
    return leads, rolled


@kernel
def _sums(symbols, first, count, gram, factor, rolled, hashes):
    """Write the sums of the sequences from `first` on, of which `rolled` is the first; returns that of the one after them."""
    start, end = np.uint64(first), np.uint64(first + gram)
    for i in range(np.uint64(count)):
        hashes[_BLOCK, i] = rolled
        rolled = rolled * _BASE + (_symbol(symbols, end + i) - _symbol(symbols, start + i) * factor)
    return rolled


@kernel
def _rest(block, windows, hashes, places):
    """Write each hash of a block that is at most as large as those after it, the last one first; returns their number."""
    rests, least = 0, _MOST
    for back in range(np.uint64(windows)):
        i = np.uint64(windows - 1) - back
        if hashes[_BLOCK, i] <= least:
            least = hashes[_BLOCK, i]
            hashes[_REST, rests], places[_REST, rests] = least, block + np.int64(i)
            rests += 1
    return rests


@kernel
def _add(raw, base, width, length, key, anchor, start, last, room, items, begun, used):
    """Add an item for the windows from `start` to `last`, or make the repetition of the last one longer."""
    if used + 1 >= len(items):
        return -1
    write_item(raw, base, width, length, key, anchor, start, last, room, items, used)
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
def write_item(raw, base, width, length, key, anchor, start, last, room, items, at):
    """Write the item of the windows from `start` to `last` to items[at]. base: of the text's first symbol in `raw`."""
    distances = np.uint64(last - start) << np.uint64(16) | np.uint64(anchor - start)
    murmur(raw, base + start * width, base + (last + length) * width, room, 0)
    items[at, _PLACE] = np.uint64(start) << np.uint64(32) | distances
    items[at, _KEY] = key if key != np.uint64(REPEATED) else _ONE
    items[at, _CONTENT] = room[0, 0] ^ mixed(distances + _ONE)
    items[at, _SECOND] = room[0, 1]
