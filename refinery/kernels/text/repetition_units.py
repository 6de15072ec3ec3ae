"""Repetition of n-grams of few characters in texts of few different ones, by the characters themselves.

A text of at most 256 different characters is written with one byte each, its units. An n-gram of up to 16 units is two
words, which are loaded where the n-gram stands, and compared: no hash of it is stored.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import BLOCK, first_set, load_word, low_bits, wide
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import copy, decode

LONGEST = 16  # units of an n-gram
PADDING = BLOCK  # bytes of room behind the units
CODES = 512  # places for the characters of a text beyond ASCII, a power of two
SLOTS_PER_GRAM = 4  # measured

ASCII = 0x80
TOO_MANY = -1
BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xD6E8FEB86659FD93)
ONE = np.uint64(1)


@kernel
def write_units(text, units, codes, numbers):
    """Write a text with one byte for each character; returns their number, TOO_MANY for more than 256 different ones.

    ASCII stays, others get the next number. codes, numbers: room for the others and their numbers, CODES each.
    """
    i = length = known = 0  # known: characters beyond ASCII so far
    cleared = False
    while i < len(text):
        if i + BLOCK <= len(text):
            plain = first_set(wide(text, i))
            copy(text, i, i + BLOCK, units, length)
            i, length = i + plain, length + plain
        while i < len(text) and text[i] < ASCII and i + BLOCK > len(text):
            units[length] = text[i]
            i, length = i + 1, length + 1
        if not cleared and i < len(text) and text[i] >= ASCII:
            codes[:] = 0
            cleared = True
        while i < len(text) and text[i] >= ASCII:
            point, i = decode(text, i)
            slot = _slot(np.uint32(point), codes)
            if codes[slot] == 0:
                if known == ASCII:
                    return TOO_MANY
                codes[slot], numbers[slot] = point, ASCII + known
                known += 1
            units[length] = numbers[slot]
            length += 1
    return length


@inlined
def _slot(point, codes):
    slot = np.uint32(point * np.uint32(0x9E3779B1)) >> np.uint32(23)  # nine bits: CODES places
    while codes[slot] != 0 and codes[slot] != point:
        slot = (slot + np.uint32(1)) & np.uint32(CODES - 1)
    return slot


def most_bits(slots: int) -> int:
    """Bits that number the slots of a table, at least those that `table_bits` uses for so many slots."""
    return max(4, slots.bit_length())


@kernel
def table_bits(slots):
    """Bits that number so many slots, and 16 at least."""
    bits = 4
    while (1 << bits) < slots:
        bits += 1
    return bits


@kernel
def count_units(units, length, n, table, first, again, repeated):
    """Count n-grams: different ones, recurring ones, and those that recur more than once.

    The first positions of the n-grams that recur more than once are written to `repeated`. again[j]: number of
    recurrences of the n-gram whose first position is j. table: open addressing, 1 + the first position of an n-gram, 0
    for a free slot. first[j]: first position of the n-gram at j. A repeated passage is many repeated n-grams in a row,
    of which only the next character is compared.
    """
    grams, last = np.uint64(length - n + 1), np.uint64(n - 1)
    ahead, keep = max(n - 8, 0), low_bits(8 * min(n, 8))
    bits = table_bits(SLOTS_PER_GRAM * (length - n + 1))
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    table[: 1 << bits] = 0
    different = recurring = often = np.uint64(0)
    j = np.uint64(0)
    while j < grams:
        low, high = load_word(units, np.int64(j)) & keep, load_word(units, np.int64(j) + ahead) & keep
        slot = (low * BASE + high * MIX) >> shift
        p = np.uint64(table[slot])
        while p != 0 and not _is_at(units, np.int64(p) - 1, ahead, keep, low, high):
            slot = (slot + ONE) & mask
            p = np.uint64(table[slot])
        if p == 0:
            first[j], again[j] = j, 0
            j += ONE
            table[slot] = j
            different += ONE
            continue
        p -= ONE
        while True:
            place = np.uint64(first[p])
            first[j] = place
            count = again[place]
            again[place] = count + 1
            recurring += np.uint64(count == 0)
            repeated[often] = place
            often += np.uint64(count == 1)
            j, p = j + ONE, p + ONE
            if j == grams or units[j + last] != units[p + last]:
                break
    return np.int64(different), np.int64(recurring), np.int64(often)


@inlined
def _is_at(units, p, ahead, keep, low, high):
    return load_word(units, p) & keep == low and load_word(units, p + ahead) & keep == high
