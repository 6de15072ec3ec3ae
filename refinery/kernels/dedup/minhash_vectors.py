"""Minima over a few hashes: the instructions that `minhash_exact` is made of."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import instruction

CHUNK = 16  # hashes that are searched together
GROUP = 32  # permutations that are searched together, one per lane

_LOW = np.uint64(0xFFFFFFFF)


@instruction("minhash.search_chunk")
def search_chunk(hashes, i, number, factors, terms, best, j):
    """Enter the least a h + b mod 2^32 of hashes[i : i + CHUNK] for each of the permutations j to j + GROUP - 1.

    factors and terms: a and b. best: the least of all chunks so far, the least of the other chunks, and the number of the
    chunk that has the least. number: of this chunk.
    """
    lanes = slice(j, j + GROUP)
    a, b, h = np.asarray(factors[lanes]), np.asarray(terms[lanes]), np.asarray(hashes[i : i + CHUNK])
    least = (a[:, None] * h[None, :] + b[:, None]).min(axis=1)
    before, other, chunk = (np.array(best[row, lanes]) for row in range(3))
    best[0, lanes] = np.minimum(least, before)
    best[1, lanes] = np.minimum(other, np.maximum(before, least))
    best[2, lanes] = np.where(least < before, number, chunk)


@instruction("minhash.least_of_chunk")
def least_of_chunk(hashes, i, a, b):
    """Least (y mod 2^32) + (y >> 61) mod 2^32 of y = a h + b mod 2^64 over hashes[i : i + CHUNK], uint32."""
    y = np.uint64(a) * np.asarray(hashes[i : i + CHUNK]).astype(np.uint64) + np.uint64(b)
    return int(((y + (y >> np.uint64(61))) & _LOW).min())
