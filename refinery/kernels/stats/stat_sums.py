"""Kernels that interpret entries of statistics files and add them up by key.

Moments are merged by the method of Chan, Golub and LeVeque 1979. The mean, M2 and total are each kept as a sum of two
DOUBLEs, so that neither a thousand files nor values that are large against their spread cost digits.
"""

from __future__ import annotations

import math

import numpy as np

from refinery.kernels.core.blocks import load_word, low_bits
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import byte_at
from refinery.kernels.stats.stat_entries import (
    DONE,
    FILE,
    FULL,
    GIVEN,
    HASH,
    INFINITIES,
    IS_NUMBER,
    LENGTH,
    LOW,
    MAX,
    MEAN,
    MIN,
    NANS,
    OTHER,
    SPARE,
    START,
    TASK,
    TOTAL,
    UNIT,
    VARIANCE,
    N,
)

# End states of `add` beside DONE and FULL: faults of an entry.
NO_TOTAL, BAD_N, TWICE = 3, 4, 5

# Columns of a key's sums, 128 bytes: int64 in `known`, float64 in `values`, which share the memory. Each mean, M2 and
# total is a sum of two DOUBLEs.
KEY_HASH, KEY_START, KEY_LENGTH, KEY_N, KEY_NANS, KEY_INFINITIES, KEY_UNIT, KEY_FILE = range(8)
KEY_MEAN, KEY_MEAN_LOW, KEY_M2, KEY_M2_LOW, KEY_TOTAL, KEY_TOTAL_LOW, KEY_MIN, KEY_MAX = range(8, 16)
KEY_COLUMNS = 16

AHEAD = 32  # rows whose keys are fetched together, since each is at another place in memory

# Counters of `add`.
UNKNOWN, NOT_FINITE = range(2)


@kernel
def meaning(row, facts, numbers, out):
    """Interpret an entry by datatrove's rules: out[:] = n, mean, M2, min, max, total; (end state, n is a guess).

    An entry omits: a mean of 1; an n of 1, or the n when the mean is 1 and the total is n; a minimum and maximum equal
    to the mean; a variance of 0.
    """
    fields = facts[row, GIVEN]
    total = numbers[row, TOTAL]
    if fields & (1 << TOTAL) == 0:
        return NO_TOTAL, False
    if fields & IS_NUMBER:
        out[0], out[1], out[2], out[3], out[4], out[5] = 1.0, total, 0.0, total, total, total
        return DONE, total == 0
    mean = numbers[row, MEAN] if fields & (1 << MEAN) else 1.0
    n = numbers[row, N] if fields & (1 << N) else (total if mean == 1 else 1.0)
    low = numbers[row, MIN] if fields & (1 << MIN) else mean
    high = numbers[row, MAX] if fields & (1 << MAX) else mean
    variance = numbers[row, VARIANCE] if fields & (1 << VARIANCE) else 0.0
    if not (0 <= n < 2.0**53 and n == math.floor(n)):
        return BAD_N, False
    out[0], out[1], out[3], out[4], out[5] = n, mean, low, high, total
    out[2] = variance * (n - 1) if n > 1 else 0.0
    # One value has no spread: datatrove omits n when it equals the total, though rounding has moved the mean from 1.
    return DONE, fields & (1 << N) == 0 and mean != 1 and (low != high or variance != 0)


@inlined
def _add_to(values, row, column, x):
    """Add x to the sum of two numbers at values[row, column]."""
    a = values[row, column]
    s = a + x
    b = s - a
    values[row, column + 1] += (a - (s - b)) + (x - b)
    values[row, column] = s


@kernel
def _add_moments(key, n, new, low, known, values):
    """Merge n values with mean new[1] + low and M2 new[2] into the moments of a key."""
    before = known[key, KEY_N]
    known[key, KEY_N] = before + n
    if before == 0:
        values[key, KEY_MEAN] = new[1]
        values[key, KEY_MEAN_LOW] = low
        _add_to(values, key, KEY_M2, new[2])
        return
    a, b = new[1], values[key, KEY_MEAN]
    d = a - b
    c = d - a
    # The difference of two sums of two DOUBLEs, with the rounding error of the difference of their high parts.
    distance = d + (((a - (d - c)) - (b + c)) + (low - values[key, KEY_MEAN_LOW]))
    share = n / (before + n)
    _add_to(values, key, KEY_MEAN, distance * share)
    _add_to(values, key, KEY_M2, new[2])
    _add_to(values, key, KEY_M2, distance * distance * before * share)


@inlined
def _same(data, i, arena, k, length):
    """True if data[i : i + length] equals arena[k : k + length]; eight bytes after both must exist."""
    at = 0
    while at + 8 <= length:
        if load_word(data, i + at) != load_word(arena, k + at):
            return False
        at += 8
    left = (load_word(data, i + at) ^ load_word(arena, k + at)) & low_bits(8 * (length - at))
    return left == 0


