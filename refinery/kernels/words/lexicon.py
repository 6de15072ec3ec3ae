"""Hash table of short texts for kernels: values of texts, found by their bytes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.arrow import of_texts, texts
from refinery.kernels.core.blocks import load_word, low_bits
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.dedup.line_units import key_of

WORD = 8  # bytes that are compared at once

FIRST, LAST = 1, 2  # bits of a lexicon's gate


class Lexicon(NamedTuple):
    """Hash table of short texts. An entry's slot is given by its key, or is the next free slot; key 0: free.

    keys: uint64 (capacity, a power of two). entries: int64 (capacity, 3): value, never 0, and begin and end of the text
    in data, uint8. gate: uint8 (bytes of the longest text + 1, 256), by length and byte: FIRST, LAST for the first and
    last byte of a text of that length. It rejects most texts outside the table, and omits the texts of `ungated`.
    """

    keys: np.ndarray
    entries: np.ndarray
    data: np.ndarray
    gate: np.ndarray


record(Lexicon, "uint64[] int64[,] uint8[] uint8[,]")


def lexicon(entries: Mapping[str, int], ungated: Container[str] = ()) -> Lexicon:
    """Build a table of texts with their values, none of which is 0."""
    capacity = 16
    while capacity < 8 * len(entries):
        capacity *= 2
    view = texts(of_texts(list(entries)))
    hashes = np.empty(len(entries), np.uint64)
    _keys(view.data, view.offsets, hashes)
    keys, table = np.zeros(capacity, np.uint64), np.zeros((capacity, 3), np.int64)
    sizes = np.diff(view.offsets)
    gate = np.zeros((int(sizes.max(initial=0)) + 1, 256), np.uint8)
    for n, (text, value) in enumerate(entries.items()):
        place = int(hashes[n]) & (capacity - 1)
        while keys[place]:
            place = (place + 1) & (capacity - 1)
        start, end = view.offsets[n : n + 2]
        keys[place], table[place] = hashes[n], (value, start, end)
        if end > start and text not in ungated:
            gate[sizes[n], view.data[start]] |= FIRST
            gate[sizes[n], view.data[end - 1]] |= LAST
    data = np.zeros(len(view.data) + WORD, np.uint8)
    data[: len(view.data)] = view.data
    return Lexicon(keys, table, data, gate)


@entry("uint8[] int64[] uint64[]")
def _keys(data, offsets, keys):
    for row in range(len(keys)):
        keys[row] = word_key(data, offsets[row], offsets[row + 1])


@inlined
def word_key(data, start, end):
    """Hash of data[start:end], never 0."""
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
    """Number made of data[start:end], at most WORD bytes."""
    if start + WORD <= len(data):
        return load_word(data, start) & low_bits(8 * (end - start))
    word = np.uint64(0)
    for i in range(end - 1, start - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(data[i])
    return word


@inlined
def equal(data, start, end, other, other_start, other_end):
    """True if data[start:end] and other[other_start:other_end] are the same bytes."""
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
    """Value in a lexicon of data[start:end], whose key is given; 0 when it has none."""
    if known.keys[np.int64(key) & (len(known.keys) - 1)] == np.uint64(0):
        return np.int64(0)
    return find(known.keys, known.entries, known.data, key, data, start, end)


@inlined
def listed(known, data, start, end):
    """Value in a lexicon of data[start:end]; 0 when it has none. The gate rejects most texts, and those outside it."""
    size = end - start
    if size <= 0 or size >= len(known.gate):
        return np.int64(0)
    if not known.gate[size, data[start]] & FIRST or not known.gate[size, data[end - 1]] & LAST:
        return np.int64(0)
    return _gated(known.keys, known.entries, known.data, data, start, end)


@kernel
def _gated(keys, entries, texts, data, start, end):
    key = word_key(data, start, end)
    if keys[np.int64(key) & (len(keys) - 1)] == np.uint64(0):
        return np.int64(0)
    return find(keys, entries, texts, key, data, start, end)


@kernel
def find(keys, entries, texts, key, data, start, end):
    mask = len(keys) - 1
    place = np.int64(key) & mask
    while keys[place] != np.uint64(0):
        if keys[place] == key and equal(data, start, end, texts, entries[place, 1], entries[place, 2]):
            return entries[place, 0]
        place = (place + 1) & mask
    return np.int64(0)
