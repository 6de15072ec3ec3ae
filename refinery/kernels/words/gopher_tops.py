"""The most frequent n-grams of a text's words.

Each n-gram has a hash, made of that of its first n - 1 words and of its last word. Counts by hash, without a look at the
words, are at least those of n-grams. So only n-grams whose hash is counted as often as the most frequent one are compared.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word, low_bits
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.words.gopher_room import GOLDEN, ONE, cleared
from refinery.kernels.words.lexicon import WORD, equal, word_key

MOST = 255  # that a note counts
FACTOR = np.uint64(0xD6E8FEB86659FD93)


@kernel
def measure_tops(words, sizes, room, tops):
    """Fill in for each size the characters of the most frequent n-gram, of several the first, times its count."""
    longest = np.int64(0)
    for k in range(len(sizes)):
        longest = max(longest, sizes[k])
    for n in range(1, min(longest, words) + 1):
        if n == 1:
            _hash_words(words, room)
        else:
            _lengthen(words, n, room)
        for k in range(len(sizes)):
            if sizes[k] == n:
                best, count = _most_frequent(words - n + 1, n, room)
                tops[k] = (room.chars[best + n] - room.chars[best] + n - 1) * count


@kernel
def _hash_words(words, room):
    """Fill in the hashes of words, which are the keys of n-grams for n = 1."""
    for k in range(words):
        begin, end = room.starts[k], room.starts[k + 1]
        if end - begin <= WORD:
            key = load_word(room.plain, begin) & low_bits(8 * (end - begin))
        else:
            key = word_key(room.plain, begin, end)
        room.hashes[k] = room.keys[k] = key


@kernel
def _lengthen(words, n, room):
    """Replace the keys of (n - 1)-grams by those of n-grams."""
    for k in range(words - n + 1):
        room.keys[k] = room.keys[k] * FACTOR + room.hashes[k + n - 1]


@kernel
def _most_frequent(grams, n, room):
    """The first of the most frequent n-grams, and its count."""
    shift, least = _count_hashes(grams, room)
    best, count = 0, np.int64(1)
    while least > 1:
        left = np.int64(0)
        for k in range(grams):
            room.places[left] = k
            left += room.notes[(room.keys[k] * GOLDEN) >> shift] >= least
        best, count = _count(left, n, room)
        if count >= least or least == 2:
            break
        least = max(count, 2)
    return best, count


@kernel
def _count_hashes(grams, room):
    """Note how often each hash occurs; returns by how many bits it is shifted to be a place, and the largest note."""
    shift = cleared(room.notes, 2 * grams)
    largest = np.int64(0)
    for k in range(grams):
        spot = (room.keys[k] * GOLDEN) >> shift
        note = np.int64(room.notes[spot])
        note += note < MOST
        room.notes[spot] = note
        largest = max(largest, note)
    return shift, largest


@kernel
def _count(candidates, n, room):
    """Count the n-grams at `places`; returns the first of the most frequent ones and its count, 0 and 1 if none repeats."""
    shift = cleared(room.slots, candidates)
    mask = (ONE << (np.uint64(64) - shift)) - ONE
    best, most = np.int64(0), np.int64(1)
    for k in range(candidates):
        i = np.uint64(room.places[k])
        key = room.keys[i]
        slot = (key * GOLDEN) >> shift
        while True:
            first = np.uint64(room.slots[slot]) - ONE
            if room.slots[slot] == 0:
                room.slots[slot] = i + ONE
                room.counts[i] = 1
                break
            if room.keys[first] == key and _is_same(first, i, n, room):
                count = np.int64(room.counts[first]) + 1
                room.counts[first] = count
                if count > most or (count == most and first < np.uint64(best)):
                    best, most = np.int64(first), count
                break
            slot = (slot + ONE) & mask
    return best, most


@inlined
def _is_same(one, other, n, room):
    """True if the n-grams at two positions have the same words."""
    first, second = room.starts[one], room.starts[other]
    length = np.uint64(n)
    if not equal(room.plain, first, room.starts[one + length], room.plain, second, room.starts[other + length]):
        return False
    for k in range(1, n):
        if room.starts[one + np.uint64(k)] - first != room.starts[other + np.uint64(k)] - second:
            return False
    return True
