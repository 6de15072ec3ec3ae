"""Hash tables of a fastText model: its words and labels, and the buckets that a pruned one has kept."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import prefetch

START = 2166136261
NONE = -1


def empty_table(entries: int, width: int = 1) -> np.ndarray:
    """A table, at most half full, with `width` numbers (int32) for each entry."""
    return np.full(width << max(3, (2 * entries - 1).bit_length()), NONE, np.int32)


def no_bits(entries: int) -> np.ndarray:
    """Bits of which the entries set at most one in 16."""
    return np.zeros(2 << max(3, entries.bit_length()), np.uint8)


@inlined
def hashed(h, byte):
    """The hash of a word, one byte longer: FNV-1a over signed bytes."""
    signed = int(byte) | (0xFFFFFF00 if byte >= 0x80 else 0)
    return ((h ^ signed) * 16777619) & 0xFFFFFFFF


@entry("uint8[] int64[] int32[]")
def fill_words(file, places, slots):
    """Fill the table of words, which end with 0; of equal words the last one counts."""
    mask = len(slots) - 1
    for number in range(len(places)):
        h, i = START, places[number]
        while file[i] != 0:
            h = hashed(h, file[i])
            i += 1
        slot = h & mask
        while slots[slot] >= 0 and not _same(file, places[slots[slot]], file, places[number], i):
            slot = (slot + 1) & mask
        slots[slot] = number


@kernel
def _same(file, place, data, start, end):
    """True if the word at a place of the file is data[start:end]."""
    for i in range(end - start):
        if file[place + i] == 0 or file[place + i] != data[start + i]:
            return False
    return file[place + end - start] == 0


@entry("uint8[] int64[] int32[] uint8[] int64 int64 int64 -> int64")
def find_word(file, places, slots, data, start, end, h):
    """Number of the word data[start:end] with this hash, or NONE. A word with a 0 in it is never found."""
    mask = len(slots) - 1
    slot = h & mask
    while slots[slot] >= 0:
        if _same(file, places[slots[slot]], data, start, end):
            return int(slots[slot])
        slot = (slot + 1) & mask
    return NONE


@entry("int32[] int32[] uint8[]")
def fill_buckets(pairs, slots, kept):
    """Fill the table of pairs of a bucket and its row; of equal buckets the last one counts. kept: bits, see `may_have`."""
    mask = len(slots) // 2 - 1
    for i in range(0, len(pairs), 2):
        kept[(pairs[i] >> 3) & (len(kept) - 1)] |= np.uint8(1 << (pairs[i] & 7))
        slot = pairs[i] & mask
        while slots[2 * slot] >= 0 and slots[2 * slot] != pairs[i]:
            slot = (slot + 1) & mask
        slots[2 * slot] = pairs[i]
        slots[2 * slot + 1] = pairs[i + 1]


@inlined
def expect_bucket(kept, bucket):
    """Fetch the memory of `may_have`."""
    prefetch(kept, (bucket >> 3) & (len(kept) - 1))


@inlined
def may_have(kept, bucket):
    """False for most of the buckets that were not kept: few bits are set, so that processors foresee the answer."""
    return (kept[(bucket >> 3) & (len(kept) - 1)] >> (bucket & 7)) & 1 != 0


@inlined
def find_bucket(slots, bucket):
    """Row of a bucket that was kept, or NONE."""
    mask = len(slots) // 2 - 1
    slot = bucket & mask
    while slots[2 * slot] >= 0:
        if slots[2 * slot] == bucket:
            return int(slots[2 * slot + 1])
        slot = (slot + 1) & mask
    return NONE
