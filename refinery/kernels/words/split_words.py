"""Measures of the white space words of a text, those of `str.split` in Python or of `split_whitespace` in Rust."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.common.packages import installed_version
from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import BLOCK, equal_to, first_set, lanes, letters, low_bits, within
from refinery.kernels.core.charclass import CODE_POINTS, kept
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.words.lexicon import short_word

FIELDS = (
    "words", "chars", "bytes", "longest", "alpha", "stops", "lower_stops", "different_stops", "marked_words", "symbol_words",
    "lettered",
)  # fmt: skip
(
    WORDS, CHARS, BYTES, LONGEST, ALPHA, STOPS, LOWER_STOPS, DIFFERENT_STOPS, MARKED, SYMBOLS, LETTERED,
) = range(len(FIELDS))  # fmt: skip

IS_SPACE, IS_ALPHA, IS_LETTER = 1, 2, 4  # the last one: the property Alphabetic
COUNTED = 256  # words of fewer characters are counted by their length for the median

HASH, ELLIPSIS = 0x23, 0x2026

_plain = lanes(lambda x: within(x, 0x21, 0x7E))


@lru_cache(maxsize=2)
def classes(rust: bool) -> np.ndarray:
    """White space and letters by code point, as bits, of Python or of Rust (properties White_Space and Alphabetic)."""
    name = f"split-{'rust' if rust else 'python'}-letters-regex{installed_version('regex')}"
    return kept(name, np.uint8, _rust if rust else _python)


def _python() -> np.ndarray:
    points = map(chr, range(CODE_POINTS))
    table = np.array([IS_SPACE * one.isspace() | IS_ALPHA * one.isalpha() for one in points], np.uint8)
    return table | _having(r"\p{Alphabetic}") * np.uint8(IS_LETTER)


def _rust() -> np.ndarray:
    return _having(r"\p{White_Space}") * np.uint8(IS_SPACE) | _having(r"\p{Alphabetic}") * np.uint8(
        IS_ALPHA | IS_LETTER
    )


def _having(pattern: str) -> np.ndarray:
    """True for the code points that match a pattern of one character."""
    import regex

    having = np.zeros(CODE_POINTS, np.bool_)
    for match in regex.finditer(pattern + "+", "".join(map(chr, range(CODE_POINTS)))):
        having[match.start() : match.end()] = True
    return having


def split_words(column: pa.Array | pa.ChunkedArray, rust: bool) -> pa.Array:
    """Measures of the words of each text, as a struct; NULL for NULL. See the feature of this name."""
    view = texts(column)
    counts, medians = np.zeros((len(view), len(FIELDS)), np.int64), np.zeros(len(view))
    _measure_rows(
        view.data, view.offsets, view.valid, classes(bool(rust)), np.zeros(COUNTED + 1, np.int64), counts, medians
    )
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)}, median=medians)


@entry("uint8[] int64[] bool[] uint8[] int64[] int64[,] float64[]")
def _measure_rows(data, offsets, valid, table, sizes, counts, medians):
    """Fill counts, int64 (rows, FIELDS), and medians; sizes is room for the number of words of each length."""
    for row in range(len(valid)):
        if valid[row]:
            start, end = offsets[row], offsets[row + 1]
            _measure(data, start, end, table, sizes, counts[row])
            medians[row] = _median(data, start, end, table, sizes, counts[row])


@kernel
def _measure(data, start, end, table, sizes, counts):
    sizes[:] = 0
    stops = 0  # bits of the stop words so far
    i = start
    while i < end:
        if data[i] == 32:
            i += 1
            continue
        if i + BLOCK <= len(data):
            size = min(first_set(~_plain(data, i)), end - i)
            stop = i + size
            if 0 < size < BLOCK and (stop == end or _is_blank(data[stop])):
                here = low_bits(size)
                alpha = letters(data, i) & here != 0
                counts[MARKED] += equal_to(data, i, HASH) & here != 0
                counts[LETTERED] += alpha
                stops |= _add(data, i, stop, size, alpha, sizes, counts)
                i = stop + 1
                continue
        stop, size, has, marked = _next_word(data, i, end, table)
        if size:
            counts[MARKED] += marked
            counts[LETTERED] += has & IS_LETTER != 0
            stops |= _add(data, i, stop, size, has & IS_ALPHA != 0, sizes, counts)
            i = stop
        else:
            i = decode(data, i)[1]
    for bit in range(8):
        counts[DIFFERENT_STOPS] += (stops >> bit) & 1


@inlined
def _is_blank(byte):
    """True for white space of ASCII that Python and Rust agree on."""
    return byte == 32 or 9 <= byte <= 13


@kernel
def _next_word(data, i, end, table):
    """End of the word at i, its characters, the bits that one of them has, and whether any is a hash or an ellipsis."""
    size, has = 0, np.uint8(0)
    marked = False
    while i < end:
        cp, after = decode(data, i)
        if table[cp] & IS_SPACE:
            break
        has |= table[cp]
        marked |= cp == HASH or cp == ELLIPSIS
        size += 1
        i = after
    return i, size, has, marked


@inlined
def _add(data, begin, stop, size, alpha, sizes, counts):
    """Count a word of so many characters; returns the bit of the stop word that it is, or 0."""
    counts[WORDS] += 1
    counts[CHARS] += size
    counts[BYTES] += stop - begin
    counts[LONGEST] = max(counts[LONGEST], size)
    counts[ALPHA] += alpha
    sizes[min(size, COUNTED)] += 1
    if not 0x61 <= (data[begin] | 0x20) <= 0x7A:
        counts[SYMBOLS] += _is_symbol(data, begin, stop, size)
        return 0
    if stop - begin > 4 or stop - begin < 2:
        return 0
    word = short_word(data, begin, stop)
    bit = _stop_word(word | (np.uint64(0x20202020) & low_bits(8 * (stop - begin))))
    counts[LOWER_STOPS] += bit != 0
    counts[STOPS] += bit != 0 and _stop_word(word) != 0
    return bit


@inlined
def _stop_word(word):
    """Bit of a stop word whose bytes are this number: the, be, to, of, and, that, have, with; or 0."""
    return (
        (word == 0x656874) | (word == 0x6562) << 1 | (word == 0x6F74) << 2 | (word == 0x666F) << 3
        | (word == 0x646E61) << 4 | (word == 0x74616874) << 5 | (word == 0x65766168) << 6 | (word == 0x68746977) << 7
    )  # fmt: skip


@kernel
def _is_symbol(data, begin, stop, size):
    """True for an ellipsis by itself or in brackets, for -» and where runs of hashes are more than half of the characters."""
    if data[begin] == HASH:
        runs = 0
        for i in range(begin, stop):
            runs += data[i] == HASH and (i == begin or data[i - 1] != HASH)
        return 2 * runs > size
    if size == 2:
        return data[begin] == 0x2D and decode(data, begin + 1)[0] == 0xBB
    first, last = data[begin], data[stop - 1]
    square, dots = first == 0x5B and last == 0x5D, first == 0x28 and last == 0x29 and data[begin + 1] == 0x2E
    bracketed = size > 1 and (square or dots)
    return _is_ellipsis(data, begin + bracketed, stop - bracketed)


@kernel
def _is_ellipsis(data, begin, stop):
    if stop - begin != 3:
        return False
    return (data[begin] == 0x2E and data[begin + 1] == 0x2E and data[begin + 2] == 0x2E) or (
        data[begin] == 0xE2 and data[begin + 1] == 0x80 and data[begin + 2] == 0xA6
    )


@kernel
def _median(data, start, end, table, sizes, counts):
    """Median of the words' lengths; 0 without words."""
    words = counts[WORDS]
    if words == 0:
        return 0.0
    low = _length_at((words - 1) // 2, data, start, end, table, sizes, counts)
    high = low if words & 1 else _length_at(words // 2, data, start, end, table, sizes, counts)
    return (low + high) / 2


@kernel
def _length_at(rank, data, start, end, table, sizes, counts):
    """Length of the word that has this place, from 0, in the order of lengths."""
    passed = 0
    for size in range(COUNTED):
        passed += sizes[size]
        if rank < passed:
            return size
    low, high = COUNTED, counts[LONGEST]
    while low < high:
        middle = (low + high) // 2
        if rank < _at_most(data, start, end, table, middle):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _at_most(data, start, end, table, limit):
    """Number of words of at most so many characters."""
    n = 0
    i = start
    while i < end:
        stop, size, _, _ = _next_word(data, i, end, table)
        n += 0 < size <= limit
        i = stop if size else decode(data, i)[1]
    return n
