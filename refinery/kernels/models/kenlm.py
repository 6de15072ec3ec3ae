"""Scores of texts by KenLM's n-gram models, in the same float32 bits as the library's.

Words are looked up in groups, order by order: unigrams of all words of a group, then bigrams, and so on. So the memory that a
lookup needs is fetched while others run. An n-gram is looked up if its last words are one, and if its first words are one
with which longer ones begin, as its backoff says. The context that the library carries from word to word comes last: it
decides which of the n-grams that were found count.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.core.blocks import last_set
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.memory import as_float, load_half, prefetch
from refinery.kernels.models.kenlm_file import load
from refinery.kernels.models.kenlm_grams import GROUP, Scratch, look_up, scratch
from refinery.kernels.models.kenlm_layout import (
    BEGIN,
    END,
    KIND,
    ORDER,
    STRIDE,
    UNIGRAMS,
    Tables,
)
from refinery.kernels.models.kenlm_lines import is_kenlm_space, next_line, next_space
from refinery.kernels.models.kenlm_lookup import (
    expect_word,
    find_word,
    word_hash,
)

_ONE = np.uint64(1)


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
    total, state, more = np.float32(0), begin(tables, room), True
    while more:
        i, n = _read(tables, room, data, i, end)
        more = n == GROUP
        total, state = add_group(tables, room, n, more, total, state)
    return total


@kernel
def begin(tables, room):
    """Put the marker of a sentence's beginning before the first group; returns the length of the context."""
    layout = tables.layout
    room.words[layout[ORDER] - 2] = np.uint64(layout[BEGIN])
    room.extends[0] = _ONE
    unigram = layout[UNIGRAMS] + layout[STRIDE] * layout[BEGIN]
    room.backoffs[0, 0] = as_float(load_half(tables.data, unigram + 4))
    return 1


@kernel
def add_group(tables, room, n, more, total, state):
    """Add the probabilities of a group of n words, whose numbers are in room.words, and the sentence's end unless more follow.

    Returns the total, and the length of the context for the next group.
    """
    order = tables.layout[ORDER]
    before = order - 1  # words before the group
    if not more:
        room.words[before + n] = np.uint64(tables.layout[END])
        n += 1
    look_up(tables, room, n)
    total, state = _sum(room, n, order, total, state)
    for k in range(before):
        room.words[k] = room.words[n + k]
    for k in range(before):
        room.backoffs[0, k] = room.backoffs[n, k]
    room.extends[0] = room.extends[n]
    return total, state


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
def _sum(room, n, order, total, state):
    """Add the probabilities of n words; returns the total and the length of the context for the next word.

    state: length of the context for the first word. The context limits a word's n-grams, and pays the backoffs of those
    that were not found.
    """
    for k in range(n):
        used = min(room.lengths[k], state + 1)
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
    return ints(perplexities(*score(column, model, only_line_feeds)), texts(column).valid)


def perplexities(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Perplexities of texts of these scores and lengths, 0 for a length of 0."""
    pairs = zip(scores.tolist(), lengths.tolist(), strict=True)
    values = [round(10.0 ** (-score / length), 1) if length else 0.0 for score, length in pairs]
    return np.array(values, np.float64)
