"""Pieces of a text, which lie between white space: the bounds of the next one, and marks that end a word."""

from __future__ import annotations

from refinery.kernels.core.blocks import BLOCK, any_of, first_set, lanes, letters, wide, within
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.words.word_rules import SPACE

blanks = lanes(lambda x: any_of(within(x, 0x09, 0x0D), within(x, 0x1C, 0x20)))  # ASCII of str.isspace


@inlined
def piece(data, begin, end, classes):
    """Number of leading ASCII letters of the piece at `begin`, and its end, which is `begin` at white space."""
    if begin + BLOCK > len(data):
        i = begin
        while i < end and is_letter(data[i]):
            i += 1
        return i - begin, piece_end(data, i, end, classes)
    size = min(first_set(~letters(data, begin)), end - begin)
    i = begin + first_set(blanks(data, begin) | wide(data, begin))
    if i >= end:
        return size, end
    if data[i] < 0x80 and classes[data[i]] & SPACE:
        return size, i
    return size, piece_end(data, i, end, classes)


@kernel
def piece_end(data, i, end, classes):
    """Position of the next white space from i on, or `end`; i must not be inside a character."""
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(blanks(data, i) | wide(data, i))
            i += run
            if i >= end:
                return end
            if run == BLOCK:  # all of them ASCII
                continue
        cp, after = decode(data, i)
        if classes[cp] & SPACE:
            return i
        i = after
    return end


@inlined
def blanks_end(data, i, end):
    """End of the white space at i, or of a part of it."""
    if i + BLOCK <= len(data) and data[i] < 0x80:
        return min(i + first_set(~blanks(data, i)), end)
    return decode(data, i)[1]


@inlined
def is_letter(byte):
    return 0x61 <= (byte | 0x20) <= 0x7A


@inlined
def is_plain_mark(byte):
    """True for marks that end a word; no exception that begins with a letter ends with one, except the full stop."""
    return byte == 0x2C or byte == 0x2E or byte == 0x3A or byte == 0x3B or byte == 0x21 or byte == 0x3F or byte == 0x22
