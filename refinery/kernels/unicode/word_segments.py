"""Word segments of UAX 29 (Unicode 16): where they end, and how many of each kind a text has.

Segments cover the whole text: words, marks and white space. A word is a segment with a letter or digit of Unicode, as
Rust's `unicode_words` has it; other definitions of a word look at the first character.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, ints, structs, texts
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.unicode.word_break import (
    ALETTER,
    ALNUM,
    CR,
    DOUBLE_QUOTE,
    EXTEND,
    EXTEND_NUM_LET,
    HEBREW_LETTER,
    INK,
    MID_LETTER,
    MID_NUM,
    MID_NUM_LET,
    NUMERIC,
    OTHER,
    PICTOGRAPH,
    PYTHON_ALNUM,
    PYTHON_INK,
    REGIONAL_INDICATOR,
    SINGLE_QUOTE,
    SPACES,
    VALUE,
    ZWJ,
    properties,
)

FIELDS = ("segments", "words", "ink", "python_ink", "alnum_first", "space_first")

LINE_FEED = 0x0A
PAIRED = EXTEND_NUM_LET + 1  # values below it join in pairs

_TEXT = (ALETTER, HEBREW_LETTER)
_JOINED = {
    *((a, b) for a in (*_TEXT, NUMERIC) for b in (*_TEXT, NUMERIC)),  # WB5, WB8, WB9, WB10
    (4, 4),  # WB13
    *((a, EXTEND_NUM_LET) for a in (*_TEXT, NUMERIC, 4, EXTEND_NUM_LET)),  # WB13a
    *((EXTEND_NUM_LET, b) for b in (*_TEXT, NUMERIC, 4)),  # WB13b
}
JOINS = sum(1 << (PAIRED * a + b) for a, b in _JOINED)  # a bit for each pair


def segment_counts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Numbers of the segments of each text as a struct (int64); NULL for NULL.

    segments: all. words: with a letter or digit of Unicode. ink, python_ink: with a character that is no white space of
    Unicode, or of `str.isspace`. alnum_first, space_first: whose first character is `str.isalnum` or `str.isspace`.
    """
    view = texts(column)
    counts = np.zeros((len(FIELDS), len(view)), np.int64)
    _count(view.data, view.offsets, view.valid, properties(), counts)
    return structs(view.valid, **dict(zip(FIELDS, counts, strict=True)))


def segment_ends(view: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the segments of all texts, int64, as places in `view.data`, and the number of segments of each text."""
    ends, counts = np.empty(max(view.size, 1), np.int64), np.zeros(len(view), np.int64)
    used = _ends(view.data, view.offsets, view.valid, properties(), ends, counts)
    return ends[:used], counts


def word_counts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number of words of each text (int64)."""
    view = texts(column)
    counts = np.zeros(len(view), np.int64)
    _count_words(view.data, view.offsets, view.valid, properties(), counts)
    return ints(counts, view.valid)


@entry("uint8[] int64[] bool[] uint16[] int64[,]")
def _count(data, offsets, valid, properties, counts):
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            first = properties[decode(data, i)[0]]
            i, held = segment(data, i, end, properties)
            counts[0, row] += 1
            counts[1, row] += held & ALNUM != 0
            counts[2, row] += held & INK != 0
            counts[3, row] += held & PYTHON_INK != 0
            counts[4, row] += first & PYTHON_ALNUM != 0
            counts[5, row] += first & PYTHON_INK == 0


@entry("uint8[] int64[] bool[] uint16[] int64[] int64[] -> int64")
def _ends(data, offsets, valid, properties, ends, counts):
    used = 0
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            i, _ = segment(data, i, end, properties)
            ends[used] = i
            used += 1
            counts[row] += 1
    return used


@entry("uint8[] int64[] bool[] uint16[] int64[]")
def _count_words(data, offsets, valid, properties, counts):
    for row in range(len(valid)):
        if valid[row]:
            counts[row] = words_in(data, offsets[row], offsets[row + 1], properties)


@kernel
def words_in(data, i, end, properties):
    """Number of words in data[i:end]."""
    words = 0
    while i < end:
        i, held = segment(data, i, end, properties)
        words += held & ALNUM != 0
    return words


@kernel
def segment(data, i, end, properties):
    """End of the segment that begins at i < end, and the bits of its characters, those of INK and ALNUM complete.

    `value` is that of the last character that no rule skips, `last` that of the last one.
    """
    cp, i = decode(data, i)
    held = properties[cp]
    value = last = held & VALUE
    if CR <= value < EXTEND:
        return i + (value == CR and i < end and data[i] == LINE_FEED), held  # WB3, WB3a
    while i < end:
        if value == ALETTER and _is_letter(data[i]):
            i += 1
            while i < end and _is_letter(data[i]):
                i += 1
            held |= ALNUM | INK | PYTHON_INK
            last = ALETTER
            continue
        cp, after = decode(data, i)
        bits = properties[cp]
        now = bits & VALUE
        if now < EXTEND:  # else WB4: no end before it
            if last == ZWJ and bits & PICTOGRAPH:  # WB3c
                value = now
            elif now < PAIRED and value < PAIRED:
                if not (JOINS >> (PAIRED * value + now)) & 1:
                    break
                value = now
            elif now == SPACES:
                if last != SPACES:  # WB3d
                    break
            elif now == REGIONAL_INDICATOR:
                if value != REGIONAL_INDICATOR:  # WB15, WB16
                    break
                value = OTHER
            elif MID_LETTER <= now <= DOUBLE_QUOTE:
                following, stop, passed = _after_skipped(data, after, end, properties)
                if _bridges(value, now, following):
                    value = now = following
                    after, bits = stop, bits | passed
                elif value == HEBREW_LETTER and now == SINGLE_QUOTE:  # WB7a
                    value = SINGLE_QUOTE
                else:
                    break
            else:
                break
        held |= bits
        last = now
        i = after
    return i, held


@inlined
def _is_letter(byte):
    return 0x61 <= byte | 0x20 <= 0x7A


@kernel
def _after_skipped(data, i, end, properties):
    """Value of the next character that no rule skips, the position after it, and the bits of all up to it."""
    held = 0
    while i < end:
        cp, i = decode(data, i)
        bits = properties[cp]
        held |= bits
        if bits & VALUE < EXTEND:
            return bits & VALUE, i, held
    return OTHER, end, held


@kernel
def _bridges(before, mark, after):
    """True if a mark joins what is before and after it: WB6, WB7, WB7b, WB7c, WB11 and WB12."""
    if before == NUMERIC:
        return after == NUMERIC and (mark == MID_NUM or mark == MID_NUM_LET or mark == SINGLE_QUOTE)
    if mark == DOUBLE_QUOTE:
        return before == HEBREW_LETTER and after == HEBREW_LETTER
    letters = (before == ALETTER or before == HEBREW_LETTER) and (after == ALETTER or after == HEBREW_LETTER)
    return letters and mark != MID_NUM
