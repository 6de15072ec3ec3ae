"""Room for the words of one text and what `gopher_repetition` keeps of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import BLOCK
from refinery.kernels.core.jit import entry, inlined
from refinery.kernels.core.signatures import record

ONE = np.uint64(1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Room(NamedTuple):
    """Room for the words of one text.

    plain: uint8, the words without anything between two. starts: int64 (words + 1), begin of each there, and the end. chars:
    int64 (words + 1), characters of all words before. hashes: uint64 (words), of the words. keys: uint64 (words), of n-grams
    by their first word. counts: uint32 (words), occurrences of an n-gram by its first position. places, candidates: uint32
    (words), n-grams that may repeat. bounds: uint32 (words), bytes from which on no n-gram that begins with the word
    repeats. spots: uint32 (words), places in `notes`. notes: uint8 (a power of two), how often a hash occurs, up to the
    most that a note holds. slots: uint32 (a power of two), 1 + a position, 0 for a free one. Indexes are unsigned: others
    would have to be checked for negative ones.
    """

    plain: np.ndarray
    starts: np.ndarray
    chars: np.ndarray
    hashes: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    candidates: np.ndarray
    bounds: np.ndarray
    spots: np.ndarray
    notes: np.ndarray
    slots: np.ndarray


record(Room, "uint8[] int64[] int64[] uint64[] uint64[] uint32[] uint32[] uint32[] uint32[] uint32[] uint8[] uint32[]")


def room_for(words: int, size: int) -> Room:
    """Room for texts of up to so many words and bytes."""
    words += 1
    counts, places, candidates, bounds, spots = (np.empty(words, np.uint32) for _ in range(5))
    return Room(
        plain=np.zeros(size + 4 * BLOCK, np.uint8),
        starts=np.empty(words, np.int64),
        chars=np.empty(words, np.int64),
        hashes=np.empty(words, np.uint64),
        keys=np.empty(words, np.uint64),
        counts=counts,
        places=places,
        candidates=candidates,
        bounds=bounds,
        spots=spots,
        notes=np.empty(1 << slot_bits(2 * words), np.uint8),
        slots=np.empty(1 << slot_bits(2 * words), np.uint32),
    )


@entry("int64 -> int64")
def slot_bits(count):
    """Bits that number the slots of a table for so many entries, which is half full at most."""
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    return bits


@inlined
def cleared(table, count):
    """Clear the slots of a table for so many entries; returns by how many bits a hash is shifted to be a slot."""
    bits = slot_bits(count)
    table[: 1 << bits] = 0
    return np.uint64(64 - bits)
