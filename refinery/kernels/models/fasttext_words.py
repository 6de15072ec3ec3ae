"""Words of a text and the rows of a fastText model that stand for them.

The rows of a word are remembered, because most words of a text have been seen before. Their sum is not: float32 sums
depend on the order, and the sum of a text runs through all rows of its words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import copy
from refinery.kernels.models.fasttext_file import BUCKET, DIM, LONGEST, MAXN, MINN, PRUNED, ROWS_AT, WORDS
from refinery.kernels.models.fasttext_hash import NONE, START, find_bucket, find_word, hashed, may_have

ENTRIES, BYTES, ROWS = 1 << 16, 1 << 20, 1 << 21  # room of a memory, about 12 MB
REMEMBERED = 64  # bytes of the longest word that is remembered
MOST_ROWS = 1 + (REMEMBERED + 2) * LONGEST + LONGEST
SKIPPED = -1  # in place of a number of rows: a label, which is no word of the text
SPACES = np.isin(np.arange(256), [0, 9, 10, 11, 12, 13, 32])  # what separates words


class Memory(NamedTuple):
    """Words that a thread has seen.

    slots: int32, hash table of entries. entries: int32, for each word its hash, the place and number of its bytes, the
    place and number of its rows, the place of their copy or a negative number of times that it was seen. letters: uint8,
    their bytes. rows: int32. copies: uint8, the rows themselves, of words that were seen often, one after another.
    used: int64, entries, bytes, rows and bytes of copies. numbers: int32, those from 0 on.
    """

    slots: np.ndarray
    entries: np.ndarray
    letters: np.ndarray
    rows: np.ndarray
    copies: np.ndarray
    used: np.ndarray
    numbers: np.ndarray


record(Memory, "int32[] int32[] uint8[] int32[] uint8[] int64[] int32[]")
FIELDS = 6
SEEN = 3  # times that a word is seen before its rows are copied


def new_memory(copies: int) -> Memory:
    """A memory without words. copies: bytes of rows that it may copy."""
    return Memory(
        np.full(2 * ENTRIES, NONE, np.int32),
        np.empty(FIELDS * ENTRIES, np.int32),
        np.empty(BYTES, np.uint8),
        np.empty(ROWS, np.int32),
        np.empty(copies, np.uint8),
        np.zeros(4, np.int64),
        np.arange(MOST_ROWS, dtype=np.int32),
    )


@inlined
def recalled(memory, data, start, end, h):
    """Entry of the word data[start:end], or NONE."""
    mask = len(memory.slots) - 1
    slot = (h ^ (h >> 15)) & mask
    while memory.slots[slot] >= 0:
        at = FIELDS * memory.slots[slot]
        if memory.entries[at] == np.int32(h) and memory.entries[at + 2] == end - start:
            place, i = memory.entries[at + 1], 0
            while i < end - start and memory.letters[place + i] == data[start + i]:
                i += 1
            if i == end - start:
                return int(at)
        slot = (slot + 1) & mask
    return NONE


@kernel
def learnt(tables, memory, padded, data, start, end, h):
    """Entry of a new word of at most REMEMBERED bytes. A full memory is emptied first."""
    n, used = end - start, memory.used
    if used[0] == ENTRIES or used[1] + n > BYTES or used[2] + MOST_ROWS > ROWS:
        for i in range(len(memory.slots)):
            memory.slots[i] = NONE
        used[:] = 0
    at = FIELDS * used[0]
    memory.entries[at] = np.int32(h)
    memory.entries[at + 1], memory.entries[at + 2] = used[1], n
    for i in range(n):
        memory.letters[used[1] + i] = data[start + i]
    first = used[2]
    kind, last = first_row(tables, data, start, end, h, memory.rows, first)
    if kind != SKIPPED and kind != ALONE:
        pad(data, start, end, padded)
        _, last = grams(tables, padded, n + 2, 0, memory.rows, last, len(memory.rows))
    memory.entries[at + 3], memory.entries[at + 4] = first, SKIPPED if kind == SKIPPED else last - first
    memory.entries[at + 5] = -SEEN
    mask = len(memory.slots) - 1
    slot = (h ^ (h >> 15)) & mask
    while memory.slots[slot] >= 0:
        slot = (slot + 1) & mask
    memory.slots[slot] = used[0]
    used[0] += 1
    used[1] += n
    used[2] = last
    return at


@kernel
def seen(tables, memory, at):
    """Note that a word was seen again, and copy its rows from a large table to one place where it is seen often."""
    entries, used = memory.entries, memory.used
    if entries[at + 5] < -1:
        entries[at + 5] += 1
        return
    width = 4 * tables.sizes[DIM]
    place, first, count = used[3], np.int64(entries[at + 3]), np.int64(entries[at + 4])
    if place + count * width > len(memory.copies):
        return
    for row in memory.rows[first : first + count]:
        start = tables.sizes[ROWS_AT] + row * width
        place = copy(tables.rows, start, start + width, memory.copies, place)
    entries[at + 5] = used[3]
    used[3] = place


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
    bucket, least, most = sizes[BUCKET], sizes[MINN], sizes[MAXN]
    share = 1.0 / bucket
    while i < n and w + most <= room:
        h, j, length = START, i, 1
        while j < n and length <= most:
            h = hashed(h, word[j])
            j += 1
            while j < n and (word[j] & 0xC0) == 0x80:
                h = hashed(h, word[j])
                j += 1
            if length >= least and not (length == 1 and (i == 0 or j == n)):
                w = push(tables, _remainder(h, bucket, share), rows, w)
            length += 1
        i += 1
        while i < n and (word[i] & 0xC0) == 0x80:
            i += 1
    return i, w


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
