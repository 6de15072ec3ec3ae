"""Measures of the lines or paragraphs of a text, as datatrove defines them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, structs, texts
from refinery.kernels.core.blocks import BLOCK, count_set, first_set, lanes, line_feeds, low_bits, within
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import decode
from refinery.kernels.dedup.line_units import key_of
from refinery.kernels.words import text_set
from refinery.kernels.words.lexicon import Lexicon, lexicon, listed

FIELDS = ("pieces", "taken", "chars", "terminal", "bullets", "duplicates", "duplicate_chars")

LINE_FEED, BULLET = 0x0A, 0x2022
ENDS = (".", "?", "!", '"', "'")

_inner = lanes(lambda x: within(x, 0x80, 0xBF))  # bytes of a character after its first


def piece_stats(
    column: pa.Array | pa.ChunkedArray,
    paragraphs: bool,
    skip_blank: bool,
    short: Sequence[int],
    long: Sequence[int],
    ends: Sequence[str] = ENDS,
) -> pa.Array:
    """Measures of each text as a struct; NULL for NULL.

    Pieces are separated by U+000A, or for `paragraphs` by two of them; all pieces are taken, or with `skip_blank` those
    that are more than white space. Fields for the taken pieces: their code points; the numbers of those that end in one
    of `ends`, none of which is empty, and that begin (after white space) with one of -*•; the number of repeated pieces and their code points;
    and (lists) the numbers of pieces with at most, and at least, as many code points as each limit.
    """
    view = texts(column)
    rows = len(view)
    counts = np.zeros((len(FIELDS), rows), np.int64)
    shorter, longer = np.zeros((rows, len(short)), np.int64), np.zeros((rows, len(long)), np.int64)
    limits = np.array(short, np.int64), np.array(long, np.int64)
    text_set.fill(
        rows, _measure, view.data, view.offsets, view.valid, paragraphs, skip_blank, *limits, classes(), _table(tuple(ends)),
        counts, shorter, longer,
    )  # fmt: skip
    fields = dict(zip(FIELDS, counts, strict=True))
    return structs(view.valid, **fields, short=lists(shorter), long=lists(longer))


@lru_cache(maxsize=16)
def _table(ends: tuple[str, ...]) -> Lexicon:
    return lexicon(dict.fromkeys(ends, 1))


def lists(values: np.ndarray) -> pa.Array:
    """List of numbers for each row of `values`."""
    rows, width = values.shape
    offsets = pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * np.int32(width))
    return pa.ListArray.from_buffers(pa.list_(pa.int64()), rows, [None, offsets], 0, 0, [ints(values.ravel())])


@entry(
    "int64 int64[,] int64[] uint8[] int64[] bool[] bool bool int64[] int64[] uint8[] Lexicon int64[,] int64[,] int64[,] -> int64 int64",
    Lexicon,
)
def _measure(
    row, table, scratch, data, offsets, valid, paragraphs, skip_blank, short, long, class_table, ends, counts, shorter, longer
):  # fmt: skip
    """Measure rows from `row` on, for `text_set.fill`; scratch is not used."""
    while row < len(valid):
        if valid[row]:
            of_text = _measure_text(
                data, offsets[row], offsets[row + 1], table, paragraphs, skip_blank, short, long, class_table, ends,
                shorter[row], longer[row],
            )  # fmt: skip
            if of_text[0] < 0:
                return row, 0
            for k in range(7):
                counts[k, row] = of_text[k]
        row += 1
    return row, 0


@kernel
def _measure_text(data, start, end, table, paragraphs, skip_blank, short, long, class_table, ends, shorter, longer):
    pieces = taken = chars = terminal = bullets = duplicates = duplicate_chars = different = 0
    shorter[:] = 0
    longer[:] = 0
    empty = False
    begin = start
    while begin <= end:
        stop, length = _piece_end(data, begin, end, paragraphs)
        pieces += 1
        first, last = stripped(data, begin, stop, class_table)
        if first < last or not skip_blank:
            taken += 1
            chars += length
            for k in range(len(short)):
                shorter[k] += length <= short[k]
            for k in range(len(long)):
                longer[k] += length >= long[k]
            if stop > begin:
                terminal += _ends_in(data, begin, stop, ends)
                bullets += first < last and _is_bullet(data, first)
                seen = text_set.add(table, data, key_of(data, begin, stop), begin, stop, start)
                different += not seen
                if 2 * different > len(table):
                    return -1, 0, 0, 0, 0, 0, 0
            else:
                seen, empty = empty, True
            if seen:
                duplicates += 1
                duplicate_chars += length
        begin = stop + (2 if paragraphs else 1)
    return pieces, taken, chars, terminal, bullets, duplicates, duplicate_chars


@kernel
def _piece_end(data, begin, end, paragraphs):
    """End of the piece that starts at `begin`, and its code points."""
    i = begin
    inner = 0
    while i < end:
        if i + BLOCK <= len(data):
            here = low_bits(min(BLOCK, end - i))
            feeds = line_feeds(data, i) & here
            while feeds:
                at = i + first_set(feeds)
                if not paragraphs or (at + 1 < end and data[at + 1] == LINE_FEED):
                    inner += count_set(_inner(data, i) & low_bits(at - i))
                    return at, at - begin - inner
                feeds &= feeds - np.uint64(1)
            inner += count_set(_inner(data, i) & here)
            i += BLOCK
        else:
            if data[i] == LINE_FEED and (not paragraphs or (i + 1 < end and data[i + 1] == LINE_FEED)):
                return i, i - begin - inner
            inner += (data[i] & 0xC0) == 0x80
            i += 1
    return end, end - begin - inner


@kernel
def _ends_in(data, begin, stop, ends):
    """True if data[begin:stop] ends in one of the texts `ends`."""
    for size in range(1, min(len(ends.gate), stop - begin + 1)):
        if listed(ends, data, stop - size, stop):
            return True
    return False


@kernel
def _is_bullet(data, i):
    cp, _ = decode(data, i)
    return cp == 0x2D or cp == 0x2A or cp == BULLET
