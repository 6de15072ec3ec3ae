"""Which 64-bit values lie within a Hamming distance of each other.

Two values that differ in at most d bits agree in at least b - d of any b blocks of bits. So for every choice of b - d
blocks the values are sorted with those bits first, and only values with the same key are compared (Manku, Jain, Das
Sarma, "Detecting Near-Duplicates for Web Crawling", 2007). Every pair within the distance shares some key, so none is
missed, whatever b is: b decides about the time alone and is chosen from the number of values.

Only connected components matter, which bounds the work where many values share a key:

- Values that share a key are searched like a graph, each compared only with those not reached yet. Where all are near
  each other that is linear, and there are at most n - 1 pairs to write down.
- More than LONG_RUN of them are searched in the same way over the bits outside of their key, which separates those that
  only agree in it; and not at all when they are one component already. The values are distinct, so bits remain.

Hence no more than LONG_RUN / 2 comparisons a value and key, and the number of keys depends on the distance, not on the
number of values, save where comparing all with all is cheaper than sorting for many keys (large distances).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numba import njit

from refinery.kernels.dedup.unionfind import find, join

BITS = 64
LONG_RUN = 2048  # values with one key that are compared outright
CHUNK = 1 << 16  # pairs written at a time
SORTED, COMPARED = 25.0, 0.5  # nanoseconds: to sort a value by a key, to compare two

ALL_BITS = (1 << BITS) - 1


def check(num_blocks: int, distance: int) -> list[str]:
    """What is wrong with these parameters, as sentences; Data-Juicer raises ValueError for the same ones."""
    if num_blocks <= distance:
        return [f"num_blocks is {num_blocks}; it must be greater than hamming_distance, which is {distance}."]
    if num_blocks > BITS:
        return [f"num_blocks is {num_blocks}; a SimHash has {BITS} bits, so at most {BITS} blocks."]
    return []


def pairs(values: np.ndarray, num_blocks: int, distance: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of indices (int64) of values that differ in at most `distance` bits, enough to connect what is connected.

    values: uint64, ascending and distinct; ValueError when they are not, or for parameters that `check` refuses. Each
    pair is within the distance, and two values are in one component of the pairs just when they are in one component of
    all pairs within the distance, those of simhash-pybind's `find_all(values, num_blocks, distance)`. The pairs are a
    forest, fewer than the values. As the result is the same for any `num_blocks`, the number of blocks used is another.

    Memory: 18 bytes a value beside the values themselves (a copy in another order, the parents of a union-find, and
    where to look a value up), and 16 a pair.
    """
    values = np.ascontiguousarray(values, np.uint64)
    for problem in check(num_blocks, distance):
        raise ValueError(problem)
    if len(values) and not (values[1:] > values[:-1]).all():
        raise ValueError("values must be ascending and distinct")
    search = _Search(values, distance)
    search.within(values, ALL_BITS)
    if not search.found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([a for a, _ in search.found]), np.concatenate([b for _, b in search.found])


class _Search:
    def __init__(self, values: np.ndarray, distance: int) -> None:
        self.values, self.distance = values, distance
        self.parents = np.arange(len(values), dtype=np.int64)
        self.found: list[tuple[np.ndarray, np.ndarray]] = []
        # Where the values with the same leading bits begin, some four at a time: a shorter way than a binary search.
        self._shift = BITS - max(len(values).bit_length() - 3, 0)
        firsts = np.arange((1 << BITS - self._shift) + 1, dtype=np.uint64)[:-1] << np.uint64(self._shift % BITS)
        self._starts = np.append(np.searchsorted(values, firsts), len(values))

    def within(self, values: np.ndarray, free: int) -> None:
        """Join those of `values` that are near each other; they differ in no other bits than `free`."""
        blocks = best_blocks(len(values), free.bit_count(), self.distance)
        if blocks is None:
            everything = _Order(0)
            self._runs(values.copy(), everything, free, longest=len(values))
            return
        masks = _blocks(free, blocks)
        room = np.empty_like(values)
        for chosen in combinations(masks, blocks - self.distance):
            key = sum(chosen)
            order = _Order(key)
            order.apply(values, room)
            room.sort()
            self._runs(room, order, free & ~key, LONG_RUN)

    def _runs(self, keys: np.ndarray, order: _Order, free: int, longest: int) -> None:
        """Look through runs of `keys` (in `order`, sorted) with the same key; inside a run only `free` bits differ."""
        a, b = np.empty(max(CHUNK, longest), np.uint64), np.empty(max(CHUNK, longest), np.uint64)
        at, stop = 0, 0
        while at < len(keys):
            at, stop, used = _near_in_runs(keys, at, order.shift, self.distance, longest, a, b)
            if used:
                self._join(order.undo(a[:used]), order.undo(b[:used]))
            if stop > at:
                members = order.undo(keys[at:stop])
                if not self._connected(members):
                    self.within(members, free)
                at = stop

    def _join(self, a: np.ndarray, b: np.ndarray) -> None:
        a, b = self._indices(a), self._indices(b)
        new = np.empty(len(a), np.bool_)
        if join(self.parents, a, b, new):
            self.found.append((a[new], b[new]))

    def _connected(self, members: np.ndarray) -> bool:
        return bool(_one_tree(self.parents, self._indices(members)))

    def _indices(self, values: np.ndarray) -> np.ndarray:
        out = np.empty(len(values), np.int64)
        _find_values(self.values, self._starts, self._shift, values, out)
        return out


