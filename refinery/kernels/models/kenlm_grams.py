"""Lookup of the n-grams that end with each word of a group, in hash tables or in a trie."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.memory import as_float, load_half
from refinery.kernels.core.signatures import record
from refinery.kernels.models.kenlm_file import MAX_ORDER
from refinery.kernels.models.kenlm_layout import (
    BACKOFF_BITS,
    BACKOFFS,
    BITS,
    ENTRIES,
    KIND,
    LAST_WORD,
    ORDER,
    PLACE_SIZE,
    PLACES,
    PROB_BITS,
    PROBS,
    START,
    STRIDE,
    TRIE,
    UNIGRAMS,
    WORD_BITS,
)
from refinery.kernels.models.kenlm_lookup import (
    chained,
    expect_entry,
    expect_place,
    find_entry,
    find_place,
    next_range,
    packed,
    within,
)

GROUP = 64  # words that are looked up together

_SIGN, _ONE = np.uint32(0x80000000), np.uint64(1)


class Scratch(NamedTuple):
    """Memory of one call.

    words: numbers of the words before a group, and of the group. keys, places: of each word of the group, where a search begins.
    alive: words whose n-grams may be longer. lengths: the longest n-gram of each word. extends: a bit for each of its
    n-grams that others begin with. probs, backoffs: of its n-grams; line 0 is that of the word before the group.
    """

    words: np.ndarray
    keys: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    lengths: np.ndarray
    extends: np.ndarray
    probs: np.ndarray
    backoffs: np.ndarray


record(Scratch, "uint64[] uint64[] int64[,] int64[] int64[] uint64[] float32[,] float32[,]")


def scratch() -> Scratch:
    """Memory for one call of `score_rows`."""
    lines = (GROUP + 1, MAX_ORDER)
    return Scratch(
        np.zeros(MAX_ORDER + GROUP, np.uint64),
        np.zeros(GROUP, np.uint64),
        np.zeros((GROUP, 2), np.int64),
        np.zeros(GROUP, np.int64),
        np.zeros(GROUP, np.int64),
        np.zeros(GROUP + 1, np.uint64),
        np.zeros(lines, np.float32),
        np.zeros(lines, np.float32),
    )


@kernel
def look_up(tables, room, n):
    """Find the n-grams that end with each of the n words of a group."""
    order = tables.layout[ORDER]
    alive = _unigrams(tables, room, n)
    for length in range(2, order + 1):
        if tables.layout[KIND] >= TRIE:
            alive = _in_trie(tables, room, alive, length)
        else:
            alive = _in_table(tables, room, alive, length)


@inlined
def _note(room, k, length, prob, backoff):
    """Store the numbers of an n-gram that ends with word k, given as bits."""
    room.probs[k + 1, length - 1] = as_float(prob)
    room.backoffs[k + 1, length - 1] = as_float(backoff)
    room.extends[k + 1] |= np.uint64(backoff != _SIGN) << np.uint64(length - 1)
    room.lengths[k] = length


@kernel
def _unigrams(tables, room, n):
    """Look up each word alone, and begin the search for bigrams; returns the number of the words that have any."""
    layout, data, before, alive = tables.layout, tables.data, tables.layout[ORDER] - 1, 0
    for k in range(n):
        word = room.words[before + k]
        at = layout[UNIGRAMS] + layout[STRIDE] * np.int64(word)
        prob = load_half(data, at)
        room.extends[k + 1] = np.uint64(0)
        if layout[KIND] >= TRIE:
            _note(room, k, 1, prob, load_half(data, at + 4))
            if _has_context(room, k, 1):
                begin, end = within(load_word(data, at + 8), load_word(data, at + 24), tables.orders[0, ENTRIES])
                alive = _go_on_in_trie(tables, room, k, 1, begin, end, alive)
        else:
            _note(room, k, 1, prob | _SIGN, load_half(data, at + 4))
            if not prob & _SIGN:
                alive = _go_on_in_table(tables, room, k, 1, word, alive)
    return alive


@inlined
def _has_context(room, k, length):
    """True if longer n-grams begin with the `length` words before word k."""
    return (room.extends[k] >> np.uint64(length - 1)) & _ONE != np.uint64(0)


@inlined
def _go_on_in_table(tables, room, k, length, key, alive):
    """Begin the search for an n-gram one word longer, in a hash table."""
    if not _has_context(room, k, length):
        return alive
    key = chained(key, room.words[tables.layout[ORDER] - 1 + k - length])
    room.keys[k] = key
    room.places[k, 0] = expect_place(tables.data, tables.orders[length - 1], key)
    room.alive[alive] = k
    return alive + 1


@inlined
def _go_on_in_trie(tables, room, k, length, begin, end, alive):
    """Begin the search for an n-gram one word longer, among the entries from begin to end."""
    if begin == end:
        return alive
    word = room.words[tables.layout[ORDER] - 1 + k - length]
    room.places[k, 0], room.places[k, 1] = begin, end
    expect_entry(tables.data, tables.orders[length - 1], begin, end, word, np.uint64(tables.layout[LAST_WORD]))
    room.alive[alive] = k
    return alive + 1


@kernel
def _in_table(tables, room, searched, length):
    """Look up n-grams of this length for the words that may have one; returns the number of those that may go on."""
    data, order, alive = tables.data, tables.orders[length - 2], 0
    last = length == tables.layout[ORDER]
    for number in range(searched):
        k = room.alive[number]
        at = find_place(data, order[START], order[PLACES], order[PLACE_SIZE], room.keys[k], room.places[k, 0])
        if at < 0:
            continue
        prob = load_half(data, at + 8)
        if last:
            room.probs[k + 1, length - 1] = as_float(prob)
            room.lengths[k] = length
            continue
        _note(room, k, length, prob | _SIGN, load_half(data, at + 12))
        if not prob & _SIGN:
            alive = _go_on_in_table(tables, room, k, length, room.keys[k], alive)
    return alive


@kernel
def _in_trie(tables, room, searched, length):
    """As `_in_table`, in the packed arrays of a trie."""
    data, order, alive = tables.data, tables.orders[length - 2], 0
    last = length == tables.layout[ORDER]
    for number in range(searched):
        k = room.alive[number]
        word = room.words[tables.layout[ORDER] - 1 + k - (length - 1)]
        begin, end = room.places[k, 0], room.places[k, 1]
        at = find_entry(data, order, begin, end, word, np.uint64(tables.layout[LAST_WORD]))
        if at < 0:
            continue
        bit = at * order[BITS] + order[WORD_BITS]
        if last:
            room.probs[k + 1, length - 1] = as_float(_prob(data, order, bit))
            room.lengths[k] = length
            continue
        prob, backoff = _values(data, order, bit)
        _note(room, k, length, prob, backoff)
        if _has_context(room, k, length):
            begin, end = next_range(tables, order, at)
            alive = _go_on_in_trie(tables, room, k, length, begin, end, alive)
    return alive


@inlined
def _prob(data, order, bit):
    """Bits of a probability in a packed array."""
    value = packed(data, order[START], bit, order[PROB_BITS])
    if order[PROBS]:
        return load_half(data, order[PROBS] + 4 * np.int64(value))
    return np.uint32(value) | _SIGN


@inlined
def _values(data, order, bit):
    """Bits of a probability and a backoff in a packed array; the backoff comes first where they are quantized."""
    if order[PROBS]:
        backoff = packed(data, order[START], bit, order[BACKOFF_BITS])
        prob = _prob(data, order, bit + order[BACKOFF_BITS])
        return prob, load_half(data, order[BACKOFFS] + 4 * np.int64(backoff))
    backoff = packed(data, order[START], bit + order[PROB_BITS], order[BACKOFF_BITS])
    return _prob(data, order, bit), np.uint32(backoff)