@kernel
def _find(hashed, data, start, length, table, known, arena):
    """Slot of a key, or the free slot where it belongs."""
    mask = len(table) - 1
    slot = hashed & mask
    while True:
        key = table[slot]
        if key < 0:
            return slot
        if known[key, KEY_HASH] == hashed and known[key, KEY_LENGTH] == length:
            if _same(data, start, arena, known[key, KEY_START], length):
                return slot
        slot = (slot + 1) & mask


@kernel
def _new_key(key, hashed, data, start, length, known, values, arena, used):
    """Set up a new key; its bytes go to arena[used:]."""
    for at in range(length):
        arena[used + at] = byte_at(data, start + at)
    for column in range(KEY_COLUMNS):
        known[key, column] = 0  # which is also 0.0
    known[key, KEY_HASH] = hashed
    known[key, KEY_START] = used
    known[key, KEY_LENGTH] = length
    known[key, KEY_FILE] = -1
    values[key, KEY_MIN] = math.inf
    values[key, KEY_MAX] = -math.inf


@kernel
def _add_entry(key, row, facts, numbers, out, known, values, tallies):
    """Add an entry to its key; returns the end state."""
    how, guess = meaning(row, facts, numbers, out)
    if how != DONE:
        return how
    fields = facts[row, GIVEN]
    tallies[UNKNOWN] += guess
    if known[key, KEY_UNIT] == 0:
        known[key, KEY_UNIT] = facts[row, UNIT] if fields & OTHER else 1 if fields & TASK else 0
    if fields & (1 << NANS):
        known[key, KEY_NANS] += np.int64(numbers[row, NANS])
    if fields & (1 << INFINITIES):
        known[key, KEY_INFINITIES] += np.int64(numbers[row, INFINITIES])
    n = np.int64(out[0])
    if not (math.isfinite(out[1]) and math.isfinite(out[3]) and math.isfinite(out[4])):
        tallies[NOT_FINITE] += n
        nan = math.isnan(out[1]) or math.isnan(out[5])
        known[key, KEY_NANS if nan else KEY_INFINITIES] += n
        return DONE
    if n > 0 or out[3] <= out[4]:  # where n is 0, refinery writes a minimum above the maximum
        values[key, KEY_MIN] = min(values[key, KEY_MIN], out[3])
        values[key, KEY_MAX] = max(values[key, KEY_MAX], out[4])
    _add_to(values, key, KEY_TOTAL, out[5])
    if n > 0:
        _add_moments(key, n, out, numbers[row, LOW] if fields & (1 << LOW) else 0.0, known, values)
    return DONE


@kernel
def _fetch(first, end, facts, table, known, arena, ahead):
    """Prefetch the memory that `add` will read: independent loads overlap."""
    mask = len(table) - 1
    for row in range(first, end):
        ahead[row - first] = table[facts[row, HASH] & mask]
    seen = 0
    for at in range(end - first):
        if ahead[at] >= 0:
            seen += known[ahead[at], KEY_START]
            seen ^= known[ahead[at], KEY_MIN]
    for at in range(end - first):
        if ahead[at] >= 0:
            seen += arena[known[ahead[at], KEY_START]]
    ahead[0] = seen  # else the compiler would drop the loads


@entry(
    "int64 int64 int64 uint8[] uint8[] int64[,] float64[,] int32[] int64[,] float64[,] uint8[] int64[] float64[] int64[] int64[] -> int64 int64"
)
def add(
    first, count, file_number, data, texts, facts, numbers, table, known, values, arena, sizes, out, tallies, ahead
):
    """Add rows first to count - 1 to the sums of their keys: (next row, DONE), or (row, end state).

    sizes: keys and bytes of `arena` in use. FULL: `known`, `values`, `table` (a power of two, half of it free) or
    `arena` has no room for the row's key. file_number: number of the first file, for the check that no file repeats a
    key. ahead: room for AHEAD numbers.
    """
    for row in range(first, count):
        if (row - first) % AHEAD == 0:
            _fetch(row, min(row + AHEAD, count), facts, table, known, arena, ahead)
        hashed, start, length = facts[row, HASH], facts[row, START], facts[row, LENGTH]
        escaped = start < 0
        if escaped:
            start = -1 - start
            slot = _find(hashed, texts, start, length, table, known, arena)
        else:
            slot = _find(hashed, data, start, length, table, known, arena)
        key = table[slot]
        if key < 0:
            key, used = sizes[0], sizes[1]
            if key >= len(known) or 2 * key >= len(table) or used + length + SPARE > len(arena):
                return row, FULL
            if escaped:
                _new_key(key, hashed, texts, start, length, known, values, arena, used)
            else:
                _new_key(key, hashed, data, start, length, known, values, arena, used)
            table[slot] = key
            sizes[0] = key + 1
            sizes[1] = used + length
        file = file_number + facts[row, FILE]
        if known[key, KEY_FILE] == file:
            return row, TWICE
        known[key, KEY_FILE] = file
        how = _add_entry(key, row, facts, numbers, out, known, values, tallies)
        if how != DONE:
            return row, how
    return count, DONE


@entry("int32[] int64[,] int64")
def fill(table, known, count):
    """Enter the first `count` keys into an empty (-1) table."""
    mask = len(table) - 1
    for key in range(count):
        slot = known[key, KEY_HASH] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = key
