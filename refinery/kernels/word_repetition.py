"""How much of a text's words is repeated.

The n words from word i on are one stretch of the string, and its hash is a difference of two prefix hashes. An equal
hash only proposes a pair of n-grams; their bytes decide, so no collision can change a result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from refinery.kernels.arrow import texts
from refinery.kernels.words import SPACE

# Odd constants with well mixed bits: the 64-bit golden ratio, and two of the primes of xxHash64.
GOLDEN, PRIME, BASE = 0x9E3779B97F4A7C15, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F


def word_repetition(column: pa.Array | pa.ChunkedArray, rep_len: int) -> pa.Array:
    """Share of n-grams of `rep_len` words that occur more than once among all n-grams, repeats counted (float64).

    column: words with a single space between them. 0.0 for fewer words than `rep_len`. Raises ValueError for a
    `rep_len` below 1.
    """
    if rep_len < 1:
        raise ValueError(f"rep_len is {rep_len}; an n-gram has at least one word")
    view = texts(column)
    room = int(most_words(view.data, view.offsets, view.valid))
    prefixes, starts = np.empty(room + 1, np.uint64), np.empty(room + 1, np.int64)
    slots = np.empty(slots_for(room - rep_len + 1), np.int32 if room < 2**31 - 1 else np.int64)
    ratios = np.zeros(len(view), np.float64)
    _repetition(view.data, view.offsets, view.valid, rep_len, prefixes, starts, slots, ratios)
    return pa.array(ratios, mask=~view.valid)


@njit(nogil=True, cache=True)
def slots_for(n):
    """Room of a hash table for n entries: a power of two, at most half full."""
    slots = 2
    while slots < 2 * n:
        slots *= 2
    return slots


@njit(nogil=True, cache=True)
def most_words(data, offsets, valid):
    most = 0
    for row in range(len(valid)):
        if valid[row]:
            spaces = 0
            for byte in data[offsets[row] : offsets[row + 1]]:
                spaces += byte == SPACE
            most = max(most, spaces + 1)
    return most


@njit(nogil=True, cache=True)
def _repetition(data, offsets, valid, n, prefixes, starts, slots, ratios):
    power = np.uint64(1)
    for _ in range(min(n, len(starts))):
        power *= np.uint64(BASE)
    for row in range(len(valid)):
        if not valid[row]:
            continue
        count = _prefixes(data, offsets[row], offsets[row + 1], prefixes, starts)
        if count >= n:
            repeated = _repeated(data, count, n, power, prefixes, starts, slots)
            ratios[row] = repeated / (count - n + 1)


@njit(nogil=True, cache=True)
def _prefixes(data, start, end, prefixes, starts):
    """Fill in where each word begins (and where one after the last would), and the hashes of the words before it."""
    if start == end:
        return 0
    count = 0
    prefix, word = np.uint64(0), np.uint64(GOLDEN)
    prefixes[0], starts[0] = prefix, start
    for i in range(start, end):
        byte = data[i]
        if byte != SPACE:
            word = (word ^ byte) * np.uint64(PRIME)
        else:
            prefix = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29)))
            word = np.uint64(GOLDEN)
            count += 1
            prefixes[count], starts[count] = prefix, i + 1
    count += 1
    prefixes[count], starts[count] = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29))), end + 1
    return count


@njit(nogil=True, cache=True)
def _repeated(data, count, n, power, prefixes, starts, slots):
    """Occurrences of n-grams that occur more than once, among `count` words.

    A slot holds 0, or 1 + the first word of an n-gram's first occurrence, negative once a second one has been seen.
    """
    grams = count - n + 1
    used = slots_for(grams)
    slots[:used] = 0
    mask = used - 1
    repeated, previous = 0, -1
    for i in range(grams):
        gram = prefixes[i + n] - prefixes[i] * power
        slot = np.int64((gram * np.uint64(GOLDEN)) >> np.uint64(32)) & mask
        twin = -1
        while slots[slot] != 0 and twin < 0:
            other = abs(slots[slot]) - 1
            if prefixes[other + n] - prefixes[other] * power == gram and _same_grams(
                data, other, i, n, starts, previous >= 0 and other == previous + 1
            ):
                twin = other
            else:
                slot = (slot + 1) & mask
        if twin < 0:
            slots[slot] = i + 1
        elif slots[slot] > 0:
            slots[slot] = -slots[slot]
            repeated += 2
        else:
            repeated += 1
        previous = twin
    return repeated


@njit(nogil=True, cache=True)
def _same_grams(data, a, b, n, starts, overlap):
    """Whether the n words from word a on are those from word b on; with `overlap`, all but the last are known to be."""
    shift = starts[b] - starts[a]
    if starts[b + n] - starts[a + n] != shift:
        return False
    first = a + n - 1 if overlap else a
    for i in range(starts[first], starts[a + n] - 1):
        if data[i] != data[i + shift]:
            return False
    return True
