"""A hash table of short texts for kernels: what has been said of a text, found by its bytes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.arrow import of_texts, texts
from refinery.kernels.core.blocks import load_word, low_bits
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.dedup.line_units import key_of

WORD = 8  # bytes that are compared at once

FIRST, LAST = 1, 2  # bits of a lexicon's gate


class Lexicon(NamedTuple):
    """A hash table of short texts. An entry's place is its key or the next free one after it; key 0: free.

    keys: uint64 (capacity, a power of two). entries: int64 (capacity, 3): value, never 0, and where the text begins and
    ends in data, uint8. gate: uint8 (bytes of the longest text + 1, 256): FIRST, LAST for bytes that a text of so many
    begins, ends with; most texts that are not in the table are told by it. It knows no texts of `ungated`.
    """

    keys: np.ndarray
    entries: np.ndarray
    data: np.ndarray
    gate: np.ndarray


def lexicon(entries: Mapping[str, int], ungated: Container[str] = ()) -> Lexicon:
    """A table of texts with their values, none of which is 0."""
    capacity = 16
    while capacity < 8 * len(entries):
        capacity *= 2
    view = texts(of_texts(list(entries)))
    found = np.empty(len(entries), np.uint64)
    _keys(view.data, view.offsets, found)
    keys, table = np.zeros(capacity, np.uint64), np.zeros((capacity, 3), np.int64)
    sizes = np.diff(view.offsets)
    gate = np.zeros((int(sizes.max(initial=0)) + 1, 256), np.uint8)
    for n, (text, value) in enumerate(entries.items()):
        place = int(found[n]) & (capacity - 1)
        while keys[place]:
            place = (place + 1) & (capacity - 1)
        start, end = view.offsets[n : n + 2]
        keys[place], table[place] = found[n], (value, start, end)
        if end > start and text not in ungated:
            gate[sizes[n], view.data[start]] |= FIRST
            gate[sizes[n], view.data[end - 1]] |= LAST
    data = np.zeros(len(view.data) + WORD, np.uint8)
    data[: len(view.data)] = view.data
    return Lexicon(keys, table, data, gate)


@kernel
def _keys(data, offsets, keys):
    for row in range(len(keys)):
        keys[row] = word_key(data, offsets[row], offsets[row + 1])


@inlined
def word_key(data, start, end):
    """A hash of data[start:end], never 0."""
    size = end - start
    if size > 2 * WORD:
        return key_of(data, start, end)
    if size > WORD:
        word = (load_word(data, start) * np.uint64(0xA0761D6478BD642F)) ^ load_word(data, end - WORD)
    else:
        word = short_word(data, start, end)
    key = (word ^ (word >> np.uint64(29)) ^ np.uint64(size)) * np.uint64(0xE7037ED1A0B428DB)
    key ^= key >> np.uint64(32)
    return key if key != np.uint64(0) else np.uint64(1)


@inlined
def short_word(data, start, end):
    """The at most WORD bytes data[start:end] as a number."""
    if start + WORD <= len(data):
        return load_word(data, start) & low_bits(8 * (end - start))
    word = np.uint64(0)
    for i in range(end - 1, start - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(data[i])
    return word


@inlined
def equal(data, start, end, other, other_start, other_end):
    """Whether data[start:end] and other[other_start:other_end] are the same bytes."""
    size = end - start
    if size != other_end - other_start:
        return False
    if size <= WORD:
        return short_word(data, start, end) == short_word(other, other_start, other_end)
    last, i, k = end - WORD, start, other_start
    while i < last:
        if load_word(data, i) != load_word(other, k):
            return False
        i += WORD
        k += WORD
    return load_word(data, last) == load_word(other, other_end - WORD)


@inlined
def look_up(known, key, data, start, end):
    """The value of data[start:end], whose key is given, in a lexicon; 0 when it has none."""
    if known.keys[np.int64(key) & (len(known.keys) - 1)] == np.uint64(0):
        return np.int64(0)
    return find(known.keys, known.entries, known.data, key, data, start, end)


@kernel
def find(keys, entries, texts, key, data, start, end):
    mask = len(keys) - 1
    place = np.int64(key) & mask
    while keys[place] != np.uint64(0):
        if keys[place] == key and equal(data, start, end, texts, entries[place, 1], entries[place, 2]):
            return entries[place, 0]
        place = (place + 1) & mask
    return np.int64(0)
