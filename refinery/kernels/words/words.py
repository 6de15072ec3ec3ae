"""Words of Data-Juicer's operators: split, refined and counted.

A text is cut at U+0020, line feed and tab only. Refining a word strips special characters from both of its ends, code
point by code point, optionally after `str.lower`; a word of special characters alone is no word. Refined words never
hold a space, so a text's words are passed as one string with single spaces between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.packages import installed_version
from refinery.kernels.core.arrow import (
    EXACT,
    Texts,
    ints,
    numbers,
    of_texts,
    replaced,
    strings,
    structs,
    texts,
    texts_at,
)
from refinery.kernels.core.blocks import (
    BLOCK,
    HALF,
    controls,
    copy_lower,
    count_set,
    first_set,
    last_set,
    letters,
    low_bits,
    separators,
    spacing,
    wide,
)
from refinery.kernels.core.charclass import CODE_POINTS, SPECIAL, classes, kept
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode, encode

LETTER, SEPARATOR = 1, 2  # kinds of an ASCII character; a special character that does not separate has neither bit
SPACE, TAB, NEWLINE = 0x20, 0x09, 0x0A

ONE = np.uint64(1)

# Bits of an entry of the refining table, below the lower-case code point.
STAYS, STAYS_LOWER = 1, 2


class RefiningTables(NamedTuple):
    """Tables of characters for refining.

    kinds: int64 (256), LETTER or SEPARATOR of an ASCII byte. lowered: uint8 (256), ASCII lower case, separators as a
    space. code_points: int32 (0x110000), lower case << 2 | STAYS | STAYS_LOWER; -1 where `str.lower` depends on the
    neighbours (final sigma) or needs more room than the character itself.
    """

    kinds: np.ndarray
    lowered: np.ndarray
    code_points: np.ndarray


@lru_cache(maxsize=1)
def tables() -> RefiningTables:
    """Make the tables; that of all code points is made once per machine, later calls read a file."""
    code_points = kept(f"refined-regex{installed_version('regex')}", np.int32, _code_points)
    kinds = np.zeros(256, np.int64)
    kinds[:128] = (code_points[:128] & STAYS != 0) * LETTER
    kinds[[SPACE, TAB, NEWLINE]] = SEPARATOR
    lowered = np.arange(256).astype(np.uint8)
    lowered[:128] = code_points[:128] >> 2
    lowered[[TAB, NEWLINE]] = SPACE
    return RefiningTables(kinds, lowered, code_points)


def _code_points() -> np.ndarray:
    """Combine Python's lower case of every code point with the special characters."""
    lower = _lower_case()
    stays = (classes() & SPECIAL) == 0
    known = lower >= 0
    code_points = np.full(CODE_POINTS, -1, np.int32)
    code_points[known] = (lower[known] << 2) | stays[known] * STAYS | stays[lower[known]] * STAYS_LOWER
    return code_points


def _lower_case() -> np.ndarray:
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    for char in _with_lower_case(0, CODE_POINTS):
        small = char.lower()
        fits = len(small) == 1 and len(small.encode()) <= len(char.encode())
        lower[ord(char)] = ord(small) if fits else -1
    lower[ord("Σ")] = -1
    return lower


