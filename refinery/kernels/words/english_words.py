"""Words of many texts by the rules of `word_rules`, those of spaCy's English tokenizer, with a line feed between two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, ints, strings, texts
from refinery.kernels.core.blocks import BLOCK, copy_block
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import copy
from refinery.kernels.words.lexicon import Lexicon
from refinery.kernels.words.word_addresses import FULL_STOP
from refinery.kernels.words.word_exceptions import EXCEPTION, exception, rules
from refinery.kernels.words.word_pieces import blanks_end, is_plain_mark, piece
from refinery.kernels.words.word_tokens import cut_piece

ROOM = 3 * 4096 + 3
LINE_FEED = 0x0A


def english_words(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Number of words of each text, and the words with U+000A between two; NULL for NULL. No word holds white space."""
    view = texts(column)
    out, ends = np.empty(2 * view.size + BLOCK, np.uint8), np.zeros(len(view) + 1, np.int64)
    counts = _filled(view, out, ends)
    return ints(counts, view.valid), strings(out[: max(int(ends[-1]), 1)], ends, view.valid)


def english_word_count(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number of words of each text; NULL for NULL."""
    view = texts(column)
    return ints(_filled(view, np.empty(0, np.uint8), np.zeros(len(view) + 1, np.int64)), view.valid)


def _filled(view: Texts, out: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Numbers of words; the words themselves are written to `out`, which may be empty, and their ends to `ends`."""
    rows = len(view)
    counts = np.zeros(rows, np.int64)
    row, room = 0, np.empty(ROOM, np.int64)
    while row < rows:
        row, needed = _write(row, room, view.data, view.offsets, view.valid, *rules(), out, ends, counts)
        if needed:
            room = np.empty(2 * needed, np.int64)
    return counts


@entry(
    "int64 int64[] uint8[] int64[] bool[] uint32[] Lexicon uint8[,] int16[,] uint8[] int64[] int64[] -> int64 int64",
    Lexicon,
)
def _write(row, room, data, offsets, valid, classes, known, pairs, phrases, out, ends, counts):
    """Write the words of rows from `row` on; returns the row reached and the numbers that `room` must hold for it."""
    w = ends[row]
    while row < len(valid):
        if valid[row]:
            w, needed = _write_text(
                data, offsets[row], offsets[row + 1], room, classes, known, pairs, phrases, out, w, counts, row
            )
            if needed:
                return row, needed
        ends[row + 1] = w
        row += 1
    return row, 0


@kernel
def _write_text(data, start, end, room, classes, known, pairs, phrases, out, w, counts, row):
    """Write one text's words to out[w:]; returns the position behind them, and the numbers that `room` must hold.

    Without room in `out` the words are counted only.
    """
    first, n, i = w, 0, start
    while i < end:
        begin = i
        size, i = piece(data, begin, end, classes)
        if i == begin:
            i = blanks_end(data, begin, end)
            continue
        if i - begin - size <= 1 and size > 0 and _is_whole(data, begin, begin + size, i, known):
            w = _word(data, begin, begin + size, out, w)
            n += 1
            if i > begin + size:
                w = _word(data, i - 1, i, out, w)
                n += 1
            continue
        if 3 * (i - begin) + 3 > len(room):
            return first, 3 * (i - begin) + 3
        count = cut_piece(data, begin, i, start, end, classes, known, pairs, phrases, room)
        if count < 0:
            return first, -count
        for k in range(count):
            w = _word(data, room[k], room[k + 1] if k + 1 < count else i, out, w)
        n += count
    counts[row] = n
    return max(w - 1, first), 0


@inlined
def _is_whole(data, begin, stop, end, known):
    """True if the letters data[begin:stop] are one word, and what follows them up to `end`, if anything, is a mark."""
    if end > stop:
        mark = data[stop]
        if not is_plain_mark(mark):
            return False
        # Capitals or an abbreviation may keep their full stop.
        if mark == FULL_STOP and (data[stop - 1] < 0x61 or exception(known, data, begin, end)):
            return False
    size = stop - begin
    value = exception(known, data, begin, stop)
    return not value & EXCEPTION or (value >> 8) & 0xFF == size


@inlined
def _word(data, start, end, out, w):
    """Write data[start:end] and a line feed to out[w:], if there is any room; returns the position behind them."""
    if len(out) == 0:
        return w
    if end - start <= BLOCK and start + BLOCK <= len(data) and w + BLOCK <= len(out):
        copy_block(data, start, out, w)
        w += end - start
    else:
        w = copy(data, start, end, out, w)
    out[w] = LINE_FEED
    return w + 1
