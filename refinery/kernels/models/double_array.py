"""Tries as double arrays: sets of byte strings in which kernels look up all beginnings of a text at once.

A unit is an int64: the label of the edge to it and `USED` in the low 9 bits, the base of its children in the next 23,
and the value of the key that ends there above these, -1 without one. The child of a unit by a byte is at its base XOR
that byte, if that unit has the byte as its label. No two units have the same base, and none that has children has base 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel

USED, LABEL = 0x100, 0x1FF
BASE_SHIFT, BASE, VALUE_SHIFT = 9, 0x7FFFFF, 32
BLOCK = 256  # units of one base
MOST = BASE + 1
# Blocks at the end in which places are looked for: earlier ones are nearly full.
_OPEN = 4
_EMPTY = -1 << VALUE_SHIFT


def built(keys: Sequence[bytes], values: Sequence[int]) -> np.ndarray:
    """Units of a trie over these keys, none of them empty or equal to another. Raises ValueError for too many."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum([len(keys[number]) for number in order], out=offsets[1:])
    data = np.frombuffer(b"".join(keys[number] for number in order) + b"\0", np.uint8)
    ranked = np.array([values[number] for number in order], np.int64)
    deepest = max(map(len, keys), default=0)
    room = BLOCK * (4 + len(data) // 64)
    while room <= MOST:
        units = np.full(room, _EMPTY, np.int64)
        stack = np.empty((4, BLOCK * (deepest + 2)), np.int64)
        size = _build(data, offsets, ranked, units, np.zeros(room, np.uint8), stack)
        if size >= 0:
            return units[:size].copy()
        room *= 2
    raise ValueError("its pieces are too many for a table of 8 million units")


@inlined
def child(units, unit, byte):
    """The unit after a byte; without one, a unit whose label is another (see `is_child`)."""
    return units[((unit >> BASE_SHIFT) & BASE) ^ byte]


@inlined
def is_child(unit, byte):
    """Return whether a unit from `child` is there."""
    return (unit & LABEL) == (byte | USED)


@inlined
def value_of(unit):
    """Value of the key that ends at a unit, or -1."""
    return unit >> VALUE_SHIFT


@entry("uint8[] int64[] int64[] int64[] uint8[] int64[,] -> int64")
def _build(data, offsets, values, units, taken, stack):
    """Fill in the units; returns how many are used, -1 if there are too few. taken: flags of bases; stack: room."""
    units[0] |= USED
    taken[0] = 1
    low, size, top = 1, BLOCK, 1
    stack[0, 0], stack[1, 0], stack[2, 0], stack[3, 0] = 0, 0, len(values), 0
    while top:
        top -= 1
        place, first, last, depth = stack[0, top], stack[1, top], stack[2, top], stack[3, top]
        if first < last and offsets[first + 1] - offsets[first] == depth:
            units[place] = (units[place] & ((1 << VALUE_SHIFT) - 1)) | (values[first] << VALUE_SHIFT)
            first += 1
        if first == last:
            continue
        low = max(low, size - _OPEN * BLOCK)
        while low < size and units[low] & USED:
            low += 1
        base = _base(data, offsets, first, last, depth, units, taken, low, size)
        if (base | (BLOCK - 1)) >= len(units):
            return -1
        size = max(size, (base | (BLOCK - 1)) + 1)
        taken[base] = 1
        units[place] |= base << BASE_SHIFT
        start = first
        for key in range(first, last):
            byte = data[offsets[key] + depth]
            if key + 1 == last or data[offsets[key + 1] + depth] != byte:
                below = base ^ byte
                units[below] |= USED | byte
                stack[0, top], stack[1, top], stack[2, top], stack[3, top] = below, start, key + 1, depth + 1
                top += 1
                start = key + 1
    units[0] &= ~LABEL  # the root is nobody's child, not even by a NUL
    return size


@kernel
def _base(data, offsets, first, last, depth, units, taken, low, size):
    """A base at which all children of the keys first to last - 1 have room."""
    label = np.int64(data[offsets[first] + depth])
    for place in range(low, size):
        base = place ^ label
        if not units[place] & USED and not taken[base] and _fits(data, offsets, first, last, depth, units, base):
            return base
    base = size
    while base + 1 < len(taken) and taken[base]:
        base += 1
    return base


@kernel
def _fits(data, offsets, first, last, depth, units, base):
    for key in range(first, last):
        if units[base ^ np.int64(data[offsets[key] + depth])] & USED:
            return False
    return True
