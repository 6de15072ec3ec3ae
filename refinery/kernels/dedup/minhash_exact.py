"""Minima of Data-Juicer's permutations: the low 32 bits of (a h + b mod 2^64) mod (2^61 - 1), computed in 32 bits.

Let y = a h + b + 1 mod 2^64. The value plus 1 is (y mod 2^32) + (y >> 61) mod 2^32, except where that sum is less than 8.
So the value is nearly u = a h + b + 8 mod 2^32, which takes a third of the work: value + 1 lies in u - 7 .. u if u is at
least 15. The hashes are searched in chunks for the least u of each permutation. Its chunk holds the minimum if no other
chunk has one that is as small or larger by less than 7. Only that chunk is computed in 64 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.common.cached import cached
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.dedup.minhash_vectors import CHUNK, GROUP, least_of_chunk, search_chunk
from refinery.kernels.dedup.sha1 import Lanes, lanes, sha1_32
from refinery.kernels.dedup.shingles import Tokens

BLOCK = 2048  # shingles that are hashed together; their hashes fit the L1 cache
SEEN = 1024  # places for hashes of a text, a power of two

NONE = 0xFFFFFFFF
MERSENNE = (1 << 61) - 1
SURPLUS = 7  # most by which u exceeds the value plus 1
SMALLEST = 2 * SURPLUS + 1  # least u for which the bounds hold


class Permutations(NamedTuple):
    """Numbers of each permutation. factors, terms: a and b (uint64); low_factors, low_terms: a and b + 8 (uint32)."""

    factors: np.ndarray
    terms: np.ndarray
    low_factors: np.ndarray
    low_terms: np.ndarray


class Block(NamedTuple):
    """Shingles that are hashed together.

    begins, ends, order: bounds in the data, and room for the order of hashing (int64). rows, stops: the row of each
    segment, and its end among the shingles (int64). hashes, distinct: of the shingles, and of a segment (uint32).
    """

    begins: np.ndarray
    ends: np.ndarray
    order: np.ndarray
    rows: np.ndarray
    stops: np.ndarray
    hashes: np.ndarray
    distinct: np.ndarray


record(Permutations, "uint64[] uint64[] uint32[] uint32[]")
record(Block, "int64[] int64[] int64[] int64[] int64[] uint32[] uint32[]")


def data_juicer_minima(split: Tokens, window: int, permutations: int) -> tuple[np.ndarray, np.ndarray]:
    """Minima by Data-Juicer's hash functions and permutations, equal to those that Data-Juicer computes.

    A text of fewer tokens than the window is one shingle; it is for the caller to treat it as Data-Juicer does.
    A text without tokens has no shingle, and the largest value in place of each minimum. Also a mask of the rows that have a shingle.
    """
    drawn = data_juicer_parameters(-(-permutations // GROUP) * GROUP)
    minima = np.full((len(split.valid), len(drawn.factors)), NONE, np.uint32)
    block = Block(
        *(np.empty(BLOCK, np.int64) for _ in range(5)), *(np.empty(BLOCK + CHUNK, np.uint32) for _ in range(2))
    )
    best, seen = np.empty((3, len(drawn.factors)), np.uint32), np.zeros(SEEN, np.uint64)
    _minima(*split[:4], window, drawn, block, lanes(), best, seen, minima)
    return minima[:, :permutations], split.valid & (np.diff(split.firsts) > 1)


@cached(8)
def data_juicer_parameters(permutations: int) -> Permutations:
    """Data-Juicer's permutations, drawn alternately from numpy's RandomState(42).

    The first k are the same for every number of permutations.
    """
    draw = np.random.RandomState(42).randint
    pairs = [(draw(1, MERSENNE, dtype=np.uint64), draw(0, MERSENNE, dtype=np.uint64)) for _ in range(permutations)]
    factors, terms = np.array(pairs, np.uint64).T
    low_terms = (terms + np.uint64(SURPLUS + 1)).astype(np.uint32)
    return Permutations(factors.copy(), terms.copy(), factors.astype(np.uint32), low_terms)


@entry(
    "uint8[] int64[] int64[] int64 int64 Permutations Block Lanes uint32[,] uint64[] uint32[,]",
    Permutations,
    Block,
    Lanes,
)
def _minima(data, starts, firsts, gap, window, drawn, block, lanes, best, seen, minima):
    filled = segments = 0
    for row in range(len(firsts) - 1):
        tokens = firsts[row + 1] - firsts[row] - 1
        width = min(window, tokens)
        at, end = firsts[row], firsts[row] + (tokens - width + 1 if tokens > 0 else 0)
        while at < end:
            taken = min(end - at, BLOCK - filled)
            for i in range(taken):
                block.begins[filled + i] = starts[at + i]
                block.ends[filled + i] = starts[at + i + width] - gap
            at += taken
            filled += taken
            block.rows[segments], block.stops[segments] = row, filled
            segments += 1
            if filled == BLOCK:
                _lower(data, filled, segments, drawn, block, lanes, best, seen, minima)
                filled = segments = 0
    _lower(data, filled, segments, drawn, block, lanes, best, seen, minima)


@kernel
def _lower(data, filled, segments, drawn, block, lanes, best, seen, minima):
    """Lower the minima of the rows of a block's segments."""
    sha1_32(data, block.begins, block.ends, filled, block.order, block.hashes, lanes)
    start = 0
    for segment in range(segments):
        row, stop = block.rows[segment], block.stops[segment]
        n = _distinct(block.hashes, start, stop, np.uint64(row + 1) << np.uint64(32), seen, block.distinct)
        if n > 0:
            permute(block.distinct, n, drawn, best, minima[row])
        start = stop


