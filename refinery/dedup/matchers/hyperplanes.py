"""Bands of random hyperplanes: similar vectors lie on the same side of most planes, so some of their bands are equal.

All sums are of whole numbers below 2^53, so the bands of a vector are the same in any batch and on any machine.
"""

from __future__ import annotations

from functools import lru_cache
from math import acos, pi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Vectors and planes are rounded to so many steps.
_VECTOR, _PLANE = 1 << 20, 1 << 10
# Vectors that are projected together.
_ROWS = 4096


def bands(vectors: np.ndarray, num_bands: int, band_bits: int) -> np.ndarray:
    """Bands (uint64, vectors x num_bands) of vectors with numbers from -1 to 1: the sides of `band_bits` planes."""
    import numpy as np

    result = np.empty((len(vectors), num_bands), np.uint64)
    normals = planes(vectors.shape[1], num_bands * band_bits)
    places = np.left_shift(np.uint64(1), np.arange(band_bits, dtype=np.uint64))
    for first in range(0, len(vectors), _ROWS):
        rounded = np.rint(vectors[first : first + _ROWS].astype(np.float64) * _VECTOR)
        sides = (rounded @ normals > 0).reshape(-1, num_bands, band_bits)
        result[first : first + _ROWS] = (sides * places).sum(axis=2, dtype=np.uint64)
    return result


@lru_cache(maxsize=4)
def planes(size: int, count: int) -> np.ndarray:
    """Normals of planes (whole numbers as float64, size x count), normally distributed, always the same ones."""
    import numpy as np

    bits = _mixed(np.arange(2 * size * count, dtype=np.uint64))
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / (1 << 53)
    one, other = uniform.reshape(2, size, count)
    return np.rint(np.sqrt(-2 * np.log(one)) * np.cos(2 * pi * other) * _PLANE)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Random-looking 64 bits for each number: splitmix64."""
    import numpy as np

    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def recall(cosine: float, num_bands: int, band_bits: int) -> float:
    """Probability that two vectors of this cosine have an equal band."""
    side = 1 - acos(max(-1.0, min(1.0, cosine))) / pi
    return 1 - (1 - side**band_bits) ** num_bands
