"""Counts of kinds of characters in a text, by the classes of Python's `str` and datatrove."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from refinery.kernels.core.blocks import (
    BLOCK,
    any_of,
    count_set,
    digits,
    equal_to,
    first_set,
    lanes,
    letters,
    low_bits,
    separators,
    wide,
    within,
)
from refinery.kernels.core.charclass import ALPHA as ALPHAS
from refinery.kernels.core.charclass import SPACE as SPACES
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.dedup.sentence_units import MARKS

FIELDS = ("chars", "spaces", "alphas", "digits", "uppers", "ellipses", "marks")

# Bits of a code point: str.isspace, isalpha, isdigit, isupper; U+2026; datatrove's punctuation.
SPACE, ALPHA, DIGIT, UPPER, ELLIPSIS, PUNCTUATION = (1 << n for n in range(6))

_capitals = lanes(lambda x: within(x, 0x41, 0x5A))
_blanks = lanes(lambda x: any_of(within(x, 0x09, 0x0D), within(x, 0x1C, 0x20)))  # str.isspace

COUNTER = 8  # bits of a counter of one block, which has at most 64 characters
FULL_STOP = 0x2E


@lru_cache(maxsize=1)
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Tables for `count_rows`: bits of every code point (uint8), and the packed counter increments of bits (int64)."""
    known = classes()
    bits = np.where(known & SPACES, np.uint8(SPACE), np.uint8(0)) | np.where(
        known & ALPHAS, np.uint8(ALPHA), np.uint8(0)
    )
    for code_point in range(0x20000):  # beyond, no character is a digit or in upper case; a test checks all of them
        char = chr(code_point)
        if char.isdigit() or char.isupper():
            bits[code_point] |= char.isdigit() * DIGIT | char.isupper() * UPPER
    for char in MARKS:
        bits[ord(char)] |= PUNCTUATION
    bits[ord("…")] |= ELLIPSIS
    added = np.zeros(256, np.int64)
    for place in range(6):
        added |= ((np.arange(256) >> place) & 1) << (place * COUNTER)
    return bits, added


@entry("uint8[] int64[] bool[] uint8[] int64[] int64[,]")
def count_rows(data, offsets, valid, bits, added, counts):
    """Fill counts, int64 (7, rows), in the order of FIELDS; invalid rows are left alone.

    ellipses: characters of non-overlapping `...`, and of U+2026.
    """
    for row in range(len(valid)):
        if valid[row]:
            of_text = _count(data, offsets[row], offsets[row + 1], bits, added)
            for k in range(7):
                counts[k, row] = of_text[k]


@kernel
def _count(data, start, end, bits, added):
    chars = spaces = alphas = numbers = uppers = ellipses = marks = 0
    i = start
    last, run = -2, 0  # the last full stop, and the length of its run since the last three
    while i < end:
        stop = min(end, i + BLOCK)
        if i + BLOCK <= len(data):
            here = low_bits(stop - i)
            if wide(data, i) & here == 0:
                letter, digit = letters(data, i) & here, digits(data, i) & here
                chars += stop - i
                alphas += count_set(letter)
                numbers += count_set(digit)
                uppers += count_set(_capitals(data, i) & here)
                spaces += count_set(_blanks(data, i) & here)
                marks += count_set(here & ~(letter | digit | separators(data, i)))
                stops = equal_to(data, i, FULL_STOP) & here
                while stops:
                    at = i + first_set(stops)
                    run = run + 1 if at == last + 1 else 1
                    last = at
                    if run == 3:
                        ellipses += 3
                        run = 0
                    stops &= stops - np.uint64(1)
                i = stop
                continue
        packed = 0
        while i < stop:
            if data[i] == FULL_STOP:
                run = run + 1 if i == last + 1 else 1
                last = i
                if run == 3:
                    ellipses += 3
                    run = 0
            cp, i = decode(data, i)
            packed += added[bits[cp]]
            chars += 1
        spaces += packed & 0xFF
        alphas += (packed >> COUNTER) & 0xFF
        numbers += (packed >> 2 * COUNTER) & 0xFF
        uppers += (packed >> 3 * COUNTER) & 0xFF
        ellipses += (packed >> 4 * COUNTER) & 0xFF
        marks += (packed >> 5 * COUNTER) & 0xFF
    return chars, spaces, alphas, numbers, uppers, ellipses, marks
