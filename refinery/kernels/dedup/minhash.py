"""MinHash: the minima of many permutations of a text's shingles.

Two sets of shingles have the same minimum under a random permutation with a probability equal to their Jaccard
similarity (Broder 1997). `fast` permutes a 32-bit hash of the shingle by multiplication and addition modulo 2^32.
`data_juicer` gives the minima of Data-Juicer 1.6.1 and datasketch: the low 32 bits of (a h + b mod 2^64) mod
2^61 - 1, h being the first four bytes of the shingle's SHA-1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.dedup.minhash_shingles import GOLDEN, MIX, ring, shingle_hashes
from refinery.kernels.dedup.shingles import Tokens

BLOCK = 1024  # shingles whose hashes are permuted together: 4 KiB, which fits the L1 cache
LANES = 64  # a block is padded to a multiple of this, so that no permutation has a remainder loop
GROUP = 4  # permutations that share one pass over a block

NONE = 0xFFFFFFFF


def fast_minima(split: Tokens, window: int, permutations: int) -> tuple[np.ndarray, np.ndarray]:
    """Minima of each row, uint32 (rows, permutations), and a mask of the rows that have a shingle, bool (rows).

    A text of fewer tokens than the window has one shingle, all its tokens; a text without tokens has none.
    """
    rows = len(split.valid)
    factors, terms = permutation_parameters(permutations)
    hashes = np.empty(int(np.diff(split.firsts).max(initial=1)), np.uint64)
    minima, present = np.empty((rows, len(factors)), np.uint32), np.zeros(rows, np.bool_)
    table = split[:4]
    _fast_minima(*table, window, ring(window), factors, terms, hashes, np.empty(BLOCK, np.uint32), minima, present)
    return minima[:, :permutations], present


@lru_cache(maxsize=8)
def permutation_parameters(permutations: int) -> tuple[np.ndarray, np.ndarray]:
    """Odd factors and terms (uint32) of the permutations, padded to a multiple of GROUP, by splitmix64 from zero.

    The first k are the same for every number of permutations.
    """
    room = -(-permutations // GROUP) * GROUP
    x = np.arange(1, 2 * room + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(MIX)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = ((x ^ (x >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)
    return x[0::2] | np.uint32(1), x[1::2].copy()


@entry("uint8[] int64[] int64[] int64 int64 uint64[] uint32[] uint32[] uint64[] uint32[] uint32[,] bool[]")
def _fast_minima(data, starts, firsts, gap, window, ring, factors, terms, hashes, block, minima, present):
    for row in range(len(firsts) - 1):
        first, n = firsts[row], firsts[row + 1] - firsts[row] - 1
        if n == 0:
            continue
        n = shingle_hashes(data, starts, first, n, gap, window, ring, hashes)
        present[row] = True
        minima[row, :] = NONE
        for start in range(0, n, BLOCK):
            used = min(n - start, BLOCK)
            for i in range(used):
                block[i] = np.uint32(hashes[start + i] >> np.uint64(32))
            filled = (used + LANES - 1) // LANES * LANES
            block[used:filled] = block[0]
            _permute(block, filled, factors, terms, minima[row])


@kernel
def _permute(hashes, n, factors, terms, least):
    """Lower `least` to the minima over hashes[:n] of each permutation."""
    for j in range(0, len(least), GROUP):
        a0, a1, a2, a3 = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        b0, b1, b2, b3 = terms[j], terms[j + 1], terms[j + 2], terms[j + 3]
        m0, m1, m2, m3 = least[j], least[j + 1], least[j + 2], least[j + 3]
        for i in range(np.uint64(n)):
            h = hashes[i]
            m0 = min(m0, np.uint32(a0 * h + b0))
            m1 = min(m1, np.uint32(a1 * h + b1))
            m2 = min(m2, np.uint32(a2 * h + b2))
            m3 = min(m3, np.uint32(a3 * h + b3))
        least[j], least[j + 1], least[j + 2], least[j + 3] = m0, m1, m2, m3
