"""Pairs of samples with equal values, by a hash table in memory."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry

_GOLDEN = 0x9E3779B97F4A7C15


def equal_pairs(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (int64) of samples with equal values: each but the first of its group with the first.

    rows: numbers of the samples, in any order. values: uint64. As `sql/deduplicators/_same_key.sql`.
    """
    slots = np.zeros(1 << max(4, (2 * len(rows)).bit_length()), np.int32)
    row, via = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    found = _equal_pairs(rows, values, slots, np.empty(len(rows), np.int32), row, via)
    return row[:found], via[:found]


@entry("int64[] uint64[] int32[] int32[] int64[] int64[]")
def _equal_pairs(rows, values, slots, places, row, via):
    """`equal_pairs` with room. slots: 1 + the place of the first sample of a value, 0 for none. places: slots of samples."""
    last = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        x = values[i] * np.uint64(_GOLDEN)
        slot = (x ^ (x >> np.uint64(32))) & last
        while slots[slot] != 0 and values[slots[slot] - 1] != values[i]:
            slot = (slot + np.uint64(1)) & last
        places[i] = slot
        if slots[slot] == 0 or rows[i] < rows[slots[slot] - 1]:
            slots[slot] = i + 1
    count = 0
    for i in range(len(rows)):
        first = rows[slots[places[i]] - 1]
        row[count], via[count] = rows[i], first
        count += first != rows[i]
    return count
