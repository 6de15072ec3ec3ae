"""Words as Data-Juicer's operators see them: split, refined, counted, compared, removed.

A text is cut at U+0020, line feed and tab only. Refining a word strips special characters from both of its ends, code
point by code point, after `str.lower` where asked for; a word of nothing but special characters is no word. Refined
words never hold a space, so a text's words travel as one string with single spaces between them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from refinery.kernels.arrow import EXACT, strings, structs, texts
from refinery.kernels.charclass import CODE_POINTS, SPECIAL, classes
from refinery.kernels.utf8 import decode, encode

LETTER, SEPARATOR = 1, 2  # kinds of an ASCII character; a special character that does not separate has neither bit
SPACE, TAB, NEWLINE = 0x20, 0x09, 0x0A

# Bits of an entry of the refining table, below the lower-case code point.
STAYS, STAYS_LOWER = 1, 2


class Tables(NamedTuple):
    """What refining needs to know of characters.

    kinds: int64 (256), LETTER or SEPARATOR of an ASCII byte. lowered: uint8 (256), ASCII lower case, separators as a
    space. code_points: int32 (0x110000), lower case << 2 | STAYS | STAYS_LOWER; -1 where `str.lower` depends on the
    neighbours (final sigma) or needs more room than the character itself.
    """

    kinds: np.ndarray
    lowered: np.ndarray
    code_points: np.ndarray


@lru_cache(maxsize=1)
def tables() -> Tables:
    """Ask Python once what the lower case of every code point is, and combine it with the special characters."""
    lower = _lower_case()
    stays = (classes() & SPECIAL) == 0
    known = lower >= 0
    code_points = np.full(CODE_POINTS, -1, np.int32)
    code_points[known] = (lower[known] << 2) | stays[known] * STAYS | stays[lower[known]] * STAYS_LOWER
    kinds = np.zeros(256, np.int64)
    kinds[:128] = stays[:128] * LETTER
    kinds[[SPACE, TAB, NEWLINE]] = SEPARATOR
    lowered = np.arange(256).astype(np.uint8)
    lowered[:128] = lower[:128]
    lowered[[TAB, NEWLINE]] = SPACE
    return Tables(kinds, lowered, code_points)


def _lower_case() -> np.ndarray:
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    for start in range(0, CODE_POINTS, 256):
        block = "".join(map(chr, range(start, start + 256)))
        if block.lower() == block:
            continue
        for char in block:
            small = char.lower()
            fits = len(small) == 1 and len(small.encode()) <= len(char.encode())
            lower[ord(char)] = ord(small) if fits else -1
    lower[ord("Σ")] = -1
    return lower


# Splitting and refining


def word_count(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number of refined words of every text (int64), upper case kept: what `words_num_filter` counts."""
    view = texts(column)
    counts = np.empty(len(view), np.int64)
    _count(view.data, view.offsets, view.valid, tables().kinds, classes(), counts)
    return pa.array(counts, mask=~view.valid)


def words(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Refined words of every text, as a struct.

    n: int64, their number without lower-casing. lower: string, the words refined after `str.lower`, a single space
    between them. The two can differ in number: lower case makes some letters special (Ø, Π) and some not (Г).
    """
    view = texts(column)
    rows = len(view)
    out = np.empty(view.size + 8, np.uint8)
    offsets, counts, state = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.uint8)
    _refine(view.data, view.offsets, view.valid, *tables(), out, offsets, counts, state)
    lower = strings(out, offsets, view.valid)
    todo = np.flatnonzero(state == EXACT)
    if len(todo):
        picked = view.array.take(pa.array(todo))
        counts[todo] = word_count(picked).to_numpy()
        lower = _replace(lower, state == EXACT, _words_of_lowered(picked))
    return structs(view.valid, n=counts, lower=lower)


def _words_of_lowered(column: pa.Array) -> pa.Array:
    # No word ends inside of what decides a sigma's form, so lowering the text lowers every word; and a lowered text
    # stays as it is when it is lowered by the table.
    lowered = pa.array([text.lower() for text in column.to_pylist()], pa.large_string())
    return words(lowered).field("lower")


def _replace(column: pa.Array, rows: np.ndarray, values: pa.Array) -> pa.Array:
    if column.nbytes + values.nbytes < 2**31 - 1:
        values = values.cast(column.type)
    else:
        column, values = column.cast(pa.large_string()), values.cast(pa.large_string())
    return pc.replace_with_mask(column, pa.array(rows), values)


@njit(nogil=True, cache=True)
def _count(data, offsets, valid, kinds, class_table, counts):
    for row in range(len(valid)):
        n, inside = 0, 0
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            byte = data[i]
            if byte < 0x80:
                kind = kinds[byte]
                n += kind & LETTER & ~inside
                inside = (inside | (kind & LETTER)) & ~(kind >> 1)
                i += 1
            elif inside:  # within a word that counts already nothing but a separator matters, and those are ASCII
                i += 1
            else:
                cp, i = decode(data, i)
                inside = 0 if class_table[cp] & SPECIAL else 1
                n += inside
        counts[row] = n


@njit(nogil=True, cache=True)
def _refine(data, offsets, valid, kinds, lowered, code_points, out, out_offsets, counts, state):
    w = 0
    for row in range(len(valid)):
        start = w
        if valid[row]:
            counts[row], w = _refine_row(data, offsets[row], offsets[row + 1], kinds, lowered, code_points, out, w)
            if w < 0:
                state[row] = EXACT
                w = start
        out_offsets[row + 1] = w


@njit(nogil=True, cache=True)
def _refine_row(data, i, end, kinds, lowered, code_points, out, w):
    """Write the refined words of data[i:end] to out[w:]: their number before lower-casing, and the position after them,
    -1 for a text that the table cannot lower.

    A character goes to out[w] when its word has begun or it is not special itself; `last` is the position after the
    last one that is not, to which the word shrinks when it ends.
    """
    n, inside = 0, 0
    first = begin = last = w
    while i < end:
        byte = data[i]
        if byte < 0x80:
            kind = kinds[byte]
            i += 1
            n += kind & LETTER & ~inside
            inside = (inside | (kind & LETTER)) & ~(kind >> 1)
            # The same for a separator, without a branch: it is a space, goes where the word shrinks to, and stays when
            # there is a word before it.
            at = last if kind == SEPARATOR else w
            out[at] = lowered[byte]
            w = at + (kind & LETTER | (at > begin))
            last = w if kind else last
            begin = w if kind == SEPARATOR else begin
            continue
        cp, after = decode(data, i)
        entry = code_points[cp]
        if entry < 0:
            return 0, -1
        n += entry & STAYS & ~inside
        inside |= entry & STAYS
        if entry & STAYS_LOWER or w > begin:
            if entry >> 2 == cp:
                for k in range(i, after):
                    out[w + k - i] = data[k]
                w += after - i
            else:
                w = encode(entry >> 2, out, w)
            if entry & STAYS_LOWER:
                last = w
        i = after
    if last == begin and begin > first:
        last -= 1  # the space after the last word
    return n, last
