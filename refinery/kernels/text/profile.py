"""Character and line counts of a text in one pass over its bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from refinery.kernels.core.blocks import (
    BLOCK,
    controls,
    count_set,
    digits,
    first_set,
    letters,
    line_feeds,
    low_bits,
    tabs_and_line_feeds,
    wide,
)
from refinery.kernels.core.charclass import ALNUM, ALPHA, LINE_END, SPECIAL, classes
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import decode

FIELDS = ("chars", "alnum", "alpha", "special", "lines", "longest_line")

# Three counters share an int64. They are taken out after every block, long before one could overflow.
COUNTER_BITS = 21
COUNTER = (1 << COUNTER_BITS) - 1

CR, LF = 13, 10


@lru_cache(maxsize=1)
def tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tables for `count_rows`.

    by_byte: int64 (256), increment of the packed counters (alnum, alpha, special from the lowest bits up) for an ASCII
    character; -1 for bytes with further handling: ends of lines, and all outside ASCII. by_class: int64 (256), the
    increment for the class bits of a code point. classes: uint8 (0x110000), those class bits.
    """
    table = classes()
    bits = np.arange(256)
    by_class = np.zeros(256, np.int64)
    for place, bit in enumerate((ALNUM, ALPHA, SPECIAL)):
        by_class |= ((bits & bit) != 0).astype(np.int64) << (place * COUNTER_BITS)
    by_byte = by_class[table[:256]]
    by_byte[(bits >= 128) | ((table[:256] & LINE_END) != 0)] = -1
    return by_byte, by_class, table


@entry("uint8[] int64[] bool[] int64[] int64[] uint8[] int64[,]")
def count_rows(data, offsets, valid, by_byte, by_class, table, counts):
    """Fill counts, int64 (6, rows), in the order of FIELDS; invalid rows are left alone."""
    for row in range(len(valid)):
        if valid[row]:
            of_text = _count(data, offsets[row], offsets[row + 1], by_byte, by_class, table)
            for k in range(6):
                counts[k, row] = of_text[k]


@kernel
def _count(data, start, end, by_byte, by_class, table):
    alnum = alpha = special = lines = longest = 0
    i = start
    inner = 0  # continuation bytes so far: i - start - inner characters lie before byte i
    line = 0  # characters before the current line
    while i < end:
        stop = min(end, i + BLOCK)
        if i + BLOCK <= len(data):
            here = low_bits(stop - i)
            feeds = line_feeds(data, i) & here
            if (wide(data, i) | (controls(data, i) ^ tabs_and_line_feeds(data, i))) & here == 0:
                letter, digit = letters(data, i) & here, digits(data, i) & here
                alpha += count_set(letter)
                alnum += count_set(letter | digit)
                special += count_set(here & ~letter)
                while feeds:
                    at = i + first_set(feeds) - start - inner
                    longest = max(longest, at - line)
                    line = at + 1
                    lines += 1
                    feeds &= feeds - np.uint64(1)
                i = stop
                continue
        packed = 0
        while i < stop:
            added = by_byte[data[i]]
            if added >= 0:
                packed += added
                i += 1
                continue
            at = i - start - inner
            cp, i = decode(data, i)
            inner = i - start - at - 1
            bits = table[cp]
            packed += by_class[bits]
            if bits & LINE_END:
                lines += 1
                longest = max(longest, at - line)
                if cp == CR and i < end and data[i] == LF:
                    packed += by_class[table[LF]]
                    i += 1
                line = i - start - inner
        alnum += packed & COUNTER
        alpha += (packed >> COUNTER_BITS) & COUNTER
        special += packed >> (2 * COUNTER_BITS)
    chars = end - start - inner
    if line < chars:
        lines += 1
        longest = max(longest, chars - line)
    return chars, alnum, alpha, special, lines, longest
