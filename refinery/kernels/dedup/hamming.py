"""Pairs of 64-bit values within a Hamming distance of each other.

Two values that differ in at most d bits agree in at least b - d of any b blocks of bits. So for every choice of b - d
blocks the values are sorted with those bits first, and only values with the same key are compared (Manku, Jain, Das
Sarma, "Detecting Near-Duplicates for Web Crawling", 2007). Every pair within the distance shares some key, so no
pair is missed for any b: b affects the time alone and is chosen from the number of values.

Only connected components matter, which bounds the work where many values share a key:

- Values that share a key are searched like a graph, each compared only with values not reached yet. Where all are near
  each other, the search is linear and writes at most n - 1 pairs.
- A run of more than LONG_RUN such values is searched in the same way over the bits outside of its key, which separates
  values that agree only in the key. A run that is one component already is skipped. The values are distinct, so bits
  remain.

Hence no more than LONG_RUN / 2 comparisons a value and key, and the number of keys depends on the distance, not on the
number of values, except where comparing all with all is cheaper than sorting by many keys (large distances).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.dedup.unionfind import find, join

BITS = 64
LONG_RUN = 2048  # most values with one key that are compared directly
CHUNK = 1 << 16  # pairs written at a time
SORTED, COMPARED = 25.0, 0.5  # nanoseconds: to sort a value by a key, to compare two

ALL_BITS = (1 << BITS) - 1


def check(num_blocks: int, distance: int) -> list[str]:
    """Problems of these parameters, as sentences; Data-Juicer raises ValueError for the same parameters."""
    if num_blocks <= distance:
        return [f"num_blocks is {num_blocks}; it must be greater than hamming_distance, which is {distance}."]
    if num_blocks > BITS:
        return [f"num_blocks is {num_blocks}; a SimHash has {BITS} bits, so at most {BITS} blocks."]
    return []


def pairs(values: np.ndarray, num_blocks: int, distance: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of indices (int64) of values that differ in at most `distance` bits: a spanning forest of all such pairs.

    values: uint64, ascending and distinct; raises ValueError otherwise, or for parameters that `check` refuses. Each
    pair is within the distance, and two values are in one component of the pairs exactly if they are in one component
    of all pairs within the distance, those of simhash-pybind's `find_all(values, num_blocks, distance)`. The pairs are
    fewer than the values. The result is the same for any `num_blocks`, so the function chooses its own number.

    Memory: 18 bytes per value beside the values themselves (a copy in another order, the parents of a union-find, and
    an index for lookups), and 16 per pair.
    """
    values = np.ascontiguousarray(values, np.uint64)
    for problem in check(num_blocks, distance):
        raise ValueError(problem)
    if len(values) and not (values[1:] > values[:-1]).all():
        raise ValueError("values must be ascending and distinct")
    search = _Search(values, distance)
    search.within(values, ALL_BITS)
    if not search.pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([a for a, _ in search.pairs]), np.concatenate([b for _, b in search.pairs])


class _Search:
    def __init__(self, values: np.ndarray, distance: int) -> None:
        self.values, self.distance = values, distance
        self.parents = np.arange(len(values), dtype=np.int64)
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []
        # Start of the values with the same leading bits, about four per entry: faster than a plain binary search.
        self._shift = BITS - max(len(values).bit_length() - 3, 0)
        firsts = np.arange((1 << BITS - self._shift) + 1, dtype=np.uint64)[:-1] << np.uint64(self._shift % BITS)
        self._starts = np.append(np.searchsorted(values, firsts), len(values))

    def within(self, values: np.ndarray, free: int) -> None:
        """Join those of `values` that are near each other; they differ in `free` bits only."""
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
        """Search runs of `keys` (in `order`, sorted) with the same key; inside a run only `free` bits differ."""
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
            self.pairs.append((a[new], b[new]))

    def _connected(self, members: np.ndarray) -> bool:
        return bool(_one_tree(self.parents, self._indices(members)))

    def _indices(self, values: np.ndarray) -> np.ndarray:
        out = np.empty(len(values), np.int64)
        _find_values(self.values, self._starts, self._shift, values, out)
        return out


