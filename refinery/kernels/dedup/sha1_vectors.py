"""SHA-1 of one block for each of 16 lanes: the instructions that `sha1` is made of."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import instruction

LANES = 16
BLOCK = 64  # bytes

START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
ROUND_CONSTANTS = (0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6)  # of 20 rounds each

_MASK = 0xFFFFFFFF


@instruction("sha1.put_block")
def put_block(data, i, used, mark, length, blocks, lane):
    """Write a block to blocks[lane], as big-endian words: `used` bytes from data[i] on, zeros, the end mark, the length.

    mark: number of the byte 0x80, BLOCK for none. length: last two words, 0 where another block follows. 64 bytes from
    data[i] on must be readable.
    """
    block = np.zeros(BLOCK, np.uint8)
    block[:used] = data[i : i + used]
    if mark < BLOCK:
        block[mark] = 0x80
    words = block.view(">u4").astype(np.uint32).view(np.uint64)
    words[-1] |= np.uint64(length)
    blocks[lane, :] = words.view(np.uint32)


@instruction("sha1.first_words")
def first_words(blocks, states):
    """Write the first four bytes of the SHA-1 of strings of one block to states[0], little-endian."""
    for lane in range(LANES):
        states[0, lane] = int.from_bytes(_compressed(blocks[lane], START)[0].to_bytes(4, "big"), "little")


@instruction("sha1.advance")
def advance(blocks, states):
    """Update the state of each lane by its block."""
    for lane in range(LANES):
        for row, word in enumerate(_compressed(blocks[lane], [int(states[row, lane]) for row in range(len(START))])):
            states[row, lane] = word


def _compressed(words, state):
    """State after the 80 rounds of a block (FIPS 180-4)."""
    w, (a, b, c, d, e) = [int(word) for word in words], state
    for number in range(80):
        if number >= 16:
            w.append(_left(w[number - 3] ^ w[number - 8] ^ w[number - 14] ^ w[number - 16], 1))
        chosen = (d ^ (b & (c ^ d)), b ^ c ^ d, (b & c) | (d & (b | c)), b ^ c ^ d)[number // 20]
        total = _left(a, 5) + chosen + e + ROUND_CONSTANTS[number // 20] + w[number]
        a, b, c, d, e = total & _MASK, a, _left(b, 30), c, d
    return [old + new & _MASK for old, new in zip(state, (a, b, c, d, e), strict=True)]


def _left(x, n):
    return (x << n | x >> 32 - n) & _MASK
