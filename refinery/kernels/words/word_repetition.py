"""Share of repeated word n-grams of a text.

The n words from word i on are one substring, and its hash is a difference of two prefix hashes. An equal hash only
proposes a pair of n-grams; their bytes decide, so no collision can change a result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import EXACT, ints, numbers, texts
from refinery.kernels.core.blocks import BLOCK, load_word
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.words.words import SPACE, lowered, refine_row, tables

# Odd constants with well mixed bits: the 64-bit golden ratio, and two of the primes of xxHash64.
GOLDEN, PRIME, BASE = 0x9E3779B97F4A7C15, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
LOAD = 8  # bytes of a word that are hashed at once
MANY = 1 << 16  # n-grams for which a table with few collisions does not fit into caches


def word_repetition(column: pa.Array | pa.ChunkedArray, rep_len: int) -> pa.Array:
    """Share of n-grams of `rep_len` refined words that occur more than once among all n-grams, repeats counted.

    float64; 0.0 for fewer words than `rep_len`. Raises ValueError for a `rep_len` below 1.
    """
    if rep_len < 1:
        raise ValueError(f"rep_len is {rep_len}; an n-gram has at least one word")
    view = texts(column)
    longest = int(np.max(np.diff(view.offsets), initial=0))
    room = longest // 2 + 2  # most of it is never touched, and so never allocated by the system
    words = np.empty(longest + 2 * BLOCK, np.uint8)
    starts, prefixes = np.empty(room, np.int64), np.empty(room, np.uint64)
    slots = np.empty(slots_for(max(room - rep_len, 1)), np.int32 if room < 2**31 - 1 else np.int64)
    ratios, state = np.zeros(len(view), np.float64), np.zeros(len(view), np.uint8)
    _repetition(view.data, view.offsets, view.valid, rep_len, *tables(), words, starts, prefixes, slots, ratios, state)
    todo = np.flatnonzero(state == EXACT)
    if len(todo):
        ratios[todo] = numbers(word_repetition(lowered(view, todo), rep_len))
    return ints(ratios, view.valid)


@entry("int64 -> int64")
def slots_for(n):
    """Capacity of a hash table for n entries: a power of two, at most half full, an eighth if the entries are few.

    Room for n entries is room for fewer.
    """
    wanted = max(2 * n, 8 * min(n, MANY))
    slots = 2
    while slots < wanted:
        slots *= 2
    return slots


@entry("uint8[] int64[] bool[] -> int64")
def most_words(data, offsets, valid):
    most = 0
    for row in range(len(valid)):
        if valid[row]:
            spaces = 0
            for byte in data[offsets[row] : offsets[row + 1]]:
                spaces += byte == SPACE
            most = max(most, spaces + 1)
    return most


@entry("uint8[] int64[] bool[] int64 int64[] uint8[] int32[] uint8[] int64[] uint64[] int32[] float64[] uint8[]")
def _repetition(
    data, offsets, valid, n, kinds, lower, code_points, words, starts, prefixes, slots, ratios, state
):  # fmt: skip
    power = power_of(min(n, len(starts)))
    for row in range(len(valid)):
        if not valid[row]:
            continue
        _, count, end = refine_row(data, offsets[row], offsets[row + 1], kinds, lower, code_points, words, 0, starts)
        if end < 0:
            state[row] = EXACT
        elif count >= n:
            starts[count] = end + 1
            _hash_words(words, starts, count, prefixes)
            ratios[row] = repeated_share(words, count, n, power, prefixes, starts, slots)


@kernel
def power_of(n):
    """The factor by which n words move the hash of the words before them."""
    power = np.uint64(1)
    for _ in range(n):
        power *= np.uint64(BASE)
    return power


@kernel
def repeated_share(data, count, n, power, prefixes, starts, slots):
    """Share of the n-grams of `count` words that occur more than once. prefixes: the hash before each word, and of all."""
    grams = count - n + 1
    for i in range(grams):
        prefixes[i] = prefixes[i + n] - prefixes[i] * power
    return _repeated(data, grams, n, prefixes, starts, slots) / grams


@inlined
def _hash_words(words, starts, count, prefixes):
    """Fill in the hash of the words before each word, and of all words; eight bytes after the words are readable."""
    prefix = np.uint64(0)
    prefixes[0] = prefix
    for k in range(count):
        i, left = starts[k], starts[k + 1] - 1 - starts[k]
        word = np.uint64(GOLDEN) ^ np.uint64(left)
        while left > LOAD:
            word = (word ^ load_word(words, i)) * np.uint64(PRIME)
            word ^= word >> np.uint64(32)
            i += LOAD
            left -= LOAD
        word = (word ^ (load_word(words, i) << np.uint64(8 * (LOAD - left)))) * np.uint64(PRIME)
        prefix = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29)))
        prefixes[k + 1] = prefix


@kernel
def _repeated(data, grams, n, hashes, starts, slots):
    """Number of occurrences of n-grams that occur more than once, among the first `grams`.

    A slot holds 0, or 1 + the first word of an n-gram's first occurrence, negative once a second one has been seen.
    """
    used = slots_for(grams)
    slots[:used] = 0
    mask = used - 1
    repeated, previous = 0, -1
    for i in range(grams):
        gram = hashes[i]
        slot = np.int64((gram * np.uint64(GOLDEN)) >> np.uint64(32)) & mask
        twin = -1
        while slots[slot] != 0 and twin < 0:
            other = abs(slots[slot]) - 1
            if hashes[other] == gram and _same_grams(
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


@kernel
def _same_grams(data, a, b, n, starts, overlap):
    """True if the n words from a on equal those from b on; with `overlap`, all but the last are known to be equal."""
    shift = starts[b] - starts[a]
    if starts[b + n] - starts[a + n] != shift:
        return False
    first = a + n - 1 if overlap else a
    for i in range(starts[first], starts[a + n] - 1):
        if data[i] != data[i + shift]:
            return False
    return True
