"""The n-grams of a text's words that occurred before.

They are compared as the text of their words without anything between two, which may be cut into words in several ways. So
bytes bound them first: most words are not followed by the same 16, 24, 32 or 48 bytes as any other word is, and no n-gram of
so many bytes that begins there repeats. The others are looked up by a hash, and their bytes decide.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.words.gopher_room import GOLDEN, ONE, cleared
from refinery.kernels.words.lexicon import WORD, equal, word_key

AHEAD, FARTHEST = 16, 48  # bytes behind a word that are compared with those behind other words, first and last
NEVER = 1 << 31  # more bytes than an n-gram has
REPEATED = 3  # note of a hash that occurs more than once
PRIME = np.uint64(0xC2B2AE3D27D4EB4F)
FACTORS = tuple(np.uint64(factor) for factor in (
    0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3,
    0x1D8E4E27C47D124F, 0xEB44ACCAB455D165, 0xD6E8FEB86659FD93, 0x9FB21C651E98DF25,
))  # fmt: skip


@kernel
def measure_duplicates(words, sizes, room, measures):
    """Measure the repeated n-grams of each size, from the smallest up."""
    candidates = _bound(words, sizes[0], room)
    for k in range(len(sizes)):
        measures[k], candidates = _repeated(words, sizes[k], candidates, room)


@kernel
def _bound(words, n, room):
    """Fill in `bounds`, and `candidates` with the n-grams that they leave; returns the number of these."""
    shift = cleared(room.notes, 2 * words)
    for k in range(words):
        at = room.starts[k]
        key = (load_word(room.plain, at) * GOLDEN) ^ (load_word(room.plain, at + WORD) * PRIME)
        _note(room, k, (key * GOLDEN) >> shift)
    left = candidates = np.int64(0)
    for k in range(words):
        room.bounds[k] = AHEAD
        repeats = room.notes[room.spots[k]] == REPEATED
        room.places[left] = k
        left += repeats
        room.candidates[candidates] = k
        candidates += repeats | (room.starts[min(k + n, words)] - room.starts[k] < AHEAD)
    size = AHEAD
    while left > 0 and size < FARTHEST:
        left, size = _bound_further(left, size, size + (WORD if size < 2 * AHEAD else 2 * WORD), room)
    for k in range(left):
        room.bounds[room.places[k]] = NEVER
    return candidates


@kernel
def _bound_further(places, size, more, room):
    """Leave the places that are followed by the same `more` bytes as another is, not only by `size`.

    Returns their number, and `more`. A place among the notes stands for the first `size` bytes.
    """
    shift = cleared(room.notes, 2 * places)
    for k in range(places):
        i = np.uint64(room.places[k])
        at = room.starts[i] + size
        key = np.uint64(room.spots[i]) * PRIME ^ load_word(room.plain, at)
        key = (key ^ (key >> np.uint64(32))) * PRIME ^ load_word(room.plain, room.starts[i] + more - WORD)
        _note(room, i, (key * GOLDEN) >> shift)
    left = 0
    for k in range(places):
        i = np.uint64(room.places[k])
        room.bounds[i] = more
        room.places[left] = i
        left += room.notes[room.spots[i]] == REPEATED
    return left, more


@inlined
def _note(room, i, spot):
    """Note that a hash occurs, and its place for the word i."""
    room.spots[i] = spot
    room.notes[spot] = (room.notes[spot] << 1 | 1) & REPEATED


@kernel
def _repeated(words, n, candidates, room):
    """Characters of the n-grams that occurred before, and the number of candidates that are left for longer n-grams.

    The search goes on behind an n-gram that occurred before.
    """
    left = _may_repeat(words, n, candidates, room)
    shift = cleared(room.slots, 2 * left)
    mask = (ONE << (np.uint64(64) - shift)) - ONE
    total, behind, length = np.int64(0), np.uint64(0), np.uint64(n)
    for k in range(left):
        i = np.uint64(room.candidates[k])
        if i < behind:
            continue
        begin, end = room.starts[i], room.starts[i + length]
        key = _gram_key(room.plain, begin, end)
        slot = (key * GOLDEN) >> shift
        while room.slots[slot] != 0:
            first = np.uint64(room.slots[slot]) - ONE
            if room.keys[first] == key and equal(
                room.plain, begin, end, room.plain, room.starts[first], room.starts[first + length]
            ):
                total += room.chars[i + length] - room.chars[i]
                behind = i + length
                break
            slot = (slot + ONE) & mask
        else:
            room.slots[slot], room.keys[i] = i + ONE, key
    return total, left


@kernel
def _may_repeat(words, n, candidates, room):
    """Leave the candidates that n words begin with, of fewer bytes than the bound; returns their number."""
    left = np.int64(0)
    last = np.uint64(words)
    for k in range(candidates):
        i = np.uint64(room.candidates[k])
        after = i + np.uint64(n)
        room.candidates[left] = i
        size = room.starts[min(after, last)] - room.starts[i]
        left += (after <= last) & (size < room.bounds[i])
    return left


@inlined
def _gram_key(data, begin, end):
    """Hash of data[begin:end]. Words from the begin and up to the end, which may overlap, have all bytes of most n-grams."""
    size = end - begin
    if size < WORD or size > 8 * WORD:
        return word_key(data, begin, end)
    last = end - WORD
    key = np.uint64(size) * GOLDEN
    key += load_word(data, begin) * FACTORS[0] + load_word(data, min(begin + WORD, last)) * FACTORS[1]
    key += load_word(data, max(last - WORD, begin)) * FACTORS[2] + load_word(data, last) * FACTORS[3]
    if size > 4 * WORD:
        key += load_word(data, begin + 2 * WORD) * FACTORS[4] + load_word(data, begin + 3 * WORD) * FACTORS[5]
        key += load_word(data, last - 2 * WORD) * FACTORS[6] + load_word(data, last - 3 * WORD) * FACTORS[7]
    return key ^ (key >> np.uint64(32))
