"""Copies of the lines and paragraphs of texts, as Gopher's filter in datatrove counts them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import BLOCK, first_set, line_feeds
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.dedup.line_units import key_of
from refinery.kernels.words import text_set

FIELDS = ("lines", "line_copies", "line_copy_chars", "paragraphs", "paragraph_copies", "paragraph_copy_chars")
LINES, LINE_COPIES, LINE_CHARS, PARAGRAPHS, PARAGRAPH_COPIES, PARAGRAPH_CHARS = range(len(FIELDS))

LINE_FEED = 0x0A


def gopher_copies(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Numbers of lines and paragraphs of each text, as a struct; NULL for NULL.

    Lines are separated by one or more line feeds, paragraphs, in the text without white space at its ends, by two or more.
    Copies equal an earlier one; copy_chars: their characters.
    """
    view = texts(column)
    counts = np.zeros((len(view), len(FIELDS)), np.int64)
    for paragraphs in (False, True):  # a table holds pieces of one kind
        text_set.fill(len(view), _count, view.data, view.offsets, view.valid, classes(), paragraphs, counts)
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry("int64 int64[,] int64[] uint8[] int64[] bool[] uint8[] bool int64[,] -> int64 int64")
def _count(row, table, scratch, data, offsets, valid, class_table, paragraphs, counts):
    """Count the pieces of rows from `row` on, for `text_set.fill`; scratch is not used."""
    kind = PARAGRAPHS if paragraphs else LINES
    while row < len(valid):
        if valid[row]:
            begin, end = offsets[row], offsets[row + 1]
            if paragraphs:
                begin, end = stripped(data, begin, end, class_table)
            counts[row, kind : kind + 3] = 0
            if not _count_pieces(data, begin, end, table, 2 if paragraphs else 1, counts[row, kind:]):
                return row, 0
        row += 1
    return row, 0


@kernel
def _count_pieces(data, start, end, table, feeds, counts):
    """Count the pieces of a text; returns False if the table is full. feeds: line feeds that separate two at least."""
    different = 0
    empty = False
    begin = start
    while True:
        stop, after = _piece_end(data, begin, end, feeds)
        seen = empty
        if stop == begin:
            empty = True
        else:
            seen = text_set.add(table, data, key_of(data, begin, stop), begin, stop, start)
            different += not seen
            if 2 * different > len(table):
                return False
        counts[0] += 1
        if seen:
            counts[1] += 1
            for i in range(begin, stop):
                counts[2] += (data[i] & 0xC0) != 0x80
        if after == stop:
            return True
        begin = after


@inlined
def _piece_end(data, i, end, feeds):
    """End of the piece that begins at i, and the begin of the next one: the same place where there is none."""
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(line_feeds(data, i))
            i += run
            if run == BLOCK:
                continue
            if i >= end:
                break
        elif data[i] != LINE_FEED:
            i += 1
            continue
        after = i
        while after < end and data[after] == LINE_FEED:
            after += 1
        if after - i >= feeds:
            return i, after
        i = after
    return end, end
