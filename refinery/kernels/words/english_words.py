"""Words of many texts by the rules of `word_rules`, those of spaCy's English tokenizer, with a line feed between two."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, ints, strings, texts
from refinery.kernels.core.blocks import BLOCK, copy_block, first_set
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import copy
from refinery.kernels.words.lexicon import Lexicon
from refinery.kernels.words.word_blocks import is_plain, pieces, splits
from refinery.kernels.words.word_exceptions import rules
from refinery.kernels.words.word_pieces import blanks_end, piece_end
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
        row, needed = _write(row, room, view.data, view.offsets, view.valid, *rules(), splits(), out, ends, counts)
        if needed:
            room = np.empty(2 * needed, np.int64)
    return counts


@entry(
    "int64 int64[] uint8[] int64[] bool[] uint32[] Lexicon uint8[,] int16[,] bool[] uint8[] int64[] int64[] "
    "-> int64 int64",
    Lexicon,
)
def _write(row, room, data, offsets, valid, classes, known, pairs, phrases, may_split, out, ends, counts):
    """Write the words of rows from `row` on; returns the row reached and the numbers that `room` must hold for it."""
    w = ends[row]
    while row < len(valid):
        if valid[row]:
            start, end = offsets[row], offsets[row + 1]
            w, needed = _write_text(
                data, start, end, room, classes, known, pairs, phrases, may_split, out, w, counts, row
            )
            if needed:
                return row, needed
        ends[row + 1] = w
        row += 1
    return row, 0


@kernel
def _write_text(data, start, end, room, classes, known, pairs, phrases, may_split, out, w, counts, row):
    """Write one text's words to out[w:]; returns the position behind them, and the numbers that `room` must hold.

    Without room in `out` the words are counted only.
    """
    first, n, i = w, 0, start
    while i < end:
        # A block of input becomes two at most, and a copy of a word may write another.
        if i + 2 * BLOCK <= len(data) and (w + 3 * BLOCK <= len(out) or len(out) == 0):
            begin = i
            i, w, n, is_odd = _write_plain(data, begin, end, known, may_split, out, w, n)
            if i == end or (i > begin and not is_odd):
                continue
        stop = piece_end(data, i, end, classes)
        if stop == i:
            i = blanks_end(data, i, end)
            continue
        if 3 * (stop - i) + 3 > len(room):
            return first, 3 * (stop - i) + 3
        count = cut_piece(data, i, stop, start, end, classes, known, pairs, phrases, room)
        if count < 0:
            return first, -count
        for k in range(count):
            w = _word(data, room[k], room[k + 1] if k + 1 < count else stop, out, w)
        n += count
        i = stop
    counts[row] = n
    return max(w - 1, first), 0


@inlined
def _write_plain(data, i, end, known, may_split, out, w, n):
    """Write the plain pieces from i on in a block; returns the position behind them, w, n, and if another piece is there."""
    starts, stops, marks, odd = pieces(data, i, end)
    one = np.uint64(1)
    while stops:
        begin, stop = first_set(starts), first_set(stops)
        inside = (stops & ~(stops - one)) - (starts & ~(starts - one))
        mark = np.int64((marks & inside) != 0)
        core = stop - mark
        if odd & inside or not is_plain(data, i + begin, i + core, i + stop, known, may_split):
            return i + begin, w, n, True
        w = _word(data, i + begin, i + core, out, w)
        if mark:
            w = _word(data, i + core, i + stop, out, w)
        n += 1 + mark
        starts &= starts - one
        stops &= stops - one
    return min(i + first_set(starts), end), w, n, False


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
