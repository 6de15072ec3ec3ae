"""Tokens of a word by byte-level BPE: neighbouring tokens are merged, the lowest rank first, then the leftmost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record

# Tokens up to which the best pair is looked for among all; beyond, in a heap.
FEW = 32
_NONE = np.int64((1 << 63) - 1)
_FACTOR = np.int64(-7046029254386353131)
_NUMBER = 0xFFFFFFFF


class Merges(NamedTuple):
    """Tables of merges.

    first: int64, the token of each byte. slots: int64, a hash table of a pair (left << 32 | right, -1 in an empty slot) and
    its merge (rank << 32 | union).
    """

    first: np.ndarray
    slots: np.ndarray


record(Merges, "int64[] int64[,]")


class Places(NamedTuple):
    """Room for the tokens of a word.

    tokens: int64; pairs: int64, the merge of each with its neighbour; links: int32, places before and after; heap: int64.
    """

    tokens: np.ndarray
    pairs: np.ndarray
    links: np.ndarray
    heap: np.ndarray


record(Places, "int64[] int64[] int32[,] int64[]")


def merges_of(first: Sequence[int], merges: Sequence[tuple[int, int, int]]) -> Merges:
    """Tables of merges, given by the numbers of both parts and their union, in the order of ranks."""
    rows = np.array(merges, np.int64).reshape(-1, 3)
    slots = np.full((1 << max(4, int(2 * len(rows)).bit_length()), 2), -1, np.int64)
    _fill(rows, slots)
    return Merges(np.array(first, np.int64), slots)


def places_for(size: int) -> Places:
    """Room for a word of so many bytes."""
    room = size + 1
    return Places(
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty((2, room), np.int32), np.empty(3 * room, np.int64)
    )


@inlined
def _slot(pair, slots):
    mixed = (pair ^ (pair >> 29)) * _FACTOR
    return (mixed >> 20) & (len(slots) - 1)


@entry("int64[,] int64[,]")
def _fill(merges, slots):
    for rank in range(len(merges)):
        pair = (merges[rank, 0] << 32) | merges[rank, 1]
        slot = _slot(pair, slots)
        while slots[slot, 0] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot, 0], slots[slot, 1] = pair, (np.int64(rank) << 32) | merges[rank, 2]


@inlined
def _merge_of(left, right, slots):
    """The merge of two tokens, _NONE without one."""
    pair = (left << 32) | right
    slot = _slot(pair, slots)
    while slots[slot, 0] != pair:
        if slots[slot, 0] < 0:
            return _NONE
        slot = (slot + 1) & (len(slots) - 1)
    return slots[slot, 1]


@kernel
def merged(text, start, end, merges, places):
    """Number of tokens of the word text[start:end]."""
    tokens, pairs, slots = places.tokens, places.pairs, merges.slots
    size = end - start
    for k in range(size):
        tokens[k] = merges.first[text[start + k]]
    for k in range(size - 1):
        pairs[k] = _merge_of(tokens[k], tokens[k + 1], slots)
    return _merge_many(size, slots, places) if size > FEW else _merge_few(size, slots, tokens, pairs)


@inlined
def _merge_few(size, slots, tokens, pairs):
    while size > 1:
        best, place = _NONE, 0
        for k in range(size - 1):
            if pairs[k] < best:
                best, place = pairs[k], k
        if best == _NONE:
            break
        tokens[place] = best & _NUMBER
        size -= 1
        for k in range(place + 1, size):
            tokens[k] = tokens[k + 1]
            pairs[k - 1] = pairs[k]
        if place + 1 < size:
            pairs[place] = _merge_of(tokens[place], tokens[place + 1], slots)
        if place > 0:
            pairs[place - 1] = _merge_of(tokens[place - 1], tokens[place], slots)
    return size


@kernel
def _merge_many(size, slots, places):
    """Merge the tokens of a long word. heap: rank << 32 | place of a pair; an entry is stale when its place has another."""
    tokens, pairs, heap = places.tokens, places.pairs, places.heap
    previous, following = places.links[0], places.links[1]
    waiting = 0
    for k in range(size):
        previous[k], following[k] = k - 1, k + 1
        if k + 1 < size and pairs[k] != _NONE:
            waiting = _push(heap, waiting, (pairs[k] & ~np.int64(_NUMBER)) | k)
    count = size
    pairs[size - 1] = _NONE
    while waiting:
        top = heap[0]
        waiting = _pop(heap, waiting)
        place = top & _NUMBER
        merge = pairs[place]
        if merge == _NONE or (merge >> 32) != (top >> 32):
            continue
        gone = following[place]
        tokens[place] = merge & _NUMBER
        pairs[gone] = _NONE
        after, ahead = following[gone], previous[place]
        following[place] = after
        count -= 1
        pairs[place] = _NONE
        if after < size:
            previous[after] = place
            pairs[place] = _merge_of(tokens[place], tokens[after], slots)
            if pairs[place] != _NONE:
                waiting = _push(heap, waiting, (pairs[place] & ~np.int64(_NUMBER)) | place)
        if ahead >= 0:
            pairs[ahead] = _merge_of(tokens[ahead], tokens[place], slots)
            if pairs[ahead] != _NONE:
                waiting = _push(heap, waiting, (pairs[ahead] & ~np.int64(_NUMBER)) | ahead)
    return count


@inlined
def _push(heap, size, key):
    """Put a key into the heap; returns its size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= key:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = key
    return size + 1


@inlined
def _pop(heap, size):
    """Take the least key out of the heap; returns its size."""
    size -= 1
    key, place = heap[size], 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = key
    return size
