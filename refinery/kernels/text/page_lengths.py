"""Length of a text as datamap-rs measures pages: in words, sentences, lines, paragraphs or characters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.unicode.word_break import ALNUM, INK, properties
from refinery.kernels.unicode.word_segments import segment, words_in

KINDS = ("word", "sentence", "line", "paragraph", "char")
WORD, SENTENCE, LINE, PARAGRAPH, CHAR = range(len(KINDS))

LINE_FEED = 0x0A


def page_lengths(column: pa.Array | pa.ChunkedArray, kind: str, ignore_punctuation: bool) -> pa.Array:
    """Length of each text (int64). kind: one of KINDS.

    Words: in a text of ASCII runs of letters and digits, else Unicode words; without ignore_punctuation, each ASCII mark is
    one more, or all segments of UAX 29 that are no white space count. Sentences: the marks . ! ? and lines: as Rust's
    `lines` has them. Paragraphs: pieces between two line feeds that are no white space. There is at least one sentence
    and paragraph. Characters: letters and digits, or without ignore_punctuation all.
    """
    view = texts(column)
    lengths = np.zeros(len(view), np.int64)
    _measure(
        view.data, view.offsets, view.valid, KINDS.index(kind), ignore_punctuation, properties(), lengths
    )  # fmt: skip
    return ints(lengths, view.valid)


@entry("uint8[] int64[] bool[] int64 bool uint16[] int64[]")
def _measure(data, offsets, valid, kind, ignore_punctuation, properties, lengths):
    for row in range(len(valid)):
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        if kind == WORD:
            lengths[row] = _words(data, start, end, ignore_punctuation, properties)
        elif kind == SENTENCE:
            lengths[row] = max(1, _marks(data, start, end))
        elif kind == LINE:
            lengths[row] = _lines(data, start, end)
        elif kind == PARAGRAPH:
            lengths[row] = max(1, _paragraphs(data, start, end, properties))
        else:
            lengths[row] = _chars(data, start, end, ignore_punctuation, properties)


@kernel
def _words(data, start, end, ignore_punctuation, properties):
    high = 0
    for i in range(start, end):
        high |= data[i]
    if high < 0x80:
        return _ascii_words(data, start, end, ignore_punctuation)
    if ignore_punctuation:
        return words_in(data, start, end, properties)
    words, i = 0, start
    while i < end:
        i, held = segment(data, i, end, properties)
        words += held & INK != 0
    return words


@kernel
def _ascii_words(data, start, end, ignore_punctuation):
    words, inside = 0, False
    for i in range(start, end):
        alnum = _is_alnum(data[i])
        words += alnum and not inside
        words += not alnum and not ignore_punctuation and 0x21 <= data[i] <= 0x7E
        inside = alnum
    return words


@inlined
def _is_alnum(byte):
    return 0x61 <= byte | 0x20 <= 0x7A or 0x30 <= byte <= 0x39


@kernel
def _marks(data, start, end):
    marks = 0
    for i in range(start, end):
        marks += data[i] == 0x2E or data[i] == 0x21 or data[i] == 0x3F
    return marks


@kernel
def _lines(data, start, end):
    lines = 0
    for i in range(start, end):
        lines += data[i] == LINE_FEED
    return lines + (start < end and data[end - 1] != LINE_FEED)


@kernel
def _paragraphs(data, i, end, properties):
    paragraphs, inked = 0, False
    while i < end:
        if data[i] == LINE_FEED and i + 1 < end and data[i + 1] == LINE_FEED:
            inked = False
            i += 2
            continue
        if not inked:
            cp, after = decode(data, i)
            inked = properties[cp] & INK != 0
            paragraphs += inked
            i = after
        else:
            i += 1
    return paragraphs


@kernel
def _chars(data, i, end, ignore_punctuation, properties):
    chars = 0
    while i < end:
        cp, i = decode(data, i)
        chars += not ignore_punctuation or properties[cp] & ALNUM != 0
    return chars
