"""64-bit hashes of shingles, from hashes of their tokens.

A token of up to 16 bytes takes two loads and a few multiplications, without a branch on its length. A shingle's hash is
a polynomial in its tokens' hashes, so each further shingle costs as much for a window of 13 as for one of 5.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints
from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.sorting import sort, stack
from refinery.kernels.dedup.shingles import Tokens

# Odd constants with well mixed bits: the 64-bit golden ratio, primes of xxHash64, and a multiplier of splitmix64.
GOLDEN, PRIME_1, PRIME_2, PRIME_3 = 0x9E3779B97F4A7C15, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
MIX = 0xBF58476D1CE4E5B9

LOAD = 8  # bytes of one load


@inlined
def low_bytes(word, n):
    """First n bytes of a loaded word, the others zero; n above 8 takes all, below 1 none."""
    kept = min(max(n, 0), LOAD)
    # Shifted in two halves: a shift by 64 is undefined.
    drop = np.uint64((LOAD - kept) * 4)
    return (word << drop << drop) >> drop >> drop


@inlined
def token_hash(data, start, end):
    """Hash of data[start:end]; 16 bytes from any start below `end` on must be readable."""
    n = end - start
    low = low_bytes(load_word(data, start), n) ^ np.uint64(GOLDEN)
    high = low_bytes(load_word(data, start + LOAD), n - LOAD) ^ np.uint64(n)
    x = low * np.uint64(PRIME_1)
    x = (x ^ (x >> np.uint64(32))) + high * np.uint64(PRIME_2)
    if n > 2 * LOAD:
        x = _long(data, start + 2 * LOAD, end, x)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(MIX)
    return x ^ (x >> np.uint64(32))


@kernel
def _long(data, i, end, x):
    while i + LOAD <= end:
        x = ((x ^ (x >> np.uint64(31))) + load_word(data, i)) * np.uint64(PRIME_2)
        i += LOAD
    # The last bytes, some of them twice: no load goes past the end of a long token.
    return ((x ^ (x >> np.uint64(31))) + load_word(data, end - LOAD)) * np.uint64(PRIME_3)


@inlined
def mixed(x):
    """Value of a polynomial with all its bits mixed."""
    x = (x ^ (x >> np.uint64(32))) * np.uint64(MIX)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(PRIME_1)
    return x ^ (x >> np.uint64(32))


@kernel
def power(window):
    """Base of the polynomial to the power of `window`."""
    result = np.uint64(1)
    for _ in range(window):
        result *= np.uint64(PRIME_3)
    return result


def ring(window: int) -> np.ndarray:
    """Room for the hashes of the last `window` tokens: a power of two. Raises ValueError for a window below 1."""
    if window < 1:
        raise ValueError(f"the window is {window} tokens; a shingle has at least one")
    return np.zeros(1 << (window - 1).bit_length(), np.uint64)


def shingle_sets(split: Tokens, window: int) -> pa.Array:
    """The distinct shingles of each row as sorted 64-bit hashes (list of uint64); NULL for NULL.

    A text of fewer tokens than the window has one shingle, all its tokens; a text without tokens has none.
    """
    room = np.maximum(np.diff(split.firsts) - 1, 0)
    hashes, sizes = np.empty(int(room.sum()), np.uint64), np.zeros(len(room) + 1, np.int64)
    _sets(split.data, split.starts, split.firsts, split.gap, window, ring(window), stack(), hashes, sizes)
    offsets = ints(np.cumsum(sizes).astype(np.int32), np.append(split.valid, True))
    return pa.ListArray.from_arrays(offsets, ints(hashes[: int(sizes.sum())]))


@kernel
def shingle_hashes(data, starts, first, n, gap, window, ring, out):
    """Write the hashes of the shingles of n tokens from number `first` on to out; returns their number.

    A text with fewer tokens than the window is one shingle; without tokens it has none.
    """
    if n == 0:
        return 0
    window = min(window, n)
    leaving, mask = power(window), len(ring) - 1
    x = np.uint64(0)
    for i in range(n):
        token = token_hash(data, starts[first + i], starts[first + i + 1] - gap)
        x = x * np.uint64(PRIME_3) + token
        if i >= window:
            x -= ring[(i - window) & mask] * leaving
        ring[i & mask] = token
        if i >= window - 1:
            out[i - window + 1] = mixed(x)
    return n - window + 1


@entry("uint8[] int64[] int64[] int64 int64 uint64[] int64[] uint64[] int64[]")
def _sets(data, starts, firsts, gap, window, ring, stack, out, sizes):
    w = 0
    for row in range(len(firsts) - 1):
        n = shingle_hashes(data, starts, firsts[row], firsts[row + 1] - firsts[row] - 1, gap, window, ring, out[w:])
        end = w + n
        sort(out, w, end, stack)
        first = w
        for i in range(w, end):
            if i == first or out[i] != out[w - 1]:
                out[w] = out[i]
                w += 1
        sizes[row + 1] = w - first
