"""Words of a text and the rows of a fastText model that stand for them.

The rows of a word are remembered, because most words of a text have been seen before. Their sum is not: float32 sums
depend on the order, and the sum of a text runs through all rows of its words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import (
    BLOCK,
    any_of,
    first_set,
    is_byte,
    lanes,
    load_word,
    low_bits,
    store_word,
    within,
)
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.memory import LINE, prefetch
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import copy
from refinery.kernels.models.fasttext_file import BUCKET, DIM, LONGEST, MAXN, MINN, PRUNED, ROWS_AT, WORDS
from refinery.kernels.models.fasttext_hash import (
    NONE,
    START,
    expect_bucket,
    find_bucket,
    find_word,
    hashed,
    may_have,
)

ENTRIES, CELLS = 1 << 17, 1 << 21  # room of a memory, about 9 MB
GROUP = 32  # words that are looked up together
REMEMBERED = 64  # bytes of the longest word that is remembered
MOST_ROWS = 1 + (REMEMBERED + 2) * LONGEST + LONGEST
SKIPPED = -1  # in place of a number of rows: a label, which is no word of the text
SEEN = 3  # times that a word is seen again before its rows are copied
# Places in an entry: a hash of its own, bytes of the word, number of its rows, place of their copy or less than 0 while it has
# not been seen often, fastText's hash, and the bytes of the word, filled up with 0 to whole eights. The rows follow.
SIZE, COUNT, COPY, HASH, LETTERS = 1, 2, 3, 4, 5
MOST_CELLS = LETTERS + REMEMBERED // 4 + MOST_ROWS  # of an entry
_MIX = np.uint64(0x9E3779B97F4A7C15)

gaps = lanes(lambda x: any_of(within(x, 0x09, 0x0D), is_byte(x, b" "), is_byte(x, b"\0")))


class Memory(NamedTuple):
    """Words that a thread has seen.

    slots: int32, hash table of entries. cells: int32, the entries one after another; letters: uint8, the same memory.
    copies: uint8, the rows themselves, of words that were seen often. used: int64, entries, cells and bytes of copies.
    numbers: int32, those from 0 on.
    """

    slots: np.ndarray
    cells: np.ndarray
    letters: np.ndarray
    copies: np.ndarray
    used: np.ndarray
    numbers: np.ndarray


record(Memory, "int32[] int32[] uint8[] uint8[] int64[] int32[]")


def new_memory(copies: int) -> Memory:
    """A memory without words. copies: bytes of rows that it may copy."""
    cells = np.empty(CELLS, np.int32)
    return Memory(
        np.full(2 * ENTRIES, NONE, np.int32),
        cells,
        cells.view(np.uint8),
        np.empty(copies, np.uint8),
        np.zeros(3, np.int64),
        np.arange(MOST_ROWS, dtype=np.int32),
    )


@inlined
def end_of_word(data, i, end):
    """Place of the first byte from i on that separates words, or end."""
    while i + BLOCK <= len(data):
        n = first_set(gaps(data, i))
        if n < BLOCK or i + BLOCK >= end:
            return min(i + n, end)
        i += BLOCK
    while i < end and not is_gap(data[i]):
        i += 1
    return i


@inlined
def is_gap(byte):
    """True for a byte that separates words."""
    return byte <= 32 and (byte == 32 or byte == 0 or (9 <= byte and byte <= 13))


@inlined
def _eight(data, i, end):
    """Up to eight bytes from i on, in front of zeros."""
    n = min(end - i, 8)
    if i + 8 <= len(data):
        return load_word(data, i) & low_bits(8 * n)
    word = np.uint64(0)
    for j in range(n - 1, -1, -1):
        word = word << np.uint64(8) | np.uint64(data[i + j])
    return word


@inlined
def own_hash(data, start, end):
    """Hash of a word by which it is looked up in the memory."""
    h = np.uint64(end - start)
    for i in range(start, end, 8):
        h = (h ^ _eight(data, i, end)) * _MIX
        h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(0x7FFFFFFF))


@inlined
def recalled(memory, data, start, end, h):
    """Entry of the word data[start:end], whose own hash is h, or NONE."""
    mask, cells = len(memory.slots) - 1, memory.cells
    slot = h & mask
    while memory.slots[slot] >= 0:
        at = np.int64(memory.slots[slot])
        if cells[at] == h and cells[at + SIZE] == end - start:
            place, i = 4 * (at + LETTERS), start
            while i < end and load_word(memory.letters, place + i - start) == _eight(data, i, end):
                i += 8
            if i >= end:
                return at
        slot = (slot + 1) & mask
    return NONE


@kernel
def find_entries(tables, memory, padded, data, n, starts, ends, entries):
    """Replace the own hash of each of n words of at most REMEMBERED bytes by its entry."""
    slots, used, mask = memory.slots, memory.used, len(memory.slots) - 1
    if used[0] + GROUP > ENTRIES or used[1] + GROUP * MOST_CELLS > len(memory.cells):  # it is full
        for i in range(len(slots)):
            slots[i] = NONE
        used[:] = 0
    for k in range(n):
        if ends[k] - starts[k] <= REMEMBERED:
            at = max(np.int64(slots[entries[k] & mask]), np.int64(0))
            prefetch(memory.cells, at)
            prefetch(memory.cells, at + LINE // 4)
    for k in range(n):
        if ends[k] - starts[k] <= REMEMBERED:
            at = recalled(memory, data, starts[k], ends[k], entries[k])
            if at == NONE:
                at = _learnt(tables, memory, padded, data, starts[k], ends[k], entries[k])
            entries[k] = at


@inlined
def rows_of(cells, at):
    """Place of the first row of an entry."""
    return at + LETTERS + 2 * ((np.int64(cells[at + SIZE]) + 7) >> 3)


@kernel
def _learnt(tables, memory, padded, data, start, end, h):
    """Make the entry of a new word."""
    n, used, cells = end - start, memory.used, memory.cells
    at = used[1]
    for i in range(0, n, 8):
        store_word(memory.letters, 4 * (at + LETTERS) + i, _eight(data, start + i, end))
    fnv = hash_of(data, start, end)
    cells[at], cells[at + SIZE], cells[at + COPY], cells[at + HASH] = h, n, -SEEN, np.int32(fnv)
    first = rows_of(cells, at)
    kind, last = first_row(tables, data, start, end, fnv, cells, first)
    if kind == WITH_GRAMS:
        pad(data, start, end, padded)
        _, last = grams(tables, padded, n + 2, 0, cells, last, len(cells))
    cells[at + COUNT] = SKIPPED if kind == SKIPPED else last - first
    mask = len(memory.slots) - 1
    slot = h & mask
    while memory.slots[slot] >= 0:
        slot = (slot + 1) & mask
    memory.slots[slot] = at
    used[0] += 1
    used[1] = last
    return at


@inlined
def hash_of(data, start, end):
    """fastText's hash of a word."""
    h = START
    for i in range(start, end):
        h = hashed(h, data[i])
    return h


