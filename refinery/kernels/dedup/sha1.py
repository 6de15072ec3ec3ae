"""First four bytes of the SHA-1 of many short byte strings (FIPS 180-4), as one number each.

The rounds are unrolled, so that the compiler turns the loop around them, over the strings of a group, into vector
instructions: 16 strings at a time with AVX-512.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import kernel

GROUP = 64  # strings hashed together
WORDS = 16  # 32-bit words of a block
BLOCK = 64  # bytes of a block

K_CHOOSE, K_PARITY, K_MAJORITY, K_LAST = 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6
START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)


def scratch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for `sha1_32`: words and states of a group's strings (uint32), and their numbers (int64)."""
    return np.empty((WORDS, GROUP), np.uint32), np.empty((5, GROUP), np.uint32), np.empty(GROUP, np.int64)


@kernel
def sha1_32(data, begins, ends, out, words, state, lanes):
    """Write the first four bytes of the SHA-1 of data[begins[k]:ends[k]], little-endian, to out[k] (uint32).

    words, state, lanes: of `scratch`.
    """
    for base in range(0, len(out), GROUP):
        active = min(GROUP, len(out) - base)
        for lane in range(active):
            lanes[lane] = base + lane
        for k in range(5):
            state[k, :] = START[k]
        block = 0
        while active:
            for lane in range(active):
                string = lanes[lane]
                _fill(data, begins[string], ends[string], block, words, lane)
            _compress(words, state)
            active = _finished(begins, ends, block, lanes, active, state, out)
            block += 1


@kernel
def _finished(begins, ends, block, lanes, active, state, out):
    """Store the results of strings that end with this block, compact the others and return their number."""
    left = 0
    for lane in range(active):
        string = lanes[lane]
        if ends[string] - begins[string] + 9 <= (block + 1) * BLOCK:
            x = state[0, lane]
            x = np.uint32((x << np.uint32(16)) | (x >> np.uint32(16)))
            out[string] = np.uint32((x & np.uint32(0x00FF00FF)) << np.uint32(8)) | np.uint32(
                (x >> np.uint32(8)) & np.uint32(0x00FF00FF)
            )
        else:
            for k in range(5):
                state[k, left] = state[k, lane]
            lanes[left] = string
            left += 1
    return left


@kernel
def _fill(data, begin, end, block, words, lane):
    """Write block number `block` of the padded data[begin:end] as big-endian words."""
    size = end - begin
    at = begin + block * BLOCK
    for k in range(WORDS):
        word = np.uint32(0)
        left = end - at
        if left >= 4:
            word = np.uint32(
                (np.uint32(data[at]) << np.uint32(24))
                | (np.uint32(data[at + 1]) << np.uint32(16))
                | (np.uint32(data[at + 2]) << np.uint32(8))
                | np.uint32(data[at + 3])
            )
        elif left >= 0:
            word = np.uint32(0x80) << np.uint32(24 - 8 * left)
            for j in range(left):
                word |= np.uint32(data[at + j]) << np.uint32(24 - 8 * j)
        words[k, lane] = word
        at += 4
    if size + 9 <= (block + 1) * BLOCK:
        words[14, lane] = np.uint32((size * 8) >> 32)
        words[15, lane] = np.uint32((size * 8) & 0xFFFFFFFF)


@kernel
def _compress(words, state):
    """Update the state of every string of the group by its block."""
    for lane in range(np.uint64(GROUP)):
        w4 = (words[0, lane], words[1, lane], words[2, lane], words[3, lane])
        w8 = w4 + (words[4, lane], words[5, lane], words[6, lane], words[7, lane])
        w12 = w8 + (words[8, lane], words[9, lane], words[10, lane], words[11, lane])
        w = w12 + (words[12, lane], words[13, lane], words[14, lane], words[15, lane])
        start = (state[0, lane], state[1, lane], state[2, lane], state[3, lane], state[4, lane])
        s = _choose(start, w[0], w[1], w[2], w[3])
        s = _choose(s, w[4], w[5], w[6], w[7])
        s = _choose(s, w[8], w[9], w[10], w[11])
        s = _choose(s, w[12], w[13], w[14], w[15])
        w = _schedule(w)
        s = _choose(s, w[0], w[1], w[2], w[3])
        s = _parity(s, K_PARITY, w[4], w[5], w[6], w[7])
        s = _parity(s, K_PARITY, w[8], w[9], w[10], w[11])
        s = _parity(s, K_PARITY, w[12], w[13], w[14], w[15])
        w = _schedule(w)
        s = _parity(s, K_PARITY, w[0], w[1], w[2], w[3])
        s = _parity(s, K_PARITY, w[4], w[5], w[6], w[7])
        s = _majority(s, w[8], w[9], w[10], w[11])
        s = _majority(s, w[12], w[13], w[14], w[15])
        w = _schedule(w)
        s = _majority(s, w[0], w[1], w[2], w[3])
        s = _majority(s, w[4], w[5], w[6], w[7])
        s = _majority(s, w[8], w[9], w[10], w[11])
        s = _parity(s, K_LAST, w[12], w[13], w[14], w[15])
        w = _schedule(w)
        s = _parity(s, K_LAST, w[0], w[1], w[2], w[3])
        s = _parity(s, K_LAST, w[4], w[5], w[6], w[7])
        s = _parity(s, K_LAST, w[8], w[9], w[10], w[11])
        s = _parity(s, K_LAST, w[12], w[13], w[14], w[15])
        state[0, lane] = np.uint32(start[0] + s[0])
        state[1, lane] = np.uint32(start[1] + s[1])
        state[2, lane] = np.uint32(start[2] + s[2])
        state[3, lane] = np.uint32(start[3] + s[3])
        state[4, lane] = np.uint32(start[4] + s[4])


