"""Pairs of samples with equal values, by a hash table in memory."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry

_GOLDEN = 0x9E3779B97F4A7C15


def equal_pairs(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of samples with equal values: each but the first of its group with the first.

    rows: numbers of the samples, in any order. values: uint64. Returns the place in `rows` of each (int32, ascending), and the number
    of the first (int64). The pairs of `sql/deduplicators/_same_key.sql`.
    """
    slots = np.zeros(1 << max(4, (2 * len(rows)).bit_length()), np.int32)
    place, via = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
    count = _equal_pairs(rows, values, slots, place, via)
    return place[:count], via[:count]


def new_pairs(place: np.ndarray, via: np.ndarray, rows: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of `equal_pairs`, as numbers (int64) of both samples, without those whose sample has this `via` in `known`.

    known: of each sample the last `via`, at first any number that is none, as its own; it is kept up to date.
    """
    row, other = np.empty(len(place), np.int64), np.empty(len(place), np.int64)
    count = _new_pairs(place, via, rows, known, row, other)
    return row[:count], other[:count]


@entry("int64[] uint64[] int32[] int32[] int64[] -> int64")
def _equal_pairs(rows, values, slots, place, via):
    """`equal_pairs` with room. slots: 1 + the place of the first sample of a value, 0 for none."""
    last = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        x = values[i] * np.uint64(_GOLDEN)
        slot = (x ^ (x >> np.uint64(32))) & last
        while slots[slot] != 0 and values[slots[slot] - 1] != values[i]:
            slot = (slot + np.uint64(1)) & last
        place[i] = slot
        if slots[slot] == 0 or rows[i] < rows[slots[slot] - 1]:
            slots[slot] = i + 1
    count = 0
    for i in range(len(rows)):  # `place` has the slots of the samples that are left
        first = rows[slots[place[i]] - 1]
        place[count], via[count] = i, first
        count += first != rows[i]
    return count


@entry("int32[] int64[] int64[] int64[] int64[] int64[] -> int64")
def _new_pairs(place, via, rows, known, row, other):
    """`new_pairs` with room."""
    count = 0
    for i in range(len(place)):
        at = place[i]
        row[count], other[count] = rows[at], via[i]
        count += known[at] != via[i]
        known[at] = via[i]
    return count
