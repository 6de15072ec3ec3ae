"""Measures of the words of a text, as datatrove defines them; words are those of `word_rules`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import (
    BLOCK,
    count_set,
    lanes,
    low_bits,
    wide,
    within,
)
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.text.split_lines import next_line
from refinery.kernels.words import text_set
from refinery.kernels.words.lexicon import Lexicon, lexicon, look_up, word_key
from refinery.kernels.words.word_addresses import FULL_STOP
from refinery.kernels.words.word_exceptions import EXCEPTION, rules
from refinery.kernels.words.word_pieces import blanks_end, is_letter, is_plain_mark, piece
from refinery.kernels.words.word_rules import CASED_LOWER, CASED_UPPER, TITLE
from refinery.kernels.words.word_tokens import cut_piece

FIELDS = ("words", "chars", "uppers", "titles", "stops", "types", "lines")
WORDS, CHARS, UPPERS, TITLES, STOPS, TYPES, LINES, MARKS_LOW, MARKS_HIGH = range(len(FIELDS) + 2)

ROOM = 3 * 4096 + 3

_capitals = lanes(lambda x: within(x, 0x41, 0x5A))
_small = lanes(lambda x: within(x, 0x61, 0x7A))


@lru_cache(maxsize=16)
def stop_words(words: tuple[str, ...]) -> Lexicon:
    """Table of the words."""
    return lexicon(dict.fromkeys(words, 1))


def word_stats(
    column: pa.Array | pa.ChunkedArray, stops: Sequence[str], short: Sequence[int], long: Sequence[int]
) -> pa.Array:
    """Measures of each text as a struct; NULL for NULL.

    Number of words, their code points; numbers of words that are str.isupper, str.istitle, in `stops`; number of
    different words; lines as in str.splitlines; and (lists) numbers of words with at most, and at least, as many code
    points as each limit.
    """
    view = texts(column)
    rows = len(view)
    counts = np.zeros((rows, len(FIELDS) + 2), np.int64)
    shorter, longer = np.zeros((rows, len(short)), np.int64), np.zeros((rows, len(long)), np.int64)
    limits = np.array(short, np.int64), np.array(long, np.int64)
    text_set.fill(
        rows, _measure, view.data, view.offsets, view.valid, *rules(), stop_words(tuple(stops)), *limits, counts, shorter,
        longer, room=ROOM,
    )  # fmt: skip
    fields = {name: counts[:, k] for k, name in enumerate(FIELDS)}
    return structs(view.valid, **fields, short=lists(shorter), long=lists(longer))


@entry(
    "int64 int64[,] int64[] uint8[] int64[] bool[] uint32[] Lexicon uint8[,] int16[,] Lexicon int64[] int64[] int64[,] int64[,] int64[,] -> int64 int64",
    Lexicon,
)
def _measure(
    row, table, room, data, offsets, valid, classes, known, pairs, phrases, stops, short, long, counts, shorter, longer
):  # fmt: skip
    """Measure rows from `row` on, for `text_set.fill`; returns the row reached and the size that `room` must have."""
    while row < len(valid):
        if valid[row]:
            needed = _measure_text(
                data, offsets[row], offsets[row + 1], table, room, classes, known, pairs, phrases, stops, short, long, counts[row],
                shorter[row], longer[row],
            )  # fmt: skip
            if needed >= 0:
                return row, needed
        row += 1
    return row, 0


@kernel
def _measure_text(
    data, start, end, table, room, classes, known, pairs, phrases, stops, short, long, counts, shorter, longer
):
    """Measure one text; returns -1, or without room the numbers that `room` must hold (0: the table is full)."""
    counts[:] = 0
    shorter[:] = 0
    longer[:] = 0
    i = start
    while i < end:
        begin = i
        size, i = piece(data, begin, end, classes)
        if i == begin:
            i = blanks_end(data, begin, end)
            continue
        if 2 * counts[TYPES] >= len(table):
            return 0
        rest = i - begin - size  # bytes after the letters
        mark = rest == 1 and size > 0 and is_plain_mark(data[i - 1])
        if (
            mark
            and data[i - 1] == FULL_STOP
            and (data[i - 2] < 0x61 or look_up(known, word_key(data, begin, i), data, begin, i))
        ):
            mark = False
        if size > 0 and (rest == 0 or mark):
            key = word_key(data, begin, begin + size)
            value = look_up(known, key, data, begin, begin + size)
            if not value & EXCEPTION or (value >> 8) & 0xFF == size:
                _add_letters(data, begin, begin + size, key, start, table, stops, short, long, counts, shorter, longer)
                if mark:
                    _add_mark(data, i - 1, stops, short, long, counts, shorter, longer)
                continue
        if size == 0 and rest == 1 and data[begin] < 0x80 and not 0x30 <= data[begin] <= 0x39:
            _add_mark(data, begin, stops, short, long, counts, shorter, longer)
            continue
        if 3 * (i - begin) + 3 > len(room):
            return 3 * (i - begin) + 3
        n = cut_piece(data, begin, i, start, end, classes, known, pairs, phrases, room)
        if n < 0:
            return -n
        if 2 * (counts[TYPES] + n) > len(table):
            return 0
        for k in range(n):
            stop = room[k + 1] if k + 1 < n else i
            begin = room[k]
            if stop == begin + 1 and _is_mark(data[begin]):
                _add_mark(data, begin, stops, short, long, counts, shorter, longer)
            else:
                _add(data, begin, stop, start, table, classes, stops, short, long, counts, shorter, longer)
    counts[LINES] = _lines(data, start, end)
    counts[TYPES] += count_set(np.uint64(counts[MARKS_LOW])) + count_set(np.uint64(counts[MARKS_HIGH]))
    return -1


@inlined
def _is_mark(byte):
    """True for ASCII characters other than letters and digits."""
    return byte < 0x80 and not is_letter(byte) and not 0x30 <= byte <= 0x39


@inlined
def _add_size(size, short, long, counts, shorter, longer):
    """Count a word of `size` characters."""
    counts[WORDS] += 1
    counts[CHARS] += size
    for k in range(len(short)):
        shorter[k] += size <= short[k]
    for k in range(len(long)):
        longer[k] += size >= long[k]


@inlined
def _add_mark(data, i, stops, short, long, counts, shorter, longer):
    """Count a word of one ASCII character that is no letter or digit; bits record the different ones."""
    byte = np.int64(data[i])
    _add_size(1, short, long, counts, shorter, longer)
    counts[MARKS_LOW if byte < 64 else MARKS_HIGH] |= np.int64(1) << (byte & 63)
    if look_up(stops, word_key(data, i, i + 1), data, i, i + 1):
        counts[STOPS] += 1


@inlined
def _add_letters(data, begin, end, key, text, table, stops, short, long, counts, shorter, longer):
    """Count a word of ASCII letters."""
    size = end - begin
    _add_size(size, short, long, counts, shorter, longer)
    if data[begin] < 0x61:
        lower = 0
        for i in range(begin + 1, end):
            lower += data[i] >= 0x61
        counts[UPPERS] += lower == 0
        counts[TITLES] += lower == size - 1
    if look_up(stops, key, data, begin, end):
        counts[STOPS] += 1
    counts[TYPES] += not text_set.add(table, data, key, begin, end, text)


@kernel
def _add(data, begin, end, text, table, classes, stops, short, long, counts, shorter, longer):
    """Count any word."""
    size = end - begin
    if size <= BLOCK and begin + BLOCK <= len(data) and not wide(data, begin) & low_bits(size):
        large, small = _capitals(data, begin) & low_bits(size), _small(data, begin) & low_bits(size)
        followed = (large | small) << np.uint64(1)  # behind a letter
        counts[UPPERS] += large != 0 and small == 0
        counts[TITLES] += large != 0 and not (large & followed) and not (small & ~followed)
    else:
        size = _add_case(data, begin, end, classes, counts)
    _add_size(size, short, long, counts, shorter, longer)
    key = word_key(data, begin, end)
    if look_up(stops, key, data, begin, end):
        counts[STOPS] += 1
    counts[TYPES] += not text_set.add(table, data, key, begin, end, text)


@kernel
def _add_case(data, begin, end, classes, counts):
    """Count a word that is str.isupper or str.istitle; returns its code points."""
    size = 0
    upper = title = True
    cased = inside = False  # whether any character has case; whether the previous one has
    i = begin
    while i < end:
        cp, i = decode(data, i)
        bits = classes[cp]
        size += 1
        if bits & (CASED_UPPER | TITLE):
            title = title and not inside
            upper = upper and not bits & TITLE
            cased = inside = True
        elif bits & CASED_LOWER:
            title = title and inside
            upper = False
            cased = inside = True
        else:
            inside = False
    counts[UPPERS] += cased and upper
    counts[TITLES] += cased and title
    return size


@kernel
def _lines(data, start, end):
    """Number of lines as in str.splitlines."""
    lines = 0
    while start < end:
        _, start = next_line(data, start, end)
        lines += 1
    return lines
