"""Minima of datatrove's permutations: (a h + b mod 2^64) mod (2^61 - 1), h being a hash of the shingle.

datatrove 0.10.1 (`MinhashDedupSignature`) hashes a shingle, its words with a space between two, by xxHash or by SHA-1, to 32 or
64 bits. With a precision of 32 bits, the low 32 bits of a permuted value count. A text of fewer words than the window has no
shingle, and no signature.
"""

from __future__ import annotations

import numpy as np

from refinery.common.cached import cached
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.dedup.sha1 import Lanes, lanes, sha1_64
from refinery.kernels.dedup.shingles import Tokens
from refinery.kernels.dedup.xxhash import xxh32, xxh64

MERSENNE = (1 << 61) - 1
LOW = 0xFFFFFFFF
BLOCK = 1024  # shingles that are permuted together: 8 KiB, which fits the L1 cache
XXHASH, SHA1 = "xxhash", "sha1"
PRECISIONS = (32, 64)

_KINDS = {(XXHASH, 64): 0, (XXHASH, 32): 1, (SHA1, 64): 2, (SHA1, 32): 3}


def datatrove_minima(
    split: Tokens, window: int, permutations: int, seed: int = 1, precision: int = 64, function: str = XXHASH
) -> tuple[np.ndarray, np.ndarray]:
    """Minima of each row, (rows, permutations), and a mask of the rows that have a shingle, bool (rows).

    The minima are uint32 with a precision of 32 bits and uint64 with 64. permutations: all of datatrove's configuration, since
    the drawn numbers depend on it. split: with a space between two words. Raises KeyError for another function or precision.
    """
    kind = _KINDS[function, precision]
    factors, terms = datatrove_parameters(permutations, seed)
    minima = np.full((len(split.valid), permutations), MERSENNE, np.uint64)
    _minima(*split[:4], window, factors, terms, kind, lanes(), np.empty(BLOCK, np.uint64), minima)
    return minima.astype(np.uint32 if precision == 32 else np.uint64), np.diff(split.firsts) > window


@cached(8)
def datatrove_parameters(permutations: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors and terms (uint64) of the permutations: first all factors, then all terms, from numpy's RandomState."""
    draw = np.random.RandomState(seed).randint
    return (
        draw(1, MERSENNE, dtype=np.uint64, size=permutations),
        draw(0, MERSENNE, dtype=np.uint64, size=permutations),
    )


@entry("uint8[] int64[] int64[] int64 int64 uint64[] uint64[] int64 Lanes uint64[] uint64[,]", Lanes)
def _minima(data, starts, firsts, gap, window, factors, terms, kind, lanes, block, minima):
    mask = np.uint64(LOW) if kind & 1 else ~np.uint64(0)
    for row in range(len(firsts) - 1):
        n = firsts[row + 1] - firsts[row] - window
        for start in range(0, n, BLOCK):
            used = min(n - start, BLOCK)
            for i in range(used):
                at = firsts[row] + start + i
                block[i] = _hash(data, starts[at], starts[at + window] - gap, kind, lanes)
            _permute(block, used, factors, terms, mask, minima[row])


@inlined
def _hash(data, start, end, kind, lanes):
    if kind == 0:
        return xxh64(data, start, end)
    if kind == 1:
        return xxh32(data, start, end)
    h = sha1_64(data, start, end, lanes)
    return h & np.uint64(LOW) if kind == 3 else h


@kernel
def _permute(hashes, n, factors, terms, mask, least):
    """Lower `least` to the minima over hashes[:n] of each permutation, of the bits in `mask`."""
    prime = np.uint64(MERSENNE)
    for j in range(len(least)):
        a, b, m = factors[j], terms[j], least[j]
        for i in range(np.uint64(n)):
            x = hashes[i] * a + b
            x = (x & prime) + (x >> np.uint64(61))
            if x >= prime:
                x -= prime
            m = min(m, x & mask)
        least[j] = m
