"""Units of a text whose repetition is measured: lines, paragraphs and words, by several definitions."""

from __future__ import annotations

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import decode
from refinery.kernels.unicode.word_break import ALNUM, PYTHON_ALNUM
from refinery.kernels.unicode.word_segments import segment

# lines, paragraphs: between line feeds, or two of them, stripped of white space; raw_ ones as they are. unicode_words,
# alnum_words: segments of UAX 29 with a letter or digit of Unicode, or whose first character is str.isalnum.
# Empty ones are no units.
KINDS = ("lines", "paragraphs", "raw_lines", "raw_paragraphs", "unicode_words", "alnum_words")
LINES, PARAGRAPHS, RAW_LINES, RAW_PARAGRAPHS, UNICODE_WORDS, ALNUM_WORDS = range(len(KINDS))

LINE_FEED = 0x0A


@kernel
def split(data, start, end, kind, properties, class_table, bounds):
    """Write begin and end of each unit of data[start:end]; returns their number, -1 if there is no room for them."""
    if kind == UNICODE_WORDS or kind == ALNUM_WORDS:
        return _segments(data, start, end, kind == ALNUM_WORDS, properties, bounds)
    return _pieces(data, start, end, kind, class_table, bounds)


@inlined
def _add(bounds, units, begin, end):
    """Write a unit; returns the number of units, more than there is room for if there is none."""
    if units < bounds.shape[1]:
        bounds[0, units], bounds[1, units] = begin, end
    return units + 1


@kernel
def _segments(data, i, end, by_first, properties, bounds):
    units = 0
    while i < end and units <= bounds.shape[1]:
        begin = i
        i, held = segment(data, begin, end, properties)
        if by_first:
            taken = properties[decode(data, begin)[0]] & PYTHON_ALNUM
        else:
            taken = held & ALNUM
        if taken:
            units = _add(bounds, units, begin, i)
    return units if units <= bounds.shape[1] else -1


@kernel
def _pieces(data, start, end, kind, class_table, bounds):
    paragraphs = kind == PARAGRAPHS or kind == RAW_PARAGRAPHS
    units, begin = 0, start
    while begin <= end and units <= bounds.shape[1]:
        stop = begin
        while stop < end and not (
            data[stop] == LINE_FEED and (not paragraphs or (stop + 1 < end and data[stop + 1] == LINE_FEED))
        ):
            stop += 1
        first, last = begin, stop
        if kind == LINES or kind == PARAGRAPHS:
            first, last = stripped(data, begin, stop, class_table)
        if first < last:
            units = _add(bounds, units, first, last)
        begin = stop + (2 if paragraphs else 1)
    return units if units <= bounds.shape[1] else -1
