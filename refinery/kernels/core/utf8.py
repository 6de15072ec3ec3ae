"""UTF-8 in kernels. Inputs are valid UTF-8: readers check every text first."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import inlined, kernel


@inlined
def decode(data, i):
    """Code point that starts at byte i, and the position after it."""
    b = data[i]
    if b < 0x80:
        return int(b), i + 1
    if b < 0xE0:
        return ((int(b) & 0x1F) << 6) | (int(data[i + 1]) & 0x3F), i + 2
    if b < 0xF0:
        return ((int(b) & 0x0F) << 12) | ((int(data[i + 1]) & 0x3F) << 6) | (int(data[i + 2]) & 0x3F), i + 3
    return (
        ((int(b) & 0x07) << 18)
        | ((int(data[i + 1]) & 0x3F) << 12)
        | ((int(data[i + 2]) & 0x3F) << 6)
        | (int(data[i + 3]) & 0x3F)
    ), i + 4


@kernel
def before(data, i, start):
    """Position where the code point that ends before byte i starts; not below start."""
    i -= 1
    while i > start and (data[i] & 0xC0) == 0x80:
        i -= 1
    return i


@kernel
def encode(cp, out, w):
    """Write code point cp at out[w:]; returns the position after it. The caller keeps four bytes of room."""
    if cp < 0x80:
        out[w] = cp
        return w + 1
    if cp < 0x800:
        out[w] = 0xC0 | (cp >> 6)
        out[w + 1] = 0x80 | (cp & 0x3F)
        return w + 2
    if cp < 0x10000:
        out[w] = 0xE0 | (cp >> 12)
        out[w + 1] = 0x80 | ((cp >> 6) & 0x3F)
        out[w + 2] = 0x80 | (cp & 0x3F)
        return w + 3
    out[w] = 0xF0 | (cp >> 18)
    out[w + 1] = 0x80 | ((cp >> 12) & 0x3F)
    out[w + 2] = 0x80 | ((cp >> 6) & 0x3F)
    out[w + 3] = 0x80 | (cp & 0x3F)
    return w + 4


@inlined
def copy(data, start, end, out, w):
    """Copy data[start:end] to out[w:]; returns the position after it."""
    # Unsigned indices need no test for being negative, so the loop becomes a block copy.
    source, target = np.uint64(start), np.uint64(w)
    for i in range(np.uint64(max(0, end - start))):
        out[target + i] = data[source + i]
    return w + end - start


@kernel
def same(data, start, end, out, w_start, w_end):
    """True if data[start:end] equals out[w_start:w_end]."""
    if end - start != w_end - w_start:
        return False
    left, right = data[start:end], out[w_start:w_end]
    differ = np.uint8(0)
    for i in range(len(left)):
        differ = np.uint8(differ | (left[i] ^ right[i]))
    return differ == 0