@kernel
def seen(tables, memory, at):
    """Note that a word was seen again, and copy its rows from a large table to one place where it is seen often."""
    cells, used = memory.cells, memory.used
    if cells[at + COPY] < -1:
        cells[at + COPY] += 1
        return
    width = 4 * tables.sizes[DIM]
    place, first, count = used[2], rows_of(cells, at), np.int64(cells[at + COUNT])
    if place + count * width > len(memory.copies):
        return
    for row in cells[first : first + count]:
        start = tables.sizes[ROWS_AT] + row * width
        place = copy(tables.rows, start, start + width, memory.copies, place)
    cells[at + COPY] = used[2]
    used[2] = place


ALONE, WITH_GRAMS = 0, 1


@kernel
def first_row(tables, data, start, end, h, rows, w):
    """Write the row of a word that the model has; returns whether n-grams of its characters follow, and the new end."""
    number = find_word(tables.file, tables.places, tables.slots, data, start, end, h)
    if number >= tables.sizes[WORDS] or (number == NONE and _is_label(data, start, end)):
        return SKIPPED, w
    if number != NONE:
        rows[w] = number
        w += 1
    return (WITH_GRAMS if tables.sizes[MAXN] > 0 else ALONE), w


@kernel
def _is_label(data, start, end):
    """True if the word begins as labels do."""
    return (
        end - start >= 9
        and data[start] == 0x5F
        and data[start + 1] == 0x5F
        and data[start + 2] == 0x6C
        and data[start + 3] == 0x61
        and data[start + 4] == 0x62
        and data[start + 5] == 0x65
        and data[start + 6] == 0x6C
        and data[start + 7] == 0x5F
        and data[start + 8] == 0x5F
    )


