"""XXH32 and XXH64 of byte strings within an array, with the seed 0 (xxHash 0.8, doc/xxhash_spec.md)."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import inlined, kernel

LONG_1, LONG_2, LONG_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
LONG_4, LONG_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
WORD_1, WORD_2, WORD_3, WORD_4, WORD_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
WRAPPED_1 = (LONG_1 + LONG_2) & 0xFFFFFFFFFFFFFFFF
NEGATIVE_1 = -LONG_1 & 0xFFFFFFFFFFFFFFFF
LOW = 0xFFFFFFFF


@inlined
def _left(x, n):
    return (x << np.uint64(n)) | (x >> np.uint64(64 - n))


@inlined
def _round(state, lane):
    return _left(state + lane * np.uint64(LONG_2), 31) * np.uint64(LONG_1)


@inlined
def _merged(h, state):
    return (h ^ _round(np.uint64(0), state)) * np.uint64(LONG_1) + np.uint64(LONG_4)


@kernel
def xxh64(data, i, end):
    """XXH64 of data[i:end]. Eight bytes behind it must be readable."""
    size = end - i
    h = np.uint64(LONG_5)
    if size >= 32:
        a, b, c, d = np.uint64(WRAPPED_1), np.uint64(LONG_2), np.uint64(0), np.uint64(NEGATIVE_1)
        while i + 32 <= end:
            a, b = _round(a, load_word(data, i)), _round(b, load_word(data, i + 8))
            c, d = _round(c, load_word(data, i + 16)), _round(d, load_word(data, i + 24))
            i += 32
        h = _left(a, 1) + _left(b, 7) + _left(c, 12) + _left(d, 18)
        h = _merged(_merged(_merged(_merged(h, a), b), c), d)
    h += np.uint64(size)
    while i + 8 <= end:
        h = _left(h ^ _round(np.uint64(0), load_word(data, i)), 27) * np.uint64(LONG_1) + np.uint64(LONG_4)
        i += 8
    if i + 4 <= end:
        h = h ^ ((load_word(data, i) & np.uint64(LOW)) * np.uint64(LONG_1))
        h = _left(h, 23) * np.uint64(LONG_2) + np.uint64(LONG_3)
        i += 4
    while i < end:
        h = _left(h ^ (np.uint64(data[i]) * np.uint64(LONG_5)), 11) * np.uint64(LONG_1)
        i += 1
    h = (h ^ (h >> np.uint64(33))) * np.uint64(LONG_2)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(LONG_3)
    return h ^ (h >> np.uint64(32))


@inlined
def _left_word(x, n):
    """A 32-bit number in 64 bits, turned to the left."""
    return ((x << np.uint64(n)) | (x >> np.uint64(32 - n))) & np.uint64(LOW)


@inlined
def _round_word(state, lane):
    x = (state + (lane & np.uint64(LOW)) * np.uint64(WORD_2)) & np.uint64(LOW)
    return (_left_word(x, 13) * np.uint64(WORD_1)) & np.uint64(LOW)


@kernel
def xxh32(data, i, end):
    """XXH32 of data[i:end], in a uint64. Eight bytes behind it must be readable."""
    size = end - i
    h = np.uint64(WORD_5)
    if size >= 16:
        a, b = np.uint64((WORD_1 + WORD_2) & LOW), np.uint64(WORD_2)
        c, d = np.uint64(0), np.uint64(-WORD_1 & LOW)
        while i + 16 <= end:
            one, two = load_word(data, i), load_word(data, i + 8)
            a, b = _round_word(a, one), _round_word(b, one >> np.uint64(32))
            c, d = _round_word(c, two), _round_word(d, two >> np.uint64(32))
            i += 16
        h = _left_word(a, 1) + _left_word(b, 7) + _left_word(c, 12) + _left_word(d, 18)
    h = (h + np.uint64(size)) & np.uint64(LOW)
    while i + 4 <= end:
        h = (h + (load_word(data, i) & np.uint64(LOW)) * np.uint64(WORD_3)) & np.uint64(LOW)
        h = (_left_word(h, 17) * np.uint64(WORD_4)) & np.uint64(LOW)
        i += 4
    while i < end:
        h = (h + np.uint64(data[i]) * np.uint64(WORD_5)) & np.uint64(LOW)
        h = (_left_word(h, 11) * np.uint64(WORD_1)) & np.uint64(LOW)
        i += 1
    h = ((h ^ (h >> np.uint64(15))) * np.uint64(WORD_2)) & np.uint64(LOW)
    h = ((h ^ (h >> np.uint64(13))) * np.uint64(WORD_3)) & np.uint64(LOW)
    return h ^ (h >> np.uint64(16))
