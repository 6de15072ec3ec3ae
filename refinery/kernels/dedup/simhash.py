"""SimHash of texts: 64 bits, most of them equal in near-duplicates (Charikar 2002; Manku, Jain, Das Sarma 2007).

A shingle's hash is the first eight bytes of its MD5, big-endian, and bit i of the SimHash is set when more than half of
the shingles' hashes, repeats counted, have it set. Data-Juicer uses the same function of the package simhash-pybind.

Two things make it fast. MD5 runs in many lanes: one shingle per 32-bit element of wide registers. And the 64 counters
are bit-sliced: plane p holds bit p of all counters, so adding eight hashes takes a handful of operations on 64-bit
words, and so does the comparison of all counters with half of the shingles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.dedup.shingles import Tokens

LANES = 64  # MD5s at a time: several registers, so that the others hide the latency of one
BLOCK = 64  # bytes of an MD5 block
ONE_BLOCK = 55  # bytes that fit one block with the padding
GROUP = 1 << 13  # shingles hashed before they are counted, so that the hashes stay in the cache
PLANES = 48  # bits of a counter
SIZES = 64  # distinct numbers of blocks

START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_START = np.array(START, np.uint32)


class Md5Constants(NamedTuple):
    """Constants of MD5 (RFC 1321).

    sines: uint32, the constants of its 64 rounds. words: int64, the word of the message that each round takes. masks,
    marks: uint8, for each number of remaining text bytes, from -1 to 64, the mask of the 64 bytes of a block to keep,
    and the bytes to insert: 0x80 after the text.
    """

    sines: np.ndarray
    words: np.ndarray
    masks: np.ndarray
    marks: np.ndarray


record(Md5Constants, "uint32[] int64[] uint8[] uint8[]")


def _tables() -> Md5Constants:
    i, left, byte = np.arange(16), np.arange(-1, BLOCK + 1)[:, None], np.arange(BLOCK)
    sines = np.floor(np.abs(np.sin(np.arange(1, 65))) * 2.0**32).astype(np.uint32)
    words = np.concatenate([i, (5 * i + 1) % 16, (3 * i + 5) % 16, 7 * i % 16]).astype(np.int64)
    masks, marks = np.where(byte < left, 0xFF, 0).astype(np.uint8), np.where(byte == left, 0x80, 0).astype(np.uint8)
    return Md5Constants(sines, words, masks.ravel(), marks.ravel())


_TABLES = _tables()


def simhash(tokens: Tokens, window: int) -> np.ndarray:
    """SimHash (uint64) of each row's shingles of `window` tokens; 0 for a row with fewer tokens or none.

    Equal to Data-Juicer 1.6.1 with simhash-pybind 0.0.3. Raises ValueError for a window below 1.
    """
    if window < 1:
        raise ValueError(f"window_size is {window}; a shingle has at least one token")
    out = np.zeros(len(tokens.valid), np.uint64)
    room = max(GROUP, int(np.diff(tokens.firsts).max(initial=0)) - window)
    lanes = np.zeros((LANES, 16), np.uint32)
    scratch = Scratch(
        np.empty((3, room), np.int64),
        np.empty(room, np.uint64),
        np.empty(PLANES, np.uint64),
        lanes,
        lanes.view(np.uint8).ravel(),
        np.empty((4, LANES), np.uint32),
        np.empty((4, LANES), np.uint32),
        np.empty((16, LANES), np.uint32),
        np.empty(SIZES + 1, np.int64),
    )
    _simhashes(tokens.data, tokens.starts, tokens.firsts, tokens.gap, window, _TABLES, scratch, out)
    return out


class Scratch(NamedTuple):
    """Room for the shingles that are hashed together: their queue, hashes, and the state of MD5 by lane."""

    queue: np.ndarray
    hashes: np.ndarray
    planes: np.ndarray
    lanes: np.ndarray
    raw: np.ndarray  # the lanes as bytes
    state: np.ndarray
    work: np.ndarray
    message: np.ndarray
    ends: np.ndarray


record(Scratch, "int64[,] uint64[] uint64[] uint32[,] uint8[] uint32[,] uint32[,] uint32[,] int64[]")


@entry("uint8[] int64[] int64[] int64 int64 Md5Constants Scratch uint64[]", Md5Constants, Scratch)
def _simhashes(data, starts, firsts, gap, window, tables, scratch, out):
    rows, first = len(out), 0
    queue, hashes = scratch.queue, scratch.hashes
    while first < rows:
        last, total = first, 0
        while last < rows and total + _shingles(firsts, last, window) <= len(hashes):
            total += _shingles(firsts, last, window)
            last += 1
        _fill_queue(starts, firsts, first, last, gap, window, queue, scratch.ends)
        for i in range(0, total, LANES):
            _hash_lanes(data, queue[:, i : min(i + LANES, total)], tables, scratch, hashes)
        end = 0
        for row in range(first, last):
            start, end = end, end + _shingles(firsts, row, window)
            out[row] = _majority(hashes[start:end], scratch.planes)
        first = last


@kernel
def _shingles(firsts, row, window):
    return max(firsts[row + 1] - firsts[row] - window, 0)


@kernel
def _fill_queue(starts, firsts, first, last, gap, window, queue, ends):
    """Queue the shingles of rows first to last - 1: number, start and length of each.

    Shingles of the same number of blocks are grouped, because finished lanes wait for the others.
    """
    ends[:] = 0
    for row in range(first, last):
        for i in range(firsts[row], firsts[row + 1] - window):
            ends[_size(starts[i + window] - gap - starts[i]) + 1] += 1
    for size in range(SIZES):
        ends[size + 1] += ends[size]
    number = 0
    for row in range(first, last):
        for i in range(firsts[row], firsts[row + 1] - window):
            length = starts[i + window] - gap - starts[i]
            size = _size(length)
            place = ends[size]
            ends[size] += 1
            queue[0, place], queue[1, place], queue[2, place] = number, starts[i], length
            number += 1


@kernel
def _size(length):
    return min((length + 8) // BLOCK, SIZES - 1)


# Hashes of shingles


@kernel
def _hash_lanes(data, queue, tables, scratch, hashes):
    """Write the MD5 of up to LANES shingles in the queue to hashes[number]."""
    state, message, lanes = scratch.state, scratch.message, scratch.lanes
    for k in range(4):
        state[k, :] = _START[k]
    filled, longest = queue.shape[1], 0
    for lane in range(filled):
        longest = max(longest, queue[2, lane])
    for block in range((longest + 8) // BLOCK + 1):
        _load(data, queue, block, tables.masks, tables.marks, scratch.raw, lanes)
        for word in range(16):
            for lane in range(LANES):
                message[word, lane] = lanes[lane, word]
        _compress(message, state, scratch.work, tables.sines, tables.words)
        for lane in range(filled):
            if (queue[2, lane] + 8) // BLOCK == block:
                hashes[queue[0, lane]] = np.uint64(state[0, lane]) | np.uint64(state[1, lane]) << np.uint64(32)


@kernel
def _load(data, queue, block, masks, marks, raw, lanes):
    """Write a block of each padded shingle, one after the other; raw: the lanes as bytes."""
    for lane in range(queue.shape[1]):
        source, length = queue[1, lane] + block * BLOCK, queue[2, lane]
        left = length - block * BLOCK
        row = np.uint64(max(0, min(left, BLOCK) + 1) * BLOCK)
        here, there = np.uint64(source), np.uint64(lane * BLOCK)
        if source + BLOCK <= len(data):
            for j in range(np.uint64(BLOCK)):
                raw[there + j] = (data[here + j] & masks[row + j]) | marks[row + j]
        else:
            for j in range(np.uint64(BLOCK)):
                raw[there + j] = marks[row + j]
            for j in range(np.uint64(max(0, min(left, BLOCK)))):
                raw[there + j] = data[here + j]
        if left <= ONE_BLOCK:
            lanes[lane, 14] = np.uint32(length << 3 & 0xFFFFFFFF)
            lanes[lane, 15] = np.uint32(length >> 29 & 0xFFFFFFFF)


@inlined
def _step(a, b, bits):
    """End of one round: a rotated left by `bits`, plus b, in 32 bits (numba computes with 64)."""
    a = np.uint32(a)
    return np.uint32(b + np.uint32(a << np.uint32(bits) | a >> np.uint32(32 - bits)))


@kernel
def _compress(message, state, work, sines, words):
    """Run one block of MD5 in every lane, four rounds at a time, which restores the order of the four state words."""
    for k in range(4):
        for i in range(LANES):
            work[k, i] = state[k, i]
    A, B, C, D = work[0], work[1], work[2], work[3]
    for r in range(0, 16, 4):
        k0, k1, k2, k3 = sines[r], sines[r + 1], sines[r + 2], sines[r + 3]
        w0, w1, w2, w3 = words[r], words[r + 1], words[r + 2], words[r + 3]
        for i in range(LANES):
            a, b, c, d = A[i], B[i], C[i], D[i]
            a = _step(a + (d ^ (b & (c ^ d))) + k0 + message[w0, i], b, 7)
            d = _step(d + (c ^ (a & (b ^ c))) + k1 + message[w1, i], a, 12)
            c = _step(c + (b ^ (d & (a ^ b))) + k2 + message[w2, i], d, 17)
            b = _step(b + (a ^ (c & (d ^ a))) + k3 + message[w3, i], c, 22)
            A[i], B[i], C[i], D[i] = a, b, c, d
    for r in range(16, 32, 4):
        k0, k1, k2, k3 = sines[r], sines[r + 1], sines[r + 2], sines[r + 3]
        w0, w1, w2, w3 = words[r], words[r + 1], words[r + 2], words[r + 3]
        for i in range(LANES):
            a, b, c, d = A[i], B[i], C[i], D[i]
            a = _step(a + (c ^ (d & (b ^ c))) + k0 + message[w0, i], b, 5)
            d = _step(d + (b ^ (c & (a ^ b))) + k1 + message[w1, i], a, 9)
            c = _step(c + (a ^ (b & (d ^ a))) + k2 + message[w2, i], d, 14)
            b = _step(b + (d ^ (a & (c ^ d))) + k3 + message[w3, i], c, 20)
            A[i], B[i], C[i], D[i] = a, b, c, d
    for r in range(32, 48, 4):
        k0, k1, k2, k3 = sines[r], sines[r + 1], sines[r + 2], sines[r + 3]
        w0, w1, w2, w3 = words[r], words[r + 1], words[r + 2], words[r + 3]
        for i in range(LANES):
            a, b, c, d = A[i], B[i], C[i], D[i]
            a = _step(a + (b ^ c ^ d) + k0 + message[w0, i], b, 4)
            d = _step(d + (a ^ b ^ c) + k1 + message[w1, i], a, 11)
            c = _step(c + (d ^ a ^ b) + k2 + message[w2, i], d, 16)
            b = _step(b + (c ^ d ^ a) + k3 + message[w3, i], c, 23)
            A[i], B[i], C[i], D[i] = a, b, c, d
    for r in range(48, 64, 4):
        k0, k1, k2, k3 = sines[r], sines[r + 1], sines[r + 2], sines[r + 3]
        w0, w1, w2, w3 = words[r], words[r + 1], words[r + 2], words[r + 3]
        for i in range(LANES):
            a, b, c, d = A[i], B[i], C[i], D[i]
            a = _step(a + (c ^ (b | ~d)) + k0 + message[w0, i], b, 6)
            d = _step(d + (b ^ (a | ~c)) + k1 + message[w1, i], a, 10)
            c = _step(c + (a ^ (d | ~b)) + k2 + message[w2, i], d, 15)
            b = _step(b + (d ^ (c | ~a)) + k3 + message[w3, i], c, 21)
            A[i], B[i], C[i], D[i] = a, b, c, d
    for k in range(4):
        for i in range(LANES):
            state[k, i] += work[k, i]


# Counting


@inlined
def _sum(a, b, c):
    """Bitwise sum a + b + c: the ones and the twos."""
    ab = a ^ b
    return ab ^ c, (a & b) | (ab & c)


@kernel
def _majority(hashes, planes):
    """Bits set in more than half of the hashes; bytes from last to first, as MD5 is read big-endian."""
    count, used = len(hashes), 3
    while count >> used:
        used += 1
    planes[:used] = 0
    ones, twos, fours = planes[0], planes[1], planes[2]
    whole = count - count % 8
    for i in range(0, whole, 8):
        ones, a = _sum(ones, hashes[i], hashes[i + 1])
        ones, b = _sum(ones, hashes[i + 2], hashes[i + 3])
        ones, c = _sum(ones, hashes[i + 4], hashes[i + 5])
        ones, d = _sum(ones, hashes[i + 6], hashes[i + 7])
        twos, a = _sum(twos, a, b)
        twos, b = _sum(twos, c, d)
        fours, carry = _sum(fours, a, b)
        for p in range(3, used):
            planes[p], carry = planes[p] ^ carry, planes[p] & carry
    planes[0], planes[1], planes[2] = ones, twos, fours
    for i in range(whole, count):
        carry = hashes[i]
        for p in range(used):
            planes[p], carry = planes[p] ^ carry, planes[p] & carry
    return _reversed_bytes(_above(planes, used, count // 2))


@kernel
def _above(planes, used, limit):
    """Bits whose counter is above `limit`."""
    above, equal = np.uint64(0), ~np.uint64(0)
    for p in range(used - 1, -1, -1):
        if limit >> p & 1:
            equal &= planes[p]
        else:
            above |= equal & planes[p]
            equal &= ~planes[p]
    return above


@kernel
def _reversed_bytes(x):
    result = np.uint64(0)
    for _ in range(8):
        result = result << np.uint64(8) | x & np.uint64(0xFF)
        x >>= np.uint64(8)
    return result
