"""Sorting of a part of an array in place, without memory of its own."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import kernel

FEW = 16  # numbers that are sorted by insertion
DEPTH = 128  # of `stack`: two bounds for each halving of 2 ** 64 numbers


def stack() -> np.ndarray:
    """Room for `sort`."""
    return np.empty(DEPTH, np.int64)


@kernel
def sort(values, low, high, stack):
    """Sort values[low:high] in ascending order (quicksort, Hoare 1961). stack: int64 (DEPTH), room for bounds."""
    used = 0
    while True:
        while high - low > FEW:
            middle = _partition(values, low, high)
            # The larger part waits, so that at most one part per halving waits.
            if middle - low < high - middle:
                stack[used], stack[used + 1] = middle, high
                high = middle
            else:
                stack[used], stack[used + 1] = low, middle
                low = middle
            used += 2
        _insert(values, low, high)
        if used == 0:
            return
        used -= 2
        low, high = stack[used], stack[used + 1]


@kernel
def _partition(values, low, high):
    """Move the numbers below the median of three to the left; returns where the right part begins."""
    first, middle, last = values[low], values[(low + high - 1) // 2], values[high - 1]
    pivot = max(min(first, middle), min(max(first, middle), last))
    left, right = low, high - 1
    while True:
        while values[left] < pivot:
            left += 1
        while values[right] > pivot:
            right -= 1
        if left >= right:
            return left if left > low else low + 1
        values[left], values[right] = values[right], values[left]
        left += 1
        right -= 1


@kernel
def _insert(values, low, high):
    for i in range(low + 1, high):
        value = values[i]
        k = i
        while k > low and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value