@kernel
def _left(x, n):
    return np.uint32(np.uint32(x << np.uint32(n)) | np.uint32(x >> np.uint32(32 - n)))


@kernel
def _schedule(w):
    """Compute the next sixteen words of the message schedule."""
    w0 = _left(w[13] ^ w[8] ^ w[2] ^ w[0], 1)
    w1 = _left(w[14] ^ w[9] ^ w[3] ^ w[1], 1)
    w2 = _left(w[15] ^ w[10] ^ w[4] ^ w[2], 1)
    w3 = _left(w0 ^ w[11] ^ w[5] ^ w[3], 1)
    w4 = _left(w1 ^ w[12] ^ w[6] ^ w[4], 1)
    w5 = _left(w2 ^ w[13] ^ w[7] ^ w[5], 1)
    w6 = _left(w3 ^ w[14] ^ w[8] ^ w[6], 1)
    w7 = _left(w4 ^ w[15] ^ w[9] ^ w[7], 1)
    w8 = _left(w5 ^ w0 ^ w[10] ^ w[8], 1)
    w9 = _left(w6 ^ w1 ^ w[11] ^ w[9], 1)
    w10 = _left(w7 ^ w2 ^ w[12] ^ w[10], 1)
    w11 = _left(w8 ^ w3 ^ w[13] ^ w[11], 1)
    w12 = _left(w9 ^ w4 ^ w[14] ^ w[12], 1)
    w13 = _left(w10 ^ w5 ^ w[15] ^ w[13], 1)
    w14 = _left(w11 ^ w6 ^ w0 ^ w[14], 1)
    w15 = _left(w12 ^ w7 ^ w1 ^ w[15], 1)
    return w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15


@kernel
def _round(s, f, k, w):
    return np.uint32(_left(s[0], 5) + f + s[4] + np.uint32(k) + w), s[0], _left(s[1], 30), s[2], s[3]


@kernel
def _choose(s, w0, w1, w2, w3):
    s = _round(s, np.uint32(s[3] ^ (s[1] & (s[2] ^ s[3]))), K_CHOOSE, w0)
    s = _round(s, np.uint32(s[3] ^ (s[1] & (s[2] ^ s[3]))), K_CHOOSE, w1)
    s = _round(s, np.uint32(s[3] ^ (s[1] & (s[2] ^ s[3]))), K_CHOOSE, w2)
    return _round(s, np.uint32(s[3] ^ (s[1] & (s[2] ^ s[3]))), K_CHOOSE, w3)


@kernel
def _parity(s, k, w0, w1, w2, w3):
    s = _round(s, np.uint32(s[1] ^ s[2] ^ s[3]), k, w0)
    s = _round(s, np.uint32(s[1] ^ s[2] ^ s[3]), k, w1)
    s = _round(s, np.uint32(s[1] ^ s[2] ^ s[3]), k, w2)
    return _round(s, np.uint32(s[1] ^ s[2] ^ s[3]), k, w3)


@kernel
def _majority(s, w0, w1, w2, w3):
    s = _round(s, np.uint32((s[1] & s[2]) | (s[3] & (s[1] | s[2]))), K_MAJORITY, w0)
    s = _round(s, np.uint32((s[1] & s[2]) | (s[3] & (s[1] | s[2]))), K_MAJORITY, w1)
    s = _round(s, np.uint32((s[1] & s[2]) | (s[3] & (s[1] | s[2]))), K_MAJORITY, w2)
    return _round(s, np.uint32((s[1] & s[2]) | (s[3] & (s[1] | s[2]))), K_MAJORITY, w3)
