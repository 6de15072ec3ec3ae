"""First four bytes of the SHA-1 of many short byte strings (FIPS 180-4), as one number each.

A vector holds one string per lane, 16 at a time. LLVM does not make this of a loop over strings, so the instructions are
written by hand (`sha1_vectors`). A string of one block, as most shingles are, keeps nothing between blocks. A lane of
longer strings takes the next one when it has finished one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.dedup.sha1_vectors import BLOCK, LANES, START, advance, first_words, put_block

ROOM = BLOCK  # bytes behind the last string that may be read
_START = np.array(START, np.uint32)
SINGLE = BLOCK - 9  # bytes of the longest string that fits a block with its end mark and its length


class Lanes(NamedTuple):
    """Room for `sha1_32`.

    blocks, states: of each lane (uint32). strings, places: number of each lane's string, and the position in the data
    of its next block (int64).
    """

    blocks: np.ndarray
    states: np.ndarray
    strings: np.ndarray
    places: np.ndarray


record(Lanes, "uint32[,] uint32[,] int64[] int64[]")


def lanes() -> Lanes:
    """Make room for `sha1_32`."""
    blocks, states = np.zeros((LANES, BLOCK // 4), np.uint32), np.empty((len(START), LANES), np.uint32)
    return Lanes(blocks, states, np.empty(LANES, np.int64), np.empty(LANES, np.int64))


@entry("uint8[] int64[] int64[] int64 int64[] uint32[] Lanes", Lanes)
def sha1_32(data, begins, ends, n, order, out, lanes):
    """Write the first four bytes of the SHA-1 of data[begins[k]:ends[k]], k < n, little-endian, to out[k] (uint32).

    ROOM bytes behind the last string must be readable. order: room for n int64; lanes: of `lanes`.
    """
    single, several = 0, n  # those of one block are listed from the start of `order` on, the others from its end
    for k in range(n):
        order[single] = order[several - 1] = k
        fits = ends[k] - begins[k] <= SINGLE
        single += fits
        several -= not fits
    _of_one_block(data, begins, ends, order, single, out, lanes)
    _of_several(data, begins, ends, order, several, n, out, lanes)


@kernel
def _of_one_block(data, begins, ends, order, n, out, lanes):
    for first in range(0, n, LANES):
        busy = min(LANES, n - first)
        for lane in range(busy):
            k = order[first + lane]
            size = ends[k] - begins[k]
            put_block(data, begins[k], size, size, length_field(size), lanes.blocks, lane)
        first_words(lanes.blocks, lanes.states)
        for lane in range(busy):
            out[order[first + lane]] = lanes.states[0, lane]


@kernel
def _of_several(data, begins, ends, order, at, n, out, lanes):
    busy = min(LANES, n - at)
    for lane in range(busy):
        _begin(order[at + lane], begins, lanes, lane)
    at += busy
    while busy > 0:
        for lane in range(busy):
            k = lanes.strings[lane]
            _next_block(data, begins[k], ends[k], lanes.places[lane], lanes.blocks, lane)
        advance(lanes.blocks, lanes.states)
        lane = 0
        while lane < busy:
            k = lanes.strings[lane]
            left = ends[k] - lanes.places[lane]
            lanes.places[lane] += BLOCK
            if left > SINGLE:
                lane += 1
                continue
            out[k] = swapped(lanes.states[0, lane])
            if at < n:
                _begin(order[at], begins, lanes, lane)
                at += 1
                lane += 1
                continue
            # No string is left for this lane: it takes over that of the last lane, which is to be looked at now.
            busy -= 1
            _move(lanes, busy, lane)


@kernel
def sha1_64(data, begin, end, lanes):
    """First eight bytes of the SHA-1 of data[begin:end], little-endian (uint64), in the first lane alone.

    ROOM bytes behind the string must be readable. lanes: of `lanes`.
    """
    for word in range(len(START)):
        lanes.states[word, 0] = _START[word]
    place, left = begin, BLOCK  # a string has one block at least
    while left > SINGLE:
        _next_block(data, begin, end, place, lanes.blocks, 0)
        advance(lanes.blocks, lanes.states)
        left = end - place
        place += BLOCK
    return np.uint64(swapped(lanes.states[0, 0])) | (np.uint64(swapped(lanes.states[1, 0])) << np.uint64(32))


@inlined
def _begin(k, begins, lanes, lane):
    lanes.strings[lane], lanes.places[lane] = k, begins[k]
    for word in range(len(START)):
        lanes.states[word, lane] = _START[word]


@inlined
def _move(lanes, source, lane):
    lanes.strings[lane], lanes.places[lane] = lanes.strings[source], lanes.places[source]
    for word in range(len(START)):
        lanes.states[word, lane] = lanes.states[word, source]


@inlined
def _next_block(data, begin, end, place, blocks, lane):
    left = end - place
    used = min(max(left, 0), BLOCK)
    mark = left if left >= 0 and left < BLOCK else BLOCK  # no byte of a block is number 64
    put_block(data, end - max(left, 0), used, mark, length_field(end - begin) if left <= SINGLE else 0, blocks, lane)


@inlined
def length_field(size):
    """Last two words of a string's last block: the number of its bits, upper half first."""
    bits = np.uint64(size) * np.uint64(8)
    return (bits << np.uint64(32)) | (bits >> np.uint64(32))


@inlined
def swapped(x):
    """The bytes of a uint32 in reverse order."""
    x = np.uint32((x << np.uint32(16)) | (x >> np.uint32(16)))
    return np.uint32((x & np.uint32(0x00FF00FF)) << np.uint32(8)) | np.uint32(
        (x >> np.uint32(8)) & np.uint32(0x00FF00FF)
    )
