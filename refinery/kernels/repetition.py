"""Repetition of character n-grams: counts of all n-grams of a text without looking at each one's characters.

Windows of n characters are hashed by doubling: the hashes of 2k characters follow from two hashes of k characters in a
loop that has no dependence between its steps and so runs in vector registers. Equal 64-bit hashes count as equal
n-grams; for a text of a million characters the probability that two different ones meet is 3e-8.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from refinery.kernels.utf8 import decode

# Odd, so that multiplying loses nothing.
BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)

ONE = np.uint64(1)
SLOTS_PER_GRAM = 3  # measured: fewer cost more probes, more cost cache misses


@njit(nogil=True, cache=True)
def ratio_rows(data, offsets, valid, n, ratios):
    """Fill ratios, float64 (rows), with the repetition ratio of n-grams of n characters; see `_ratio`."""
    longest = 0
    for row in range(len(valid)):
        if valid[row]:
            longest = max(longest, offsets[row + 1] - offsets[row])
    points = np.empty(longest, np.uint32)
    hashes = np.empty((2, longest), np.uint64)
    counts = np.empty((3, longest + 1), np.uint32)
    table = np.empty(1 << _table_bits(longest), np.uint32)
    for row in range(len(valid)):
        if not valid[row]:
            continue
        text = data[offsets[row] : offsets[row + 1]]
        ratios[row] = 0.0
        if len(text) < n:
            continue
        if _is_ascii(text):
            grams = _hash_windows(text, n, hashes[0], hashes[1])
        else:
            length = _decode(text, points)
            if length < n:
                continue
            grams = _hash_windows(points[:length], n, hashes[0], hashes[1])
        ratios[row] = _ratio(grams, table, counts[0], counts[1], counts[2])


@njit(nogil=True, cache=True)
def _is_ascii(text):
    high = np.uint8(0)
    for j in range(len(text)):
        high = np.uint8(high | text[j])
    return high < 0x80


@njit(nogil=True, cache=True)
def _decode(text, points):
    i = length = 0
    while i < len(text):
        points[length], i = decode(text, i)
        length += 1
    return length


@njit(nogil=True, cache=True)
def _hash_windows(units, n, room, spare):
    """A 64-bit hash of every window of n units, in a part of `room` or of `spare`.

    Built from the highest bit of n down: windows of k units become windows of 2k, then, where n has that bit, 2k + 1.
    Source and target never overlap, or the loops would not be vectorised.
    """
    length = len(units)
    for j in range(length):
        room[j] = MIX * np.uint64(units[j])
    k = bit = 1
    while bit * 2 <= n:
        bit *= 2
    while bit > 1:
        bit //= 2
        length -= k
        _join(room[:length], room[k : k + length], spare[:length])
        room, spare = spare, room
        k *= 2
        if n & bit:
            length -= 1
            _append(room[:length], units[k : k + length], spare[:length])
            room, spare = spare, room
            k += 1
    return room[:length]


@njit(nogil=True, cache=True)
def _join(left, right, out):
    # The shift keeps this from being a polynomial modulo 2 ** 64, for which different texts of equal hash are known.
    for j in range(len(out)):
        out[j] = (left[j] ^ (left[j] >> HALF)) * BASE + right[j]


@njit(nogil=True, cache=True)
def _append(left, units, out):
    for j in range(len(out)):
        out[j] = (left[j] ^ (left[j] >> HALF)) * BASE + MIX * np.uint64(units[j])


@njit(nogil=True, cache=True)
def _table_bits(grams):
    bits = 4
    while (1 << bits) < SLOTS_PER_GRAM * grams:
        bits += 1
    return bits


@njit(nogil=True, cache=True)
def _ratio(grams, table, first, again, frequencies):
    """Occurrences of the most frequent n-grams, divided by all n-grams.

    Of d different n-grams the floor(sqrt(d)) most frequent ones are taken, and only such as occur more than once.
    """
    different = _count(grams, table, first, again)
    repeated, most = _histogram(again[: len(grams)], frequencies)
    left = min(int(math.sqrt(different)), repeated)
    covered = 0
    for extra in range(most, 0, -1):
        taken = min(left, np.int64(frequencies[extra]))
        covered += taken * (extra + 1)
        left -= taken
        if left == 0:
            break
    return covered / len(grams)


@njit(nogil=True, cache=True)
def _count(grams, table, first, again):
    """Number of different n-grams; again[j] is how often the n-gram at j, when that is its first place, comes again.

    table: open addressing, 1 + the first place of an n-gram, 0 for a free slot. first[j]: first place of the n-gram at
    j. A repeated passage is many repeated n-grams in a row: after one has been found at p, the next one is looked for
    at p + 1, in memory that is at hand, before the table is asked.
    """
    bits = _table_bits(len(grams))
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    table[: 1 << bits] = 0
    again[: len(grams)] = 0
    different = 0
    p = np.int64(-1)
    for j in range(len(grams)):
        gram = grams[j]
        if p >= 0:
            p += 1
            if grams[p] == gram:
                first[j] = first[p]
                again[first[p]] += 1
                continue
        slot = gram >> shift
        p = np.int64(table[slot]) - 1
        while p >= 0 and grams[p] != gram:
            slot = (slot + ONE) & mask
            p = np.int64(table[slot]) - 1
        if p >= 0:
            first[j] = p
            again[p] += 1
        else:
            first[j] = j
            table[slot] = j + 1
            different += 1
    return different


@njit(nogil=True, cache=True)
def _histogram(again, frequencies):
    """How many n-grams come again, and how often at most; frequencies[c] = n-grams that come again c times, c > 0."""
    most = np.int64(0)
    for j in range(len(again)):
        most = max(most, np.int64(again[j]))
    frequencies[: most + 1] = 0
    repeated = 0
    for j in range(len(again)):
        if again[j]:
            frequencies[again[j]] += 1
            repeated += 1
    return repeated, most
