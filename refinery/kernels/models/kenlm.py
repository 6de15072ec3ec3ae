"""Scores of texts by KenLM's n-gram models, in the same float32 bits as the library's.

Words are looked up in groups, order by order: unigrams of all words of a group, then bigrams, and so on. So the memory that a
lookup needs is fetched while others run. An n-gram is looked up if its last words are one, and if its first words are one
with which longer ones begin, as its backoff says. The context that the library carries from word to word comes last: it
decides which of the n-grams that were found count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.core.blocks import last_set, load_word
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import as_float, load_half, prefetch
from refinery.kernels.core.signatures import record
from refinery.kernels.models.kenlm_file import MAX_ORDER, load
from refinery.kernels.models.kenlm_layout import (
    BACKOFF_BITS,
    BACKOFFS,
    BEGIN,
    BITS,
    END,
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
    Tables,
)
from refinery.kernels.models.kenlm_lines import is_kenlm_space, next_line, next_space
from refinery.kernels.models.kenlm_lookup import (
    chained,
    expect_entry,
    expect_place,
    expect_word,
    find_entry,
    find_place,
    find_word,
    next_range,
    packed,
    within,
    word_hash,
)

GROUP = 64  # words that are looked up together

_SIGN, _ONE = np.uint32(0x80000000), np.uint64(1)


class Scratch(NamedTuple):
    """Memory of one call.

    words: numbers of the words before a group, and of the group. keys, places: of each word of the group, where a search begins.
    alive: words whose n-grams may be longer. found: the longest n-gram of each word. extends: a bit for each of its
    n-grams that others begin with. probs, backoffs: of its n-grams; line 0 is that of the word before the group.
    """

    words: np.ndarray
    keys: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    found: np.ndarray
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


@entry("Tables Scratch uint8[] int64[] bool[] bool float64[] int64[]", Tables, Scratch)
def score_rows(tables, room, data, offsets, valid, only_line_feeds, scores, lengths):
    """Sum of the scores of each text's lines, and of their words by str.split with one more for each line."""
    for row in range(len(valid)):
        score, length = 0.0, 0
        i, end = offsets[row], offsets[row + 1]
        while valid[row] and (i < end or (only_line_feeds and i == end)):
            stop, following, words, nul = next_line(data, i, end, only_line_feeds)
            score += np.float64(_score_line(tables, room, data, i, min(stop, nul)))
            length += words + 1
            i = following
        scores[row], lengths[row] = score, length


@kernel
def _score_line(tables, room, data, i, end):
    """Logarithm of the probability of a line, as the library sums it up: in float32, word by word."""
    layout = tables.layout
    before = layout[ORDER] - 1  # words before the group
    room.words[before - 1] = np.uint64(layout[BEGIN])
    room.extends[0] = _ONE
    unigram = layout[UNIGRAMS] + layout[STRIDE] * layout[BEGIN]
    room.backoffs[0, 0] = as_float(load_half(tables.data, unigram + 4))
    total, state, more = np.float32(0), 1, True
    while more:
        i, n = _read(tables, room, data, i, end)
        more = n == GROUP
        if not more:
            room.words[before + n] = np.uint64(layout[END])
            n += 1
        _look_up(tables, room, n)
        total, state = _sum(room, n, layout[ORDER], total, state)
        for k in range(before):
            room.words[k] = room.words[n + k]
        for k in range(before):
            room.backoffs[0, k] = room.backoffs[n, k]
        room.extends[0] = room.extends[n]
    return total


@kernel
def _read(tables, room, data, i, end):
    """Number the next words of a line, up to a group; returns where the rest begins, and the number of words."""
    kind, before, n = tables.layout[KIND], tables.layout[ORDER] - 1, 0
    while n < GROUP:
        while i < end and is_kenlm_space(data[i]):
            i += 1
        if i >= end:
            break
        stop = next_space(data, i, end)
        room.keys[n] = word_hash(data, i, stop)
        room.places[n, 0] = expect_word(tables, kind, room.keys[n])
        i = stop
        n += 1
    for k in range(n):
        word = find_word(tables, kind, room.keys[k], room.places[k, 0])
        room.words[before + k] = word
        prefetch(tables.data, tables.layout[UNIGRAMS] + tables.layout[STRIDE] * np.int64(word))
    return i, n


@kernel
def _look_up(tables, room, n):
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
    room.found[k] = length


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
            room.found[k] = length
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
            room.found[k] = length
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


@kernel
def _sum(room, n, order, total, state):
    """Add the probabilities of n words; returns the total and the length of the context for the next word.

    state: length of the context for the first word. The context limits a word's n-grams, and pays the backoffs of those
    that were not found.
    """
    for k in range(n):
        used = min(room.found[k], state + 1)
        prob = room.probs[k + 1, used - 1]
        for length in range(used - 1, state):
            prob += room.backoffs[k, length]
        total += prob
        begun = room.extends[k + 1] & ((_ONE << np.uint64(min(used, order - 1))) - _ONE)
        state = last_set(begun) + 1
    return total, state


def score(column: pa.Array, model: str, only_line_feeds: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Score and length of each text of a column, 0 for NULL.

    A text is cut into lines as by str.splitlines, or at U+000A alone, as by str.split("\\n"). Its score is the sum of the scores of its
    lines, each between the markers of a sentence; its length that of their words by str.split, and one for each line.
    """
    view = texts(column)
    scores, lengths = np.zeros(len(view)), np.zeros(len(view), np.int64)
    tables = load(model).tables
    score_rows(tables, scratch(), view.data, view.offsets, view.valid, only_line_feeds, scores, lengths)
    return scores, lengths


def perplexity(column: pa.Array, model: str | None, only_line_feeds: bool = False) -> pa.Array:
    """Perplexity of each text of pieces in double precision, rounded to one decimal; NULL for NULL. See `score`."""
    if model is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.float64())
    scores, lengths = score(column, model, only_line_feeds)
    pairs = zip(scores.tolist(), lengths.tolist(), strict=True)
    found = [round(10.0 ** (-score / length), 1) if length else 0.0 for score, length in pairs]
    return ints(np.array(found, np.float64), texts(column).valid)
