"""Measures of the words of texts that Gopher's filter looks at: marks, letters, lengths and stop words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import (
    BLOCK,
    any_of,
    count_set,
    first_set,
    is_byte,
    lanes,
    last_set,
    letters,
    line_feeds,
    low_bits,
    wide,
    within,
)
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.words.lexicon import Lexicon, lexicon, listed
from refinery.kernels.words.mark_characters import ALPHA, INKED, classes

FIELDS = ("words", "inked", "inked_chars", "alphas", "stops")
LINE_FEED = 0x0A

WORDS, INKED_WORDS, INKED_CHARS, ALPHAS, STOPS = range(len(FIELDS))

# ASCII that is not punctuation, and may be in a word
_inked = lanes(
    lambda x: any_of(within(x | 0x20, 0x61, 0x7A), within(x, 0x30, 0x39), is_byte(x, b" "), is_byte(x, b"\t"))
)


@lru_cache(maxsize=16)
def _numbered(words: tuple[str, ...]) -> Lexicon:
    """Table of different words, numbered from 1."""
    return lexicon({word: number for number, word in enumerate(dict.fromkeys(words), 1)})


def gopher_words(joined: pa.Array | pa.ChunkedArray, stops: Sequence[str]) -> pa.Array:
    """Measures of words with U+000A between two, as a struct; NULL for NULL.

    words: their number. inked: those with a character that is neither punctuation nor an end mark; inked_chars: of these,
    code points. alphas: words with a letter. stops: how many of the stop words are among the words.
    """
    view = texts(joined)
    counts = np.zeros((len(view), len(FIELDS)), np.int64)
    seen = np.full(len(stops) + 1, -1, np.int64)
    _measure_rows(view.data, view.offsets, view.valid, classes(), _numbered(tuple(stops)), seen, counts)
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry("uint8[] int64[] bool[] uint8[] Lexicon int64[] int64[,]", Lexicon)
def _measure_rows(data, offsets, valid, table, stops, seen, counts):
    """Fill counts, int64 (rows, FIELDS). seen: for each stop word the last row that has it."""
    for row in range(len(valid)):
        begin, end = offsets[row], offsets[row + 1]
        while valid[row] and begin < end:
            feeds = _word_ends(data, begin, end)
            if feeds:
                size = _add_words(data, begin, feeds, counts[row])
            else:
                size = _add_any_word(data, begin, end, table, counts[row]) - begin
                feeds = np.uint64(1) << np.uint64(min(size, BLOCK - 1))
            if counts[row, STOPS] < len(seen) - 1:
                _find_stops(data, begin, begin + size, feeds, stops, seen, row, counts)
            begin += size + 1


@inlined
def _word_ends(data, begin, end):
    """Ends of the ASCII words from `begin` on within 64 bytes, as bits: line feeds, or the end of the text."""
    if begin + BLOCK > len(data):
        return np.uint64(0)
    size = min(BLOCK, end - begin)
    feeds = line_feeds(data, begin) & low_bits(size)
    if size < BLOCK and not (feeds >> np.uint64(size - 1)) & np.uint64(1):
        feeds |= np.uint64(1) << np.uint64(size)
    ascii_size = first_set(wide(data, begin))
    return feeds & low_bits(min(ascii_size + (ascii_size >= size), BLOCK))


@inlined
def _add_words(data, begin, feeds, counts):
    """Measure the words that end where `feeds` has a bit; returns the place of the last one.

    A sum carries a bit from the begin of each word through characters without a property: it reaches the end of the word if
    none has the property.
    """
    size = last_set(feeds)
    inner = low_bits(size) & ~feeds
    begins = ((feeds << np.uint64(1)) | np.uint64(1)) & low_bits(size + 1)
    words = count_set(feeds)
    lacking = ((inner & ~_inked(data, begin)) + begins) & feeds
    counts[WORDS] += words
    counts[INKED_WORDS] += words - count_set(lacking)
    counts[ALPHAS] += words - count_set(((inner & ~letters(data, begin)) + begins) & feeds)
    counts[INKED_CHARS] += size - words + 1 - _marks(feeds, lacking)
    return size


@inlined
def _find_stops(data, begin, end, feeds, stops, seen, row, counts):
    """Note the stop words among the words that end where `feeds` has a bit, or at `end`."""
    at = begin
    while feeds:
        stop = min(begin + first_set(feeds), end) if feeds & (feeds - np.uint64(1)) else end
        number = listed(stops, data, at, stop)
        if seen[number] != row and number:
            seen[number] = row
            counts[row, STOPS] += 1
        at = stop + 1
        feeds &= feeds - np.uint64(1)


@inlined
def _marks(feeds, lacking):
    """Bytes of the words that end where `lacking` has a bit."""
    total = 0
    while lacking:
        stop = first_set(lacking)
        total += stop - 1 - last_set(feeds & low_bits(stop))
        lacking &= lacking - np.uint64(1)
    return total


@kernel
def _add_any_word(data, begin, end, table, counts):
    bits = chars = 0
    i = begin
    while i < end and data[i] != LINE_FEED:
        cp, i = decode(data, i)
        bits |= table[cp]
        chars += 1
    counts[WORDS] += 1
    counts[ALPHAS] += bits & ALPHA != 0
    if bits & INKED:
        counts[INKED_WORDS] += 1
        counts[INKED_CHARS] += chars
    return i