@kernel
def _distinct(hashes, start, stop, stamp, seen, out):
    """Copy hashes that were not met in this row lately; returns their number, a multiple of CHUNK.

    seen: a hash of a row at each place, with the row's stamp in its upper half; a hash may be forgotten.
    """
    w = 0
    for i in range(start, stop):
        h = np.uint64(hashes[i])
        out[w] = hashes[i]
        place = h & np.uint64(SEEN - 1)
        w += seen[place] != stamp | h
        seen[place] = stamp | h
    filled = (w + CHUNK - 1) // CHUNK * CHUNK
    for i in range(w, filled):
        out[i] = out[0]
    return filled


@entry("uint32[] int64 Permutations uint32[,] uint32[]", Permutations)
def permute(hashes, n, drawn, best, least):
    """Lower `least` to the minima over hashes[:n] of each permutation. n: a multiple of CHUNK."""
    best[:2, :] = NONE
    best[2, :] = 0
    for j in range(0, len(least), GROUP):
        for i in range(0, n, CHUNK):
            search_chunk(hashes, i, i, drawn.low_factors, drawn.low_terms, best, j)
    for j in range(len(least)):
        a, b = drawn.factors[j], drawn.terms[j] + np.uint64(1)
        u, other, chunk = best[0, j], best[1, j], np.int64(best[2, j])
        if u < SMALLEST:
            value = _minimum(hashes, n, a, drawn.terms[j])
        elif other - u < SURPLUS:
            value = np.uint32(NONE)
            for i in range(0, n, CHUNK):
                value = min(value, np.uint32(least_of_chunk(hashes, i, a, b) - np.uint32(1)))
        else:
            value = np.uint32(least_of_chunk(hashes, chunk, a, b) - np.uint32(1))
        least[j] = min(least[j], value)


@kernel
def _minimum(hashes, n, a, b):
    """Minimum of a permutation by its definition, in 64 bits."""
    prime, least = np.uint64(MERSENNE), np.uint64(NONE)
    for i in range(n):
        x = np.uint64(hashes[i]) * a + b
        x = (x & prime) + (x >> np.uint64(61))
        if x >= prime:
            x -= prime
        least = min(least, x & np.uint64(NONE))
    return np.uint32(least)
