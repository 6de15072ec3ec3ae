"""Bands of MinHash signatures: their number, their keys, and the stored signature.

Two texts are candidates when all minima of one band agree: with b bands of r minima, a pair of similarity s is a
candidate with probability 1 - (1 - s^r)^b.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.kernels.core.arrow import ints, structs
from refinery.kernels.core.jit import entry
from refinery.kernels.dedup.minhash_shingles import GOLDEN, PRIME_1, mixed

MOST_NODES = 512


@cached(64)
def optimum(threshold: float, permutations: int) -> tuple[int, int]:
    """Number of bands and of minima per band with the least area of candidates below the threshold and misses above.

    datasketch and Data-Juicer make the same choice by numerical integration; here Gauss and Legendre's rule gives the
    integrals of the polynomials exactly, up to rounding (nearly so for more than 1,024 permutations).
    """
    nodes, weights = np.polynomial.legendre.leggauss(min(permutations // 2 + 1, MOST_NODES))
    below, above = (nodes + 1) / 2 * threshold, threshold + (nodes + 1) / 2 * (1 - threshold)
    area_below, area_above = weights / 2 * threshold, weights / 2 * (1 - threshold)
    errors = np.full((permutations + 1, permutations + 1), np.inf)
    for rows in range(1, permutations + 1):
        bands = permutations // rows
        missed_below = np.multiply.accumulate(np.tile(1 - below**rows, (bands, 1)))
        missed_above = np.multiply.accumulate(np.tile(1 - above**rows, (bands, 1)))
        errors[1 : bands + 1, rows] = ((1 - missed_below) @ area_below + missed_above @ area_above) / 2
    best = int(np.argmin(errors))  # among equals the choice with the fewest bands
    return divmod(best, permutations + 1)


def band_keys(minima: np.ndarray, bands: int, rows_per_band: int) -> np.ndarray:
    """Key of each band, uint64 (rows, bands), equal where its `rows_per_band` minima (uint32 or uint64) are equal."""
    keys = np.empty((len(minima), bands), np.uint64)
    halves = minima.view(np.uint32)  # a minimum of 64 bits counts as two
    _band_keys(halves, rows_per_band * (minima.itemsize // 4), keys)
    return keys


def match_keys(minima: np.ndarray, present: np.ndarray, bands: int, rows_per_band: int, short: np.ndarray) -> pa.Array:
    """Struct of `bands` (list of uint64), `signature` (binary, low 16 bits per minimum) and `short`; NULL where not present."""
    rows = len(minima)
    kept = np.ascontiguousarray(minima) if present.all() else minima[np.flatnonzero(present)]
    keys, low = band_keys(kept, bands, rows_per_band), kept.astype("<u2")
    sizes = np.zeros(rows + 1, np.int64)
    np.cumsum(present, out=sizes[1:])
    nulls, missing = pa.py_buffer(np.packbits(present, bitorder="little")), rows - len(kept)
    ends = pa.py_buffer((sizes * bands).astype(np.int32))
    lists = pa.Array.from_buffers(pa.list_(pa.uint64()), rows, [nulls, ends], missing, children=[ints(keys.ravel())])
    ends = pa.py_buffer((sizes * low.shape[1] * 2).astype(np.int32))
    blobs = pa.Array.from_buffers(pa.binary(), rows, [nulls, ends, pa.py_buffer(low.ravel())], missing)
    return structs(present, bands=lists, signature=blobs, short=short)


@entry("uint32[,] int64 uint64[,]")
def _band_keys(minima, rows_per_band, keys):
    for row in range(keys.shape[0]):
        for band in range(keys.shape[1]):
            x = np.uint64(band + 1) * np.uint64(GOLDEN)
            for k in range(band * rows_per_band, (band + 1) * rows_per_band):
                x = (x ^ np.uint64(minima[row, k])) * np.uint64(PRIME_1)
                x ^= x >> np.uint64(32)
            keys[row, band] = mixed(x)
