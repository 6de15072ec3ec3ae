"""Cosines of vectors, in the same bits on any machine: each sum runs in the order of the numbers, in float64."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry


def squares(vectors: np.ndarray) -> np.ndarray:
    """Squared length of each vector (float64). vectors: float32, a row each."""
    found = np.empty(len(vectors), np.float64)
    _squares(vectors, found)
    return found


def cosines(vectors: np.ndarray, squares: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosine of each pair of vectors (float64). one, other: their rows (int64). squares: of all vectors."""
    found = np.empty(len(one), np.float64)
    _products(vectors, one, other, found)
    return found / np.sqrt(squares[one] * squares[other])


@entry("float32[,] float64[]")
def _squares(vectors, found):
    for row in range(len(found)):
        total = 0.0
        for k in range(vectors.shape[1]):
            number = np.float64(vectors[row, k])
            total += number * number
        found[row] = total


@entry("float32[,] int64[] int64[] float64[]")
def _products(vectors, one, other, found):
    for i in range(len(found)):
        a, b = one[i], other[i]
        total = 0.0
        for k in range(vectors.shape[1]):
            total += np.float64(vectors[a, k]) * np.float64(vectors[b, k])
        found[i] = total
