"""Share of a text's words that are in a word list."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import copy, same
from refinery.kernels.words import wordlists
from refinery.kernels.words.word_repetition import GOLDEN, PRIME, most_words, slots_for
from refinery.kernels.words.words import SPACE


class WordSet(NamedTuple):
    """Set of words for kernels: their bytes, back to back; offsets into these; slots of 1 + a word's number, or 0."""

    data: np.ndarray
    offsets: np.ndarray
    slots: np.ndarray


def word_set(entries: frozenset[str]) -> WordSet:
    """Build a hash table of the words. A word with an unpaired surrogate, which no text holds, matches nothing."""
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in sorted(entries)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(entry) for entry in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    slots = np.zeros(slots_for(len(encoded)), np.int64)
    _fill(data, offsets, slots)
    return WordSet(data, offsets, slots)


@lru_cache(maxsize=16)
def _listed(folder: str, kind: str, lang: str, signature: tuple[object, ...]) -> WordSet:
    return word_set(wordlists.load(folder, kind)[lang])


def listed_ratio(
    column: pa.Array | pa.ChunkedArray, folder: str, kind: str, lang: str, group_sizes: tuple[int, ...], join_char: str
) -> pa.Array:
    """Share of words that are in a word list (float64), 0.0 without words.

    column: words with a single space between them. folder, kind, lang: the list, see `wordlists`. group_sizes: for each
    size, all runs of that many neighbouring words, joined by join_char, count as further words.
    Raises WordListError when the list cannot be read.
    """
    members = _listed(folder, kind, lang, wordlists.signature(folder, kind))
    view = texts(column)
    most = int(most_words(view.data, view.offsets, view.valid)) if group_sizes else 0
    longest = int(np.diff(view.offsets).max(initial=0)) if group_sizes else 0
    join = np.frombuffer(join_char.encode(), np.uint8)
    scratch = np.empty(longest + most * len(join), np.uint8)
    ratios = np.zeros(len(view), np.float64)
    sizes = np.array(group_sizes, np.int64)
    starts = np.empty(most + 1, np.int64)
    _listed_ratios(view.data, view.offsets, view.valid, *members, sizes, join, scratch, starts, ratios)
    return ints(ratios, view.valid)


@entry("uint8[] int64[] int64[]")
def _fill(data, offsets, slots):
    mask = len(slots) - 1
    for member in range(len(offsets) - 1):
        slot = _first_slot(_hash(data, offsets[member], offsets[member + 1]), mask)
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = member + 1


@kernel
def _hash(data, start, end):
    word = np.uint64(GOLDEN)
    for i in range(start, end):
        word = (word ^ data[i]) * np.uint64(PRIME)
    return word


@kernel
def _first_slot(word, mask):
    return np.int64((word ^ (word >> np.uint64(29))) >> np.uint64(3)) & mask


@kernel
def _member(word, data, start, end, members, member_offsets, slots):
    """Return 1 if data[start:end], whose hash is `word`, is in the set, else 0."""
    mask = len(slots) - 1
    slot = _first_slot(word, mask)
    while slots[slot] != 0:
        if same(members, member_offsets[slots[slot] - 1], member_offsets[slots[slot]], data, start, end):
            return 1
        slot = (slot + 1) & mask
    return 0


@entry("uint8[] int64[] bool[] uint8[] int64[] int64[] int64[] uint8[] uint8[] int64[] float64[]")
def _listed_ratios(data, offsets, valid, members, member_offsets, slots, sizes, join, scratch, starts, ratios):
    for row in range(len(valid)):
        if not valid[row] or offsets[row] == offsets[row + 1]:
            continue
        total, hits = 0, 0
        begin, end = offsets[row], offsets[row + 1]
        word = np.uint64(GOLDEN)
        for i in range(begin, end + 1):
            if i < end and data[i] != SPACE:
                word = (word ^ data[i]) * np.uint64(PRIME)
                continue
            hits += _member(word, data, begin, i, members, member_offsets, slots)
            if len(sizes):
                starts[total] = begin
            total += 1
            begin, word = i + 1, np.uint64(GOLDEN)
        if len(sizes):
            starts[total] = end + 1
        count = total
        for size in sizes:
            for i in range(count - size + 1):
                length = _group(data, starts, i, size, join, scratch)
                hits += _member(_hash(scratch, 0, length), scratch, 0, length, members, member_offsets, slots)
                total += 1
        ratios[row] = min(hits / total, 1.0)


@kernel
def _group(data, starts, i, size, join, scratch):
    """Write `size` words from word i on, joined, to scratch; returns their length."""
    w = 0
    for k in range(i, i + size):
        if k > i:
            w = copy(join, 0, len(join), scratch, w)
        w = copy(data, starts[k], starts[k + 1] - 1, scratch, w)
    return w
