"""Sums of values by key, from which moments are computed."""

import numpy as np

from refinery.kernels.core.jit import entry


@entry("int64[] float64[] bool[] int64[] float64[] float64[] float64[] int64[] int64[]")
def add(codes, values, valid, n, total, low, high, nans, infinities):
    """Add values to the sums of their keys. valid: per value, or empty when all are valid."""
    for i in range(len(values)):
        if len(valid) and not valid[i]:
            continue
        key, value = codes[i], values[i]
        if np.isfinite(value):
            n[key] += 1
            total[key] += value
            low[key] = min(low[key], value)
            high[key] = max(high[key], value)
        elif np.isnan(value):
            nans[key] += 1
        else:
            infinities[key] += 1


@entry("int64[] float64[] bool[] float64[] float64[] float64[]")
def spread(codes, values, valid, near, rest, squares):
    """Sum the distances of finite values from a value near the mean of their key, and their squares."""
    for i in range(len(values)):
        if (len(valid) and not valid[i]) or not np.isfinite(values[i]):
            continue
        key = codes[i]
        apart = values[i] - near[key]
        rest[key] += apart
        squares[key] += apart * apart
