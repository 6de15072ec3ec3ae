"""Memory of the pieces of frequent words, one for each thread.

A BPE model cuts a word alike wherever it stands. A unigram model adds scores in float32 from the start of the text, so
near another total the roundings differ, and the best path may be another one. A word is remembered with its margin: the
least lead of the best path over another way to one of its places, computed in float64. Each of the at most `size`
additions of a path is off by half a unit in the last place of the largest total, so where the margin is above `size`
such units, the library takes the same path.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word, store_word
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.memory import aligned
from refinery.kernels.models.double_array import child, is_child, value_of

SLOTS = 1 << 16
# Columns of an entry: three words with the bytes of a word; its length and the number of its pieces; margin; two numbers
# of pieces in each.
KEY, FORM, MARGIN, NUMBERS = 0, 3, 4, 5
COLUMNS = 8
LONGEST, MOST_PIECES = 24, 6
SPARE = 40  # bytes behind a word that may be read

_FACTOR = -7046029254386353131
_SCALE, _WIDEST = 1 << 20, 1e6  # a margin is kept in such parts of 1, and not above this
# Totals beyond which the library may move totals within a word, with room for roundings.
_FARTHEST = 99000.0
_UNIT = 1.25e-7  # more than the last place of 1 in float32


def new_memory() -> tuple[np.ndarray, np.ndarray]:
    """A memory without words, and one of words that were seen last: a word is kept when it comes twice."""
    return aligned(SLOTS * COLUMNS, np.int64).reshape(SLOTS, COLUMNS), np.zeros(SLOTS, np.int64)


@inlined
def _bytes(text, at, count):
    """The next bytes, up to eight, as a number; none where the count is not above 0."""
    if count <= 0:
        return np.int64(0)
    word = np.int64(load_word(text, at))
    return word if count >= 8 else word & ~(np.int64(-1) << (8 * count))


@inlined
def key_of(text, start, size):
    """The bytes of a word of at most LONGEST bytes, as three numbers, and its slot."""
    first, second, third = (
        _bytes(text, start, size),
        _bytes(text, start + 8, size - 8),
        _bytes(text, start + 16, size - 16),
    )
    mixed = np.int64(((first * _FACTOR) ^ (first >> 29) ^ second) * _FACTOR)
    mixed = np.int64(((mixed ^ (mixed >> 31)) + third + size) * _FACTOR)
    return first, second, third, (mixed >> 40) & (SLOTS - 1)


@inlined
def seen_before(seen, slot, first, second, third):
    """Return whether the word that was not known in a slot the last time is this one; note it, if not."""
    mixed = np.int64(first ^ (second * _FACTOR) ^ (third << 1))
    before = seen[slot] == mixed
    seen[slot] = mixed
    return before


@inlined
def is_known(memory, slot, first, second, third, size):
    """Return whether the word in a slot is this one."""
    same = memory[slot, KEY] == first and memory[slot, KEY + 1] == second and memory[slot, KEY + 2] == third
    return same and memory[slot, FORM] & 0xFF == size


@inlined
def is_safe(memory, slot, total, size, largest):
    """Return whether the library takes the remembered path after this total. largest: the farthest score of a piece."""
    farthest = abs(np.float64(total)) + size * largest
    return farthest < _FARTHEST and memory[slot, MARGIN] > farthest * size * _UNIT * _SCALE


@inlined
def write(memory, slot, scores, total, out, w):
    """Write the numbers of a remembered word's pieces; returns the total and the position after them."""
    count = memory[slot, FORM] >> 8
    for column in range(MOST_PIECES // 2):
        store_word(out, w + 2 * column, np.uint64(memory[slot, NUMBERS + column]))
    for piece in range(w, w + count):
        total += scores[out[piece]]
    return total, w + count


@kernel
def remember(memory, slot, first, second, third, size, ends, numbers, pieces, unknown, margin):
    """Keep a word, unless it has many pieces or one that is unknown. ends, numbers: of its pieces."""
    if pieces > MOST_PIECES or margin <= 0:
        return
    form = np.int64(size) | (np.int64(pieces) << 8)
    for piece in range(pieces):
        if numbers[ends[piece]] == unknown:
            return
    for column in range(NUMBERS, COLUMNS):
        memory[slot, column] = 0
    for piece in range(pieces):
        memory[slot, NUMBERS + (piece >> 1)] |= np.int64(numbers[ends[piece]]) << (32 * (piece & 1))
    memory[slot, KEY], memory[slot, KEY + 1], memory[slot, KEY + 2] = first, second, third
    memory[slot, FORM], memory[slot, MARGIN] = form, np.int64(min(margin, _WIDEST) * _SCALE)


@kernel
def margin_of(text, start, size, trie, scores, taken, best, origins):
    """The margin of the path through text[start:start + size] whose pieces begin at `taken`; 0 if another is the best.

    best: room for the best and second best sums, in float64; origins: for the beginnings of the best path's pieces.
    """
    for k in range(size + 1):
        best[0, k] = best[1, k] = -np.inf
    best[0, 0] = 0.0
    at = 0
    while at < size:
        lead = text[start + at]
        after = at + min(1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4, size - at)
        single = False
        unit, k = trie[0], at
        while k < size:
            byte = text[start + k]
            unit = child(trie, unit, byte)
            if not is_child(unit, byte):
                break
            k += 1
            if value_of(unit) >= 0:
                _offer(k, best[0, at] + np.float64(scores[value_of(unit)]), at, best, origins)
                single = single or k == after
        if not single:
            _offer(after, best[0, at] + np.float64(scores[-1]), at, best, origins)
        at = after
    margin, place = np.inf, size
    while place > 0:
        if origins[place] != taken[place]:
            return 0.0
        margin = min(margin, best[0, place] - best[1, place])
        place = origins[place]
    return margin


@inlined
def _offer(place, total, origin, best, origins):
    if total > best[0, place]:
        best[1, place] = best[0, place]
        best[0, place] = total
        origins[place] = origin
    elif total > best[1, place]:
        best[1, place] = total