class _Order:
    """Values with the bits of a key moved to their front; sorted, those with the same key stand together."""

    def __init__(self, key: int) -> None:
        segments = list(_segments(key))
        self.shift = BITS - key.bit_count()
        self._masks = np.array([mask for mask, _ in segments], np.uint64)
        self._shifts = np.array([shift for _, shift in segments], np.int64)
        moved = [mask << shift if shift >= 0 else mask >> -shift for mask, shift in segments]
        self._moved = np.array(moved, np.uint64)

    def apply(self, values: np.ndarray, out: np.ndarray) -> None:
        """Write the values in this order of bits."""
        _move_bits(values, self._masks, self._shifts, out)

    def undo(self, values: np.ndarray) -> np.ndarray:
        """The values as they were."""
        out = np.empty_like(values)
        _move_bits(values, self._moved, -self._shifts, out)
        return out


def _segments(key: int) -> Iterator[tuple[int, int]]:
    """Stretches of bits inside and outside of the key, each with how far it moves up."""
    next_inside, next_outside = BITS, BITS - key.bit_count()
    high = BITS
    while high > 0:
        inside, low = key >> (high - 1) & 1, high - 1
        while low > 0 and key >> (low - 1) & 1 == inside:
            low -= 1
        width = high - low
        if inside:
            next_inside -= width
        else:
            next_outside -= width
        yield ((1 << width) - 1) << low, (next_inside if inside else next_outside) - low
        high = low


def best_blocks(count: int, bits: int, distance: int) -> int | None:
    """Into how many blocks to cut so many bits of so many values; None where comparing all with all is cheapest."""
    best, least = None, COMPARED * count * count / 2
    for blocks in range(distance + 1, bits + 1):
        keys = math.comb(blocks, distance)
        with_same_key = count / 2.0 ** (bits * (blocks - distance) // blocks)
        cost = keys * count * (SORTED + COMPARED * with_same_key / 2)
        if cost < least:
            best, least = blocks, cost
    return best


def _blocks(free: int, number: int) -> list[int]:
    """The free bits cut into masks of as equal width as possible."""
    bits = [1 << i for i in range(BITS) if free >> i & 1]
    ends = [len(bits) * i // number for i in range(number + 1)]
    return [sum(bits[ends[i] : ends[i + 1]]) for i in range(number)]


@njit(nogil=True, cache=True)
def _move_bits(values, masks, shifts, out):
    """The sum of values & mask, shifted by its shift (up, or down where negative), over all masks."""
    step = 4096  # values that stay in the cache while mask after mask is applied
    for start in range(0, len(values), step):
        end = min(start + step, len(values))
        out[start:end] = 0
        for j in range(len(masks)):
            mask, up, down = masks[j], np.uint64(max(shifts[j], 0)), np.uint64(max(-shifts[j], 0))
            for i in range(start, end):
                out[i] |= (values[i] & mask) << up >> down


@njit(nogil=True, cache=True)
def _near_in_runs(keys, at, shift, distance, longest, a, b):
    """From keys[at] on, write the near pairs of runs with equal keys[i] >> shift to a and b.

    Ends before the room for pairs does, and before a run of more than `longest`. Gives where it stopped, where the long
    run at that place ends (0: there is none) and the pairs written.
    """
    used = 0
    while at < len(keys):
        end = _run_end(keys, at, shift)
        if end - at > longest:
            return at, end, used
        if end - at > 1:
            if used + end - at > len(a):
                break
            used = _connect(keys, at, end, distance, a, b, used)
        at = end
    return at, 0, used


@njit(nogil=True, cache=True)
def _run_end(keys, at, shift):
    if shift >= 64:  # no key: one run
        return len(keys)
    key, end = keys[at] >> np.uint64(shift), at + 1
    while end < len(keys) and keys[end] >> np.uint64(shift) == key:
        end += 1
    return end


@njit(nogil=True, cache=True)
def _connect(keys, start, end, distance, a, b, used):
    """Write the pairs of a spanning forest of keys[start:end], which it reorders: done, reached, and not reached."""
    head, reached = start, start
    while reached < end:
        if head == reached:
            reached += 1  # what it is near to will be its component
        value = keys[head]
        for i in range(reached, end):
            if _ones(keys[i] ^ value) <= distance:
                a[used], b[used] = value, keys[i]
                used += 1
                keys[i], keys[reached] = keys[reached], keys[i]
                reached += 1
        head += 1
    return used


@njit(nogil=True, cache=True)
def _ones(x):
    """How many bits are set; compilers know this for what it is and use the one instruction there is for it."""
    x = x - (x >> np.uint64(1) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + (x >> np.uint64(2) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(x * np.uint64(0x0101010101010101) >> np.uint64(56))


@njit(nogil=True, cache=True)
def _find_values(values, starts, shift, wanted, out):
    """Where each wanted value, which is there, stands; starts: where those with the same value >> shift begin."""
    for i in range(len(wanted)):
        bucket = np.int64(wanted[i] >> np.uint64(shift)) if shift < 64 else 0
        low, high = starts[bucket], starts[bucket + 1]
        while high - low > 1:
            middle = (low + high) >> 1
            if values[middle] <= wanted[i]:
                low = middle
            else:
                high = middle
        out[i] = low


@njit(nogil=True, cache=True)
def _one_tree(parents, members):
    root = find(parents, members[0])
    for member in members[1:]:
        if find(parents, member) != root:
            return False
    return True
