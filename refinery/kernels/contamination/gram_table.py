"""Hash table of the keys of n-grams, behind a bitmap that rejects most n-grams of texts with one look at memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, inlined
from refinery.kernels.core.signatures import record

BITS_PER_KEY = 16  # of the bitmap: one in sixteen other n-grams passes


class GramTable(NamedTuple):
    """Numbers of n-grams, by the hash of their words.

    keys: uint64, open addressing, a power of two, 0 for a free slot. values: int32 by slot. gate: uint64, a bitmap of the upper
    bits of the keys, a power of two.
    """

    keys: np.ndarray
    values: np.ndarray
    gate: np.ndarray


record(GramTable, "uint64[] int32[] uint64[]")


def gram_table(keys: np.ndarray, values: np.ndarray) -> GramTable:
    """The table of distinct keys, none of them 0, with their values."""
    capacity = words = 64
    while capacity < 2 * len(keys):
        capacity *= 2
    while 64 * words < BITS_PER_KEY * len(keys):
        words *= 2
    table = GramTable(np.zeros(capacity, np.uint64), np.zeros(capacity, np.int32), np.zeros(words, np.uint64))
    _fill(np.ascontiguousarray(keys, np.uint64), np.ascontiguousarray(values, np.int32), table)
    return table


@entry("uint64[] int32[] GramTable", GramTable)
def _fill(keys, values, table):
    mask = np.uint64(len(table.keys) - 1)
    for n in range(len(keys)):
        key = keys[n]
        slot = key & mask
        while table.keys[slot] != np.uint64(0):
            slot = (slot + np.uint64(1)) & mask
        table.keys[slot] = key
        table.values[slot] = values[n]
        bit = _bit(key, table)
        table.gate[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@inlined
def _bit(key, table):
    """Place of a key in the bitmap."""
    return (key >> np.uint64(20)) & np.uint64(64 * len(table.gate) - 1)


@inlined
def may_have(key, table):
    """False for most keys that the table lacks."""
    bit = _bit(key, table)
    return (table.gate[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@inlined
def value_of(key, table):
    """The value of a key, -1 if the table lacks it."""
    mask = np.uint64(len(table.keys) - 1)
    slot = key & mask
    while table.keys[slot] != np.uint64(0):
        if table.keys[slot] == key:
            return np.int64(table.values[slot])
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1)


@inlined
def mixed(key):
    """A number with its bits spread (the finaliser of SplitMix64), never 0."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return key if key != np.uint64(0) else np.uint64(1)
