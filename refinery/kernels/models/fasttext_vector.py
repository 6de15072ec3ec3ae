"""Vector of a text by a fastText model: the mean of the rows of its words, added in their order.

Words are looked up in groups: what a word needs is fetched while others are looked up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import copy_block
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.memory import LINE, prefetch
from refinery.kernels.core.signatures import record
from refinery.kernels.models.fasttext_file import BUCKET, CODES, DIM, EOS_COUNTS, EOS_ROW, NGRAMS, ROWS_AT
from refinery.kernels.models.fasttext_hash import NONE
from refinery.kernels.models.fasttext_sums import add_from, add_rows
from refinery.kernels.models.fasttext_words import (
    COPY,
    COUNT,
    GROUP,
    HASH,
    REMEMBERED,
    SKIPPED,
    WITH_GRAMS,
    end_of_word,
    find_entries,
    first_row,
    grams,
    hash_of,
    is_end_of_line,
    is_gap,
    own_hash,
    pad,
    push,
    rows_of,
    seen,
)

SPILL = 1 << 12  # rows that are added at once
FEW = LINE // 4  # rows of a word that are copied together
EOS_HASH = 3617362777
START, END, ENTRY = range(3)


class Room(NamedTuple):
    """Room of a thread for one text.

    hashes: int32, of its words. padded: uint8, a word between < and >. rows: int32. spans: int64, start and end of the words of a
    group, and their entries in the memory.
    """

    hashes: np.ndarray
    padded: np.ndarray
    rows: np.ndarray
    spans: np.ndarray


record(Room, "int32[] uint8[] int32[] int64[,]")


def new_room(longest: int) -> Room:
    """Room for texts of so many bytes."""
    return Room(
        np.empty(longest // 2 + 2, np.int32),
        np.empty(max(longest, REMEMBERED) + 2, np.uint8),
        np.empty(SPILL, np.int32),
        np.empty((3, GROUP), np.int64),
    )


@kernel
def vector(data, i, end, tables, memory, sums, room):
    """Compute the mean of the rows of a text; returns whether there are any."""
    sums[:] = 0
    count, words, more = 0, 0, True
    while more:
        n, i, more = _find_words(data, i, end, memory, room.spans)
        find_entries(tables, memory, room.padded, data, n, room.spans[START], room.spans[END], room.spans[ENTRY])
        waiting = 0
        for k in range(n):
            waiting, rows, h = _take_word(data, k, tables, memory, sums, room, waiting)
            if rows != SKIPPED:
                count += rows
                room.hashes[words] = h
                words += 1
        _add(tables, sums, room.rows, waiting)
    if tables.sizes[EOS_ROW] != NONE:
        room.rows[0] = tables.sizes[EOS_ROW]
        add_rows(tables, sums, room.rows, 0, 1)
        count += 1
    if tables.sizes[EOS_COUNTS]:
        room.hashes[words] = np.int32(EOS_HASH)
        words += 1
    if tables.sizes[NGRAMS] > 1:
        count += _add_word_grams(tables, room, words, sums)
    if count == 0:
        return False
    scale = np.float32(1.0 / count)
    for j in range(len(sums)):
        sums[j] *= scale
    return True


@kernel
def _find_words(data, i, end, memory, spans):
    """Find the next words of a text, up to a group; returns their number, where the rest begins, and whether there may be more.

    The entry of a word to be remembered is its own hash for now.
    """
    mask = len(memory.slots) - 1
    for n in range(GROUP):
        while i < end and is_gap(data[i]):
            i += 1
        start, i = i, end_of_word(data, i, end)
        if i == start or is_end_of_line(data, start, i):
            return n, i, False
        spans[START, n], spans[END, n] = start, i
        if i - start <= REMEMBERED:
            spans[ENTRY, n] = own_hash(data, start, i)
            prefetch(memory.slots, spans[ENTRY, n] & mask)
    return GROUP, i, True


@inlined
def _take_word(data, k, tables, memory, sums, room, waiting):
    """Put the rows of a word behind those that wait to be added, or add them all.

    Returns the number of rows that wait, the number of the word's rows, or SKIPPED, and the hash of the word.
    """
    start, end, at, cells = room.spans[START, k], room.spans[END, k], room.spans[ENTRY, k], memory.cells
    if end - start > REMEMBERED:
        _add(tables, sums, room.rows, waiting)
        h = hash_of(data, start, end)
        return 0, _add_long_word(data, start, end, h, tables, sums, room), np.int32(h)
    count, copied, h = np.int64(cells[at + COUNT]), np.int64(cells[at + COPY]), cells[at + HASH]
    if copied < 0 and count <= FEW:
        copy_block(cells, rows_of(cells, at), room.rows, waiting)
        waiting += max(count, 0)
    else:
        _add(tables, sums, room.rows, waiting)
        waiting = 0
        if copied >= 0:
            add_from(memory.copies, copied, tables.sizes[DIM], sums, memory.numbers, 0, count)
        else:
            first = rows_of(cells, at)
            add_rows(tables, sums, cells, first, first + count)
    if copied < 0 and count > 0 and len(memory.copies) > 0:
        seen(tables, memory, at)
    return waiting, count, h


@kernel
def _add(tables, sums, rows, count):
    """Add the first rows of a list."""
    if tables.sizes[CODES] == 0:
        first, width = tables.sizes[ROWS_AT], 4 * tables.sizes[DIM]
        for k in range(count):
            prefetch(tables.rows, first + width * np.int64(rows[k]))
    add_rows(tables, sums, rows, 0, count)


@kernel
def _add_long_word(data, start, end, h, tables, sums, room):
    kind, w = first_row(tables, data, start, end, h, room.rows, 0)
    if kind == SKIPPED:
        return SKIPPED
    count, i, n = w, 0, end - start + 2
    add_rows(tables, sums, room.rows, 0, w)
    if kind != WITH_GRAMS:
        return count
    pad(data, start, end, room.padded)
    while i < n:
        i, w = grams(tables, room.padded, n, i, room.rows, 0, len(room.rows))
        add_rows(tables, sums, room.rows, 0, w)
        count += w
    return count


@kernel
def _add_word_grams(tables, room, n, sums):
    """Add the rows of the n-grams of words; returns their number."""
    bucket, most = np.uint64(tables.sizes[BUCKET]), tables.sizes[NGRAMS]
    count, w = 0, 0
    for i in range(n):
        h = np.uint64(np.int64(room.hashes[i]))
        for j in range(i + 1, min(n, i + most)):
            h = h * np.uint64(116049371) + np.uint64(np.int64(room.hashes[j]))
            w = push(tables, np.int64(h % bucket), room.rows, w)
        if w + most > len(room.rows) or i == n - 1:
            add_rows(tables, sums, room.rows, 0, w)
            count += w
            w = 0
    return count