@kernel
def is_end_of_line(data, start, end):
    """True if the word is `</s>`."""
    return (
        end - start == 4
        and data[start] == 0x3C
        and data[start + 1] == 0x2F
        and data[start + 2] == 0x73
        and data[start + 3] == 0x3E
    )


@kernel
def pad(data, start, end, padded):
    """Copy a word between < and >."""
    padded[0], n = 0x3C, end - start
    for i in range(n):
        padded[1 + i] = data[start + i]
    padded[1 + n] = 0x3E


@kernel
def grams(tables, word, n, i, rows, w, room):
    """Write the rows of the n-grams of characters that begin in word[i:n], while they fit in rows[w:room].

    Returns the first place that is left, and the new end of rows.
    """
    sizes = tables.sizes
    bucket, least, most, pruned = sizes[BUCKET], sizes[MINN], sizes[MAXN], sizes[PRUNED] >= 0
    share, first = 1.0 / bucket, w
    while i < n and w + most <= room:
        h, j, length = START, i, 1
        while j < n and length <= most:
            h = hashed(h, word[j])
            j += 1
            while j < n and (word[j] & 0xC0) == 0x80:
                h = hashed(h, word[j])
                j += 1
            if length >= least and not (length == 1 and (i == 0 or j == n)):
                rows[w] = _remainder(h, bucket, share)
                if pruned:
                    expect_bucket(tables.kept, np.int64(rows[w]))
                w += 1
            length += 1
        i += 1
        while i < n and (word[i] & 0xC0) == 0x80:
            i += 1
    return i, rows_of_buckets(tables, rows, first, w)


@kernel
def rows_of_buckets(tables, rows, first, last):
    """Replace buckets by their rows, without those that the model has not; returns the new end."""
    if tables.sizes[PRUNED] < 0:
        for k in range(first, last):
            rows[k] += tables.sizes[WORDS]
        return last
    kept = first
    for k in range(first, last):
        bucket = np.int64(rows[k])
        rows[kept] = bucket
        kept += may_have(tables.kept, bucket)
    w = first
    for k in range(first, kept):
        row = find_bucket(tables.pruned, np.int64(rows[k]))
        rows[w] = row + tables.sizes[WORDS]
        w += row != NONE
    return w


@inlined
def _remainder(h, bucket, share):
    """h % bucket for h below 2 ** 32, without a division; share: 1 / bucket."""
    rest = h - np.int64(h * share) * bucket  # the quotient is at most one too low or too high
    if rest < 0:
        rest += bucket
    return rest - bucket if rest >= bucket else rest


@inlined
def push(tables, bucket, rows, w):
    """Write the row of a bucket, if the model has it."""
    pruned, row = tables.sizes[PRUNED], bucket
    if pruned >= 0:
        if not may_have(tables.kept, bucket):
            return w
        row = find_bucket(tables.pruned, bucket)
        if row == NONE:
            return w
    row += tables.sizes[WORDS]
    rows[w] = row
    return w + 1
