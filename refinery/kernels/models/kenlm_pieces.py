"""Perplexity of pieces that travel as numbers: each piece is looked up in a model's vocabulary once.

A piece with white space or a NUL is not one word of the text that its pieces make, and neither is one of several unknown
characters; texts with such pieces are written out.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.memory import prefetch
from refinery.kernels.models import kenlm, kenlm_file, sentencepiece
from refinery.kernels.models.kenlm import add_group, begin, perplexities
from refinery.kernels.models.kenlm_grams import GROUP, Scratch, scratch
from refinery.kernels.models.kenlm_layout import KIND, ORDER, STRIDE, UNIGRAMS, Tables
from refinery.kernels.models.kenlm_lines import NONE, kind_of
from refinery.kernels.models.kenlm_lookup import expect_word, find_word, word_hash
from refinery.kernels.models.piece_numbers import CONTINUES, Spelling, all_numbers, viewed, with_texts, write_piece
from refinery.kernels.models.sentencepiece_file import LONGEST

# What is known of the word of a number: nothing yet; that it is none by itself; else the word, counted from WORDS on.
UNKNOWN, OTHERS, WORDS = range(3)


def perplexity(numbers: pa.Array, joined: pa.Array, tokenizer: str | None, model: str | None) -> pa.Array:
    """Perplexity of each text (see `kenlm.perplexity`), given by the numbers of its pieces, or by its joined pieces."""
    if tokenizer is None or model is None:  # constants have no value for an empty vector
        return pa.nulls(len(numbers), pa.float64())
    if numbers.null_count == len(numbers):
        return kenlm.perplexity(joined, model)
    view, spelling = viewed(numbers), sentencepiece.load(tokenizer).spelling
    words = _words(tokenizer, state_of(tokenizer), model, state_of(model), all_numbers(spelling))
    scores, lengths = np.zeros(len(view)), np.zeros(len(view), np.int64)
    others, text = np.zeros(len(view), np.bool_), np.empty(LONGEST + 8, np.uint8)
    score_numbers(kenlm_file.load(model).tables, scratch(), spelling, words, text, *view, scores, lengths, others)
    values = with_texts(
        perplexities(scores, lengths), others, numbers, spelling, lambda texts: kenlm.perplexity(texts, model)
    )
    return ints(values, view.valid)


@lru_cache(maxsize=8)
def _words(tokenizer: str, its_state: tuple[int, ...], model: str, state: tuple[int, ...], count: int) -> np.ndarray:
    """The word of each number, which kernels fill in. Threads share it: they write the same."""
    return np.zeros(count, np.int64)


@entry(
    "Tables Scratch Spelling int64[] uint8[] int32[] int64[] bool[] float64[] int64[] bool[]", Tables, Scratch, Spelling
)
def score_numbers(tables, room, spelling, words, text, numbers, offsets, valid, scores, lengths, others):
    """As `kenlm.score_rows`, for texts of one line; rows that are not are marked in `others`. text: room for a piece."""
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1]
        if not valid[row] or i == end:
            continue
        total, state, more = np.float32(0), begin(tables, room), True
        while more:
            n = _read_numbers(tables, room, spelling, words, text, numbers, i, end)
            if n < 0:
                others[row] = True
                break
            i += n
            more = n == GROUP
            total, state = add_group(tables, room, n, more, total, state)
        scores[row], lengths[row] = np.float64(total), end - offsets[row] + 1


@kernel
def _read_numbers(tables, room, spelling, words, text, numbers, i, end):
    """Look up the words of the next pieces, up to a group; returns their number, -1 if one is no word by itself."""
    before, n = tables.layout[ORDER] - 1, min(end - i, GROUP)
    for k in range(n):
        number = np.int64(numbers[i + k])
        if number >= CONTINUES:
            return -1
        word = words[number]
        if word == UNKNOWN:
            word = _word_of(tables, spelling, number, text)
            words[number] = word
        if word == OTHERS:
            return -1
        room.words[before + k] = np.uint64(word - WORDS)
        prefetch(tables.data, tables.layout[UNIGRAMS] + tables.layout[STRIDE] * (word - WORDS))
    return n


@kernel
def _word_of(tables, spelling, number, text):
    """Find the word of a number in the model's vocabulary."""
    i, end = 0, write_piece(number, spelling, text, 0)
    while i < end:
        kind, size = kind_of(text, i, end)
        if kind != NONE or text[i] == 0:
            return OTHERS
        i += size
    hashed = word_hash(text, 0, end)
    at = expect_word(tables, tables.layout[KIND], hashed)
    return WORDS + np.int64(find_word(tables, tables.layout[KIND], hashed, at))
