"""Repeated n-grams of the words of a text, as NeMo Curator and dolma weigh them, exactly: words are compared, not hashes.

An n-gram is known by the place of its first occurrence. Those of n words follow from those of n - 1: two are the same if
their first n - 1 words are, and their last words. One whose first n - 1 words occur once occurs once, so most n-grams
of a long n need no table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import copy, same
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words.lexicon import equal, word_key
from refinery.kernels.words.space_words import AT_SPACES, Cut, most_words, word_classes, write_words

FIELDS = ("top_count", "top_chars", "top_found", "repeated", "all", "again")

BLANK_BYTE = 0x20
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
UPPER = np.uint64(32)


class Room(NamedTuple):
    """Room for the n-grams of one text of w words.

    starts, ends: of words in the data. before: characters of the words before each, and of all. firsts, counts, both for
    odd and for even n: the place of the first occurrence of the n-gram that begins at a word, and the number of
    occurrences by first occurrence; row 2 of firsts: for single words. table: open addressing, 1 + a first occurrence,
    0 for a free slot. joined: bytes of an n-gram.
    """

    starts: np.ndarray
    ends: np.ndarray
    before: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    table: np.ndarray
    joined: np.ndarray


record(Room, "int64[] int64[] int64[] int64[,] int64[,] int64[] uint8[]")


def word_grams(column: pa.Array | pa.ChunkedArray, most: int, find: int, cut: Cut = AT_SPACES) -> pa.Array:
    """A struct of lists for each text, whose items are for n = 1 to `most`; NULL for NULL.

    Of the most frequent n-gram (of several, the first): its count, the characters of its words, and for n up to `find` how
    often its words joined by blanks stand in the text (else 0). `repeated`, `all`: characters of the words of n-grams that
    occur more than once, and of all, for each occurrence. `again`: characters and blanks of second and later
    occurrences, each place counted once. All are 0 for a text of fewer than n words.
    """
    view = texts(column)
    rows, width = len(view), most_words(view, cut)
    longest = int(np.diff(view.offsets).max(initial=0))
    room = Room(
        np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width + 1, np.int64),
        np.empty((3, width), np.int64), np.empty((2, width), np.int64), np.empty(_slots(width), np.int64),
        np.empty(longest + width if find else 0, np.uint8),
    )  # fmt: skip
    counts = np.zeros((len(FIELDS), rows, most), np.int64)
    _gram_rows(view.data, view.offsets, view.valid, cut, word_classes(), most, find, room, counts.reshape(-1, most))
    return structs(view.valid, **{name: lists(counts[place]) for place, name in enumerate(FIELDS)})


@entry("int64 -> int64")
def _slots(words):
    """Capacity of the table for the n-grams of a text: a power of two, at most half full."""
    slots = 16
    while slots < 2 * words:
        slots *= 2
    return slots


@entry("uint8[] int64[] bool[] Cut uint8[] int64 int64 Room int64[,]", Cut, Room)
def _gram_rows(data, offsets, valid, cut, table, most, find, room, counts):
    """Fill counts: for each field, for each row, a number for each n."""
    rows = len(valid)
    for row in range(rows):
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        words = write_words(data, start, end, row, cut, table, room.starts, room.ends)
        for n in range(1, min(most, words) + 1):
            if n == 1:
                _intern(data, words, room)
            else:
                _lengthen(words, n, room)
            top, repeated, total, again = _weigh(words, n, room)
            counts[row, n - 1] = room.counts[n & 1, top]
            counts[rows + row, n - 1] = room.before[top + n] - room.before[top]
            if n <= find:
                size = _join(data, top, n, room)
                counts[2 * rows + row, n - 1] = _occurrences(data, start, end, room.joined, size)
            counts[3 * rows + row, n - 1] = repeated
            counts[4 * rows + row, n - 1] = total
            counts[5 * rows + row, n - 1] = again


@kernel
def _intern(data, words, room):
    """Find the first occurrence and the count of each word, and the characters before each."""
    mask = _clear(words, room.table)
    room.before[0] = 0
    for i in range(words):
        start, end = room.starts[i], room.ends[i]
        chars = 0
        for k in range(start, end):
            chars += (data[k] & 0xC0) != 0x80
        room.before[i + 1] = room.before[i] + chars
        slot = np.int64(word_key(data, start, end)) & mask
        first = room.table[slot] - 1
        while first >= 0 and not equal(data, start, end, data, room.starts[first], room.ends[first]):
            slot = (slot + 1) & mask
            first = room.table[slot] - 1
        if first < 0:
            first = np.int64(i)
            room.table[slot] = i + 1
            room.counts[1, i] = 0
        room.firsts[2, i] = first
        room.firsts[1, i] = first
        room.counts[1, first] += 1


@kernel
def _lengthen(words, n, room):
    """Find the first occurrence and the count of each n-gram, from those of n - 1 words."""
    mask = _clear(words, room.table)
    single, shorter, longer = room.firsts[2], room.firsts[(n - 1) & 1], room.firsts[n & 1]
    before, counts = room.counts[(n - 1) & 1], room.counts[n & 1]
    for i in range(words - n + 1):
        head, last = shorter[i], single[i + n - 1]
        if before[head] == 1:
            longer[i] = i
            counts[i] = 1
            continue
        key = (np.uint64(head) * GOLDEN) ^ np.uint64(last)
        slot = np.int64((key * GOLDEN) >> UPPER) & mask
        first = room.table[slot] - 1
        while first >= 0 and (shorter[first] != head or single[first + n - 1] != last):
            slot = (slot + 1) & mask
            first = room.table[slot] - 1
        if first < 0:
            first = np.int64(i)
            room.table[slot] = i + 1
            counts[i] = 0
        longer[i] = first
        counts[first] += 1


@kernel
def _clear(words, table):
    """Empty the part of the table that a text of so many words needs; returns the mask of its slots."""
    slots = _slots(words)
    table[:slots] = 0
    return slots - 1


@kernel
def _weigh(words, n, room):
    """The first of the most frequent n-grams, and the sums `repeated`, `all` and `again`."""
    firsts, counts, before = room.firsts[n & 1], room.counts[n & 1], room.before
    top = repeated = total = again = covered = 0
    for i in range(words - n + 1):
        chars = before[i + n] - before[i]
        total += chars
        if counts[firsts[i]] > 1:
            repeated += chars
        if firsts[i] == i:
            if counts[i] > counts[top]:
                top = i
        else:
            again += before[i + n] - before[i + covered] + min(n - covered, n - 1)
            covered = n
        covered = max(covered - 1, 0)
    return top, repeated, total, again


@kernel
def _join(data, top, n, room):
    """Write the words of an n-gram with a blank between them; returns the number of bytes."""
    size = 0
    for i in range(top, top + n):
        if i > top:
            room.joined[size] = BLANK_BYTE
            size += 1
        size = copy(data, room.starts[i], room.ends[i], room.joined, size)
    return size


@kernel
def _occurrences(data, start, end, sought, size):
    """Occurrences of sought[:size] in the text that do not overlap, from the left."""
    count = 0
    i = start
    while i + size <= end:
        if data[i] == sought[0] and same(data, i, i + size, sought, 0, size):
            count += 1
            i += size
        else:
            i += 1
    return count
