"""Cosines of vectors, in the same bits on any machine: each sum runs in the order of the numbers, in float64."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry


def squares(vectors: np.ndarray) -> np.ndarray:
    """Squared length of each vector (float64). vectors: float32, a row each."""
    totals = np.empty(len(vectors), np.float64)
    _squares(vectors, totals)
    return totals


def cosines(vectors: np.ndarray, squares: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosine of each pair of vectors (float64). one, other: their rows (int64). squares: of all vectors."""
    products = np.empty(len(one), np.float64)
    _products(vectors, one, other, products)
    return products / np.sqrt(squares[one] * squares[other])


@entry("float32[,] float64[]")
def _squares(vectors, totals):
    for row in range(len(totals)):
        total = 0.0
        for k in range(vectors.shape[1]):
            number = np.float64(vectors[row, k])
            total += number * number
        totals[row] = total


@entry("float32[,] int64[] int64[] float64[]")
def _products(vectors, one, other, products):
    for i in range(len(products)):
        a, b = one[i], other[i]
        total = 0.0
        for k in range(vectors.shape[1]):
            total += np.float64(vectors[a, k]) * np.float64(vectors[b, k])
        products[i] = total
