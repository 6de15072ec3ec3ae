"""Kernels that look up one word or n-gram in the tables of a KenLM model."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import inlined
from refinery.kernels.core.memory import high_product, load_half, prefetch, quotient, remainder
from refinery.kernels.models.kenlm_layout import (
    BITS,
    INDEX,
    INDEX_SHIFT,
    LAST_WORD,
    N_OFFSETS,
    NEXT_AT,
    NEXT_BITS,
    NEXT_END,
    OFFSETS,
    PLACE_SIZE,
    PLACES,
    RECIPROCAL,
    SHIFT,
    SPACE,
    START,
    TRIE,
    VOCABULARY,
    WORD_BITS,
)

_FACTOR, _ROTATION = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
_CHAIN, _WORD = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
_ONE, _SEVEN, _HALF_MASK = np.uint64(1), np.uint64(7), np.uint64(0xFFFFFFFF)
_VOCABULARY_PLACE = 12
_FEW = 8  # entries that are compared one after another


@inlined
def word_hash(data, start, end):
    """MurmurHash64A of data[start:end] with the seed 0."""
    h = np.uint64(end - start) * _FACTOR
    i = start
    while i + 8 <= end:
        k = load_word(data, i) * _FACTOR
        h = (h ^ ((k ^ (k >> _ROTATION)) * _FACTOR)) * _FACTOR
        i += 8
    if i < end:
        if i + 8 <= len(data):
            rest = load_word(data, i) & ((_ONE << np.uint64(8 * (end - i))) - _ONE)
        else:
            rest = np.uint64(0)
            for at in range(end - i):
                rest |= np.uint64(data[i + at]) << np.uint64(8 * at)
        h = (h ^ rest) * _FACTOR
    h = (h ^ (h >> _ROTATION)) * _FACTOR
    return h ^ (h >> _ROTATION)


@inlined
def chained(key, word):
    """Hash of an n-gram, and the word before it, in a table of n-grams one longer."""
    return (key * _CHAIN) ^ (((word + _ONE) & _HALF_MASK) * _WORD)


@inlined
def place(key, places):
    """Index in a hash table at which the search for a key begins."""
    return np.int64(remainder(key, np.uint64(places)))


@inlined
def expect_word(tables, kind, hashed):
    """Fetch the memory in which the search for a word begins; returns its index there."""
    if kind >= TRIE:
        at = np.int64(hashed >> np.uint64(tables.layout[SHIFT]))
        prefetch(tables.starts, at)
    else:
        at = place(hashed, tables.layout[SPACE])
        prefetch(tables.data, tables.layout[VOCABULARY] + _VOCABULARY_PLACE * at)
    return at


@inlined
def find_word(tables, kind, hashed, at):
    """Number of a word, 0 if the model does not know it. at: from `expect_word`."""
    start = tables.layout[VOCABULARY]
    if kind >= TRIE:
        for word in range(np.int64(tables.starts[at]), np.int64(tables.starts[at + 1])):
            if load_word(tables.data, start + 8 * word) == hashed:
                return np.uint64(word + 1)
        return np.uint64(0)
    place = find_place(tables.data, start, tables.layout[SPACE], _VOCABULARY_PLACE, hashed, at)
    if place < 0:
        return np.uint64(0)
    number = np.uint64(load_half(tables.data, place + 8))
    return number if number <= np.uint64(tables.layout[LAST_WORD]) else np.uint64(0)


@inlined
def find_place(data, start, places, size, key, at):
    """Position of a key in a hash table, -1 without it. at: index at which its search begins."""
    for _ in range(places):
        position = start + size * at
        stored = load_word(data, position)
        if stored == key:
            return position
        if stored == np.uint64(0):
            break
        at += 1
        if at == places:
            at = np.int64(0)
    return np.int64(-1)


@inlined
def expect_place(data, order, key):
    """Fetch the memory in which the search for an n-gram begins; returns its index there, as of `place` without a division."""
    places = np.uint64(order[PLACES])
    at = np.int64(key - high_product(key, np.uint64(order[RECIPROCAL])) * places)
    at -= order[PLACES] if at >= order[PLACES] else 0  # the quotient is at most one too low
    prefetch(data, order[START] + order[PLACE_SIZE] * at)
    return at


@inlined
def packed(data, start, bit, bits):
    """Number of up to 57 bits that begins at a bit; the eight bytes around it exist."""
    word = load_word(data, start + (bit >> 3)) >> (np.uint64(bit) & _SEVEN)
    return word & ((_ONE << np.uint64(bits)) - _ONE)


@inlined
def _pivot(word, low, high, width):
    """Index within a range of `width` entries at which a word is to be expected, between the words around it."""
    expected = np.int64(quotient((word - low) * np.uint64(width), high - low + _ONE))
    return min(max(expected, np.int64(0)), width - 1)


@inlined
def find_entry(data, order, begin, end, word, last):
    """Index of a word among the sorted entries from begin to end of an order, -1 without it. last: the greatest word."""
    start, bits, word_bits = order[START], order[BITS], order[WORD_BITS]
    before, after, low, high = begin - 1, end, np.uint64(0), last
    while after - before > _FEW:
        at = before + 1 + _pivot(word, low, high, after - before - 1)
        stored = packed(data, start, at * bits, word_bits)
        if stored < word:
            before, low = at, stored
        elif stored > word:
            after, high = at, stored
        else:
            return at
    for at in range(before + 1, after):
        if packed(data, start, at * bits, word_bits) == word:
            return at
    return np.int64(-1)


@inlined
def expect_entry(data, order, begin, end, word, last):
    """Fetch the memory in which the search for a word begins."""
    at = begin + _pivot(word, np.uint64(0), last, end - begin)
    prefetch(data, order[START] + (at * order[BITS] >> 3))


@inlined
def within(begin, end, limit):
    """The range begin:end, cut to limit; of a sound file nothing is cut."""
    stop = min(end, np.uint64(limit))
    return np.int64(min(begin, stop)), np.int64(stop)


@inlined
def next_range(tables, order, at):
    """Range of the entries in the next order that begin with entry `at` of this one."""
    data, start, size, bits = tables.data, order[START], order[BITS], order[NEXT_BITS]
    bit = at * size + order[NEXT_AT]
    begin, end = packed(data, start, bit, bits), packed(data, start, bit + size, bits)
    if order[N_OFFSETS]:
        high = _offset(tables, order, at)
        begin |= np.uint64(high) << np.uint64(bits)
        while high + 1 < order[N_OFFSETS] and load_word(data, order[OFFSETS] + 8 * (high + 1)) <= np.uint64(at + 1):
            high += 1
        end |= np.uint64(high) << np.uint64(bits)
    return within(begin, end, order[NEXT_END])


@inlined
def _offset(tables, order, at):
    """Index of the last of the sorted offsets that is at most `at`; the first one is taken to be."""
    item = order[INDEX] + (at >> order[INDEX_SHIFT])
    low, high = np.int64(tables.offset_index[item]), np.int64(tables.offset_index[item + 1]) + 1
    while high - low > 1:
        middle = (low + high) >> 1
        small = load_word(tables.data, order[OFFSETS] + 8 * middle) <= np.uint64(at)
        low, high = middle if small else low, high if small else middle
    return low
