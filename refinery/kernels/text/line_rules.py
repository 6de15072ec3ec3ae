"""Removal of the lines of a text that break a rule; a line feed separates lines. Python's classes of characters apply."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import CHANGED, delta
from refinery.kernels.core.blocks import BLOCK, count_set, digits, first_set, lanes, low_bits, wide, within
from refinery.kernels.core.charclass import CODE_POINTS, SPACE, classes, kept
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import before, copy, decode
from refinery.kernels.text.line_marks import line_end
from refinery.kernels.unicode.word_break import properties
from refinery.kernels.unicode.word_segments import words_in
from refinery.kernels.words.cut_tokens import longest_token

UPPER, DIGIT, ASCII_DIGIT = 1, 2, 4  # str.isupper, str.isdigit, 0 to 9

# Rules; each has two limits. Empty lines keep all of them.
# RATIO: the share of characters of a class, `low`, is at most `high`. BYTE_RATIO: so are characters of the class per byte.
# WORDS: the number of words between white space is from `low` to `high`. UNICODE_WORDS: so is that of segments of UAX 29
# with a letter or digit of Unicode. END_MARK: the last character that is not white space is one of . ! ? " …; with `high`,
# it ends no ellipsis. LONGEST: the longest token, of kind `low` of `cut_tokens`, has at most `high` characters.
# INK: the line is more than white space. ALL: every line keeps it.
RATIO, BYTE_RATIO, WORDS, UNICODE_WORDS, END_MARK, LONGEST, INK, ALL = range(8)

_capitals = lanes(lambda x: within(x, 0x41, 0x5A))
_blanks = lanes(lambda x: within(x, 0x00, 0x20))


@lru_cache(maxsize=1)
def case_classes() -> np.ndarray:
    """Bits UPPER, DIGIT and ASCII_DIGIT of every code point."""
    return kept("line-rules", np.uint8, _build)


def _build() -> np.ndarray:
    points = map(chr, range(CODE_POINTS))
    table = np.array([UPPER * one.isupper() | DIGIT * one.isdigit() for one in points], np.uint8)
    table[0x30:0x3A] |= ASCII_DIGIT
    return table


def lines_by_rule(column: pa.Array | pa.ChunkedArray, rule: int, low: float, high: float, strip: bool) -> pa.Array:
    """Each text with the lines alone that keep a rule, stripped with `strip`; NULL where that is the text itself."""
    tables = case_classes(), classes(), properties()
    return delta(column, _map_rows, rule, float(low), float(high), strip, *tables)


@entry(
    "uint8[] int64[] bool[] uint8[] int64[] uint8[] int64 float64 float64 bool uint8[] uint8[] uint16[] -> int64",
)
def _map_rows(data, offsets, valid, out, out_offsets, state, rule, low, high, strip, cases, class_table, properties):
    """Kernel of `arrow.delta`."""
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        if valid[row]:
            start, end = offsets[row], offsets[row + 1]
            if w + end - start > len(out):
                return -1
            broken = _first_broken(data, start, end, rule, low, high, cases, class_table, properties)
            if broken > end:
                first, last = stripped(data, start, end, class_table) if strip else (start, end)
                if last - first < end - start:
                    w = copy(data, first, last, out, w)
                    state[row] = CHANGED
            else:
                stop = copy(data, start, max(start, broken - 1), out, w)
                stop = _kept_lines(data, start, broken, end, out, stop, rule, low, high, cases, class_table, properties)
                first, last = stripped(out, w, stop, class_table) if strip else (w, stop)
                w = copy(out, first, last, out, w)
                state[row] = CHANGED
            out_offsets[row + 1] = w
    return w


@kernel
def _first_broken(data, start, end, rule, low, high, cases, class_table, properties):
    """Start of the first line that breaks the rule; end + 1 if all keep it."""
    begin = start
    while begin <= end:
        stop = line_end(data, begin, end)
        if begin < stop and not _keeps(data, begin, stop, rule, low, high, cases, class_table, properties):
            return begin
        begin = stop + 1
    return end + 1


@kernel
def _kept_lines(data, start, broken, end, out, w, rule, low, high, cases, class_table, properties):
    """Write the lines behind the first broken one that keep the rule to out[w:]; returns the position after them."""
    first = broken == start
    begin = broken
    while begin <= end:
        stop = line_end(data, begin, end)
        if begin == stop or (
            begin > broken and _keeps(data, begin, stop, rule, low, high, cases, class_table, properties)
        ):
            if not first:
                out[w] = 10
                w += 1
            first = False
            w = copy(data, begin, stop, out, w)
        begin = stop + 1
    return w


@inlined
def _keeps(data, begin, stop, rule, low, high, cases, class_table, properties):
    if rule == WORDS:
        return low <= _word_count(data, begin, stop, class_table) <= high
    if rule == UNICODE_WORDS:
        return low <= words_in(data, begin, stop, properties) <= high
    if rule == END_MARK:
        return _has_end_mark(data, begin, stop, high != 0, class_table)
    if rule == ALL:
        return True
    if rule == INK:
        first, last = stripped(data, begin, stop, class_table)
        return first < last
    if rule == LONGEST:
        return longest_token(data, begin, stop, np.int64(low), class_table, properties) <= high
    counted, chars = _class_count(data, begin, stop, np.uint8(low), cases)
    return counted / (stop - begin if rule == BYTE_RATIO else chars) <= high


@kernel
def _class_count(data, i, end, bit, cases):
    """Number of characters of a class, and of all."""
    counted = chars = 0
    while i < end:
        stop = min(end, i + BLOCK)
        if i + BLOCK <= len(data):
            here = low_bits(stop - i)
            if wide(data, i) & here == 0:
                hits = _capitals(data, i) if bit == UPPER else digits(data, i)
                counted += count_set(hits & here)
                chars += stop - i
                i = stop
                continue
        while i < stop:
            cp, i = decode(data, i)
            counted += cases[cp] & bit != 0
            chars += 1
    return counted, chars


@kernel
def _word_count(data, i, end, class_table):
    """Number of words between white space."""
    words = 0
    inside = False
    while i < end:
        if inside and i + BLOCK <= len(data):
            i += first_set(_blanks(data, i) | wide(data, i))
            if i >= end:
                break
        cp, i = decode(data, i)
        blank = class_table[cp] & SPACE != 0
        words += not blank and not inside
        inside = not blank
    return words


@kernel
def _has_end_mark(data, begin, stop, no_ellipsis, class_table):
    begin, stop = stripped(data, begin, stop, class_table)
    if begin == stop:
        return False
    cp, _ = decode(data, before(data, stop, begin))
    if cp == 0x2026:
        return not no_ellipsis
    if cp == 0x2E:
        dots = stop - begin >= 3 and data[stop - 2] == 0x2E and data[stop - 3] == 0x2E
        return not (no_ellipsis and dots)
    return cp == 0x21 or cp == 0x3F or cp == 0x22