def _with_lower_case(start: int, end: int) -> Iterator[str]:
    """Characters with a different lower case, searched in large blocks, since most scripts have none."""
    block = np.arange(start, end, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    if block.lower() == block:
        return
    if end - start <= 64:
        yield from (char for char in block if char.lower() != char)
        return
    step = (end - start) // 4
    for first in range(start, end, step):
        yield from _with_lower_case(first, min(first + step, end))


# Splitting and refining


def word_count(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number of refined words of every text (int64), upper case kept, as `words_num_filter` counts."""
    view = texts(column)
    counts = np.empty(len(view), np.int64)
    _count(view.data, view.offsets, view.valid, tables().kinds, classes(), counts)
    return ints(counts, view.valid)


def words(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Refined words of every text, as a struct.

    n: int64, their number without lower-casing. lower: string, the words refined after `str.lower`, a single space
    between them. The two numbers can differ: lower-casing makes some letters special (Ø, Π) and some not (Г).
    """
    view = texts(column)
    rows = len(view)
    out = np.empty(view.size + 2 * BLOCK, np.uint8)
    offsets, counts, state = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.uint8)
    _refine(view.data, view.offsets, view.valid, *tables(), out, offsets, counts, state, np.empty(0, np.int64))
    todo = np.flatnonzero(state == EXACT)
    if len(todo):
        counts[todo] = numbers(word_count(of_texts(texts_at(view, todo))))
        lower = texts(words(lowered(view, todo)).field("lower"))
        out, offsets = replaced(out, offsets, todo, texts_at(lower, np.arange(len(todo))))
    return structs(view.valid, n=counts, lower=strings(out, offsets, view.valid))


def lowered(view: Texts, rows: np.ndarray) -> pa.Array:
    """`str.lower` of the texts of rows, none of them NULL; the kernels then leave the characters alone.

    No word ends inside the context that decides a sigma's form, so lowering the text lowers every word.
    """
    return of_texts([text.lower() for text in texts_at(view, rows)])


@inlined
def _letters(data, i):
    """Mask of the ASCII characters from data[i] on that are not special: letters, and controls except white space."""
    return letters(data, i) | (controls(data, i) & ~spacing(data, i))


@entry("uint8[] int64[] bool[] int64[] uint8[] int64[]")
def _count(data, offsets, valid, kinds, class_table, counts):
    for row in range(len(valid)):
        n, inside = 0, 0
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            stop = min(end, i + BLOCK)
            if i + BLOCK <= len(data):
                here = low_bits(stop - i)
                if wide(data, i) & here == 0:
                    added, inside = _count_block(separators(data, i) & here, _letters(data, i) & here, inside)
                    n += added
                    i = stop
                    continue
            while i < stop:
                byte = data[i]
                if byte < 0x80:
                    kind = kinds[byte]
                    n += kind & LETTER & ~inside
                    inside = (inside | (kind & LETTER)) & ~(kind >> 1)
                    i += 1
                elif inside:  # within a word that is already counted only a separator matters, and separators are ASCII
                    i += 1
                else:
                    cp, i = decode(data, i)
                    inside = 0 if class_table[cp] & SPECIAL else 1
                    n += inside
        counts[row] = n


@inlined
def _count_block(between, letter, inside):
    """Number of words with their first letter in a block of ASCII, and whether the last word has a letter."""
    opened = (between << np.uint64(1)) | np.uint64(1 - inside)  # possible starts of words
    other = ~(letter | between)
    # Adding carries each opening through the special characters behind it, to the letter or separator at their end.
    carried = (opened & other) + other
    first = (carried | opened) & letter
    waiting = carried < other or between >> np.uint64(BLOCK - 1) != 0
    return count_set(first), 0 if waiting else 1


@entry("uint8[] int64[] bool[] int64[] uint8[] int32[] uint8[] int64[] int64[] uint8[] int64[]")
def _refine(data, offsets, valid, kinds, lowered, code_points, out, out_offsets, counts, state, starts):
    w = 0
    for row in range(len(valid)):
        start = w
        if valid[row]:
            counts[row], _, w = refine_row(
                data, offsets[row], offsets[row + 1], kinds, lowered, code_points, out, w, starts
            )
            if w < 0:
                state[row] = EXACT
                w = start
        out_offsets[row + 1] = w


@kernel
def refine_row(data, i, end, kinds, lowered, code_points, out, w, starts):
    """Write the refined words of data[i:end] to out[w:], and the start of each to `starts` unless that is empty.

    Returns their number before and after lower-casing, and the position after them, -1 for a text that the table cannot
    lower. `out` must hold the text and BLOCK bytes more.
    """
    n = count = 0
    start, begin = w, i  # starts of the output and of the word
    first = last = -1  # its outermost letters
    plain = True
    while i < end and i + BLOCK <= len(data):
        stop = min(end, i + BLOCK)
        left = low_bits(stop - i)
        between, letter, beyond = separators(data, i) & left, _letters(data, i) & left, wide(data, i) & left
        while True:
            here = ((between - ONE) & ~between & left) if between else left  # bytes before the next separator
            own = letter & here
            if own:
                if first < 0:
                    first = i + first_set(own)
                last = i + last_set(own)
            plain = plain and beyond & here == 0
            if not between:
                break
            bit = between & (~between + ONE)
            if plain:
                if first >= 0:
                    if len(starts):
                        starts[count] = w
                    n += 1
                    count += 1
                    w = _lower(data, first, last + 1, lowered, out, w)
            else:
                added, after = _refine_word(data, begin, i + first_set(bit), kinds, lowered, code_points, out, w)
                if after < 0:
                    return 0, 0, -1
                n += added
                if after > w:
                    if len(starts):
                        starts[count] = w
                    count += 1
                    w = after
            begin = i + first_set(bit) + 1
            first = -1
            plain = True
            between ^= bit
            left &= ~(bit | (bit - ONE))
        i = stop
    while begin <= end:
        i = begin
        while i < end and kinds[data[i]] != SEPARATOR:
            i += 1
        added, after = _refine_word(data, begin, i, kinds, lowered, code_points, out, w)
        if after < 0:
            return 0, 0, -1
        n += added
        if after > w:
            if len(starts):
                starts[count] = w
            count += 1
            w = after
        begin = i + 1
    return n, count, w - 1 if w > start else w


@inlined
def _lower(data, i, end, lowered, out, w):
    """Write ASCII data[i:end] in lower case with a space behind it; returns the position after the space."""
    after = w + end - i
    if end + HALF <= len(data):
        copy_lower(data, i, out, w)
        while end - i > HALF:
            i += HALF
            w += HALF
            copy_lower(data, i, out, w)
    else:
        for k in range(end - i):
            out[w + k] = lowered[data[i + k]]
    out[after] = SPACE
    return after + 1


@kernel
def _refine_word(data, i, end, kinds, lowered, code_points, out, w):
    """Write the refined word data[i:end] and a space; returns whether it is a word before lower-casing, and the end.

    The end is w when nothing is left of the word, -1 when the table cannot lower it. A character goes to out[w] if it
    or an earlier character stays; `last` is the position after the last character that stays.
    """
    n = 0
    begin = last = w
    while i < end:
        byte = data[i]
        if byte < 0x80:
            kind = kinds[byte]
            i += 1
            n |= kind
            if kind or w > begin:
                out[w] = lowered[byte]
                w += 1
                last = w if kind else last
            continue
        cp, after = decode(data, i)
        entry = code_points[cp]
        if entry < 0:
            return 0, -1
        n |= entry & STAYS
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
    if last > begin:
        out[last] = SPACE
        last += 1
    return n, last