class _Order:
    """Order of bits with those of a key first, so that sorting brings values with the same key together."""

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
        """Restore the original order of bits."""
        out = np.empty_like(values)
        _move_bits(values, self._moved, -self._shifts, out)
        return out


def _segments(key: int) -> Iterator[tuple[int, int]]:
    """Runs of bits inside and outside of the key, as masks, each with its shift upwards."""
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
    """Number of blocks to cut the bits into for `count` values; None where comparing all with all is cheapest."""
    best, least = None, COMPARED * count * count / 2
    for blocks in range(distance + 1, bits + 1):
        keys = math.comb(blocks, distance)
        with_same_key = count / 2.0 ** (bits * (blocks - distance) // blocks)
        cost = keys * count * (SORTED + COMPARED * with_same_key / 2)
        if cost < least:
            best, least = blocks, cost
    return best


def _blocks(free: int, number: int) -> list[int]:
    """Cut the free bits into masks of nearly equal width."""
    bits = [1 << i for i in range(BITS) if free >> i & 1]
    ends = [len(bits) * i // number for i in range(number + 1)]
    return [sum(bits[ends[i] : ends[i + 1]]) for i in range(number)]


@entry("uint64[] uint64[] int64[] uint64[]")
def _move_bits(values, masks, shifts, out):
    """Write the sum over all masks of values & mask, shifted up (or down where the shift is negative)."""
    step = 4096  # values that stay in the CPU cache while all masks are applied
    for start in range(0, len(values), step):
        end = min(start + step, len(values))
        out[start:end] = 0
        for j in range(len(masks)):
            mask, up, down = masks[j], np.uint64(max(shifts[j], 0)), np.uint64(max(-shifts[j], 0))
            for i in range(start, end):
                out[i] |= (values[i] & mask) << up >> down


@entry("uint64[] int64 int64 int64 int64 uint64[] uint64[] -> int64 int64 int64")
def _near_in_runs(keys, at, shift, distance, longest, a, b):
    """From keys[at] on, write the near pairs of runs with equal keys[i] >> shift to a and b.

    Stops before a run that may exceed the room for pairs, or that is longer than `longest`. Returns the position where
    it stopped, the end of the long run there (0: no long run) and the number of pairs written.
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


@kernel
def _run_end(keys, at, shift):
    if shift >= 64:  # no key: one run
        return len(keys)
    key, end = keys[at] >> np.uint64(shift), at + 1
    while end < len(keys) and keys[end] >> np.uint64(shift) == key:
        end += 1
    return end


@kernel
def _connect(keys, start, end, distance, a, b, used):
    """Write the pairs of a spanning forest of keys[start:end], reordered as done, reached, and not reached keys."""
    head, reached = start, start
    while reached < end:
        if head == reached:
            reached += 1  # values near it become its component
        value = keys[head]
        for i in range(reached, end):
            if _ones(keys[i] ^ value) <= distance:
                a[used], b[used] = value, keys[i]
                used += 1
                keys[i], keys[reached] = keys[reached], keys[i]
                reached += 1
        head += 1
    return used


@kernel
def _ones(x):
    """Number of set bits; compilers recognise this code and emit a single instruction."""
    x = x - (x >> np.uint64(1) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + (x >> np.uint64(2) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(x * np.uint64(0x0101010101010101) >> np.uint64(56))


@entry("uint64[] int64[] int64 uint64[] int64[]")
def _find_values(values, starts, shift, wanted, out):
    """Find the index of each wanted value, all present; starts: first index of each value >> shift."""
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


@entry("int64[] int64[] -> bool")
def _one_tree(parents, members):
    root = find(parents, members[0])
    for member in members[1:]:
        if find(parents, member) != root:
            return False
    return True
