"""Refined words of pieces that travel as numbers: how many a text has, and the share of repeated n-grams.

Each number has a class: two numbers have the same one if their pieces, refined after `str.lower`, are the same word. A piece
that a separator of words cuts has none, and neither has one of several unknown characters; texts with such pieces are
written out.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, numbers, of_texts, texts
from refinery.kernels.core.charclass import CODE_POINTS
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.models import piece_words, sentencepiece
from refinery.kernels.models.piece_numbers import CONTINUES, all_numbers, viewed, with_texts
from refinery.kernels.models.pieces import no_ends
from refinery.kernels.words.word_repetition import BASE, GOLDEN, PRIME, power_of, repeated_share, slots_for
from refinery.kernels.words.words import STAYS, STAYS_LOWER, tables, words

NO_WORD, OTHERS = 0, -1  # classes: of a piece without a word, and of one that is to be written out
_CUTS = " \t\n"


class Classes(NamedTuple):
    """Tables by number. is_word: bool, the piece is a word before lower-casing. of_lower: int32, the class of its word after it."""

    is_word: np.ndarray
    of_lower: np.ndarray


def count(column: pa.Array, joined: pa.Array, ends: pa.Array, model: str | None) -> pa.Array:
    """Number of refined words of each text, given by the numbers of its pieces, or by joined pieces; NULL for NULL."""
    if model is None or column.null_count == len(column):  # constants have no value for an empty vector
        counts = numbers(piece_words.refined_pieces(joined, ends).field("n"))
        return ints(counts, texts(joined).valid)
    view, classes = viewed(column), _classes(model)
    counts, others = np.zeros(len(view), np.int64), np.zeros(len(view), np.bool_)
    count_rows(*view, *classes, counts, others)

    def measured(joined: pa.Array) -> pa.Array:
        return piece_words.refined_pieces(joined, no_ends(len(joined))).field("n")

    return ints(with_texts(counts, others, column, sentencepiece.load(model).spelling, measured), view.valid)


def repetition(column: pa.Array, joined: pa.Array, ends: pa.Array, model: str | None, rep_len: int) -> pa.Array:
    """Share of repeated n-grams of refined words (see `word_repetition`) of each text, given as for `count`."""
    if model is None or column.null_count == len(column):  # constants have no value for an empty vector
        return _repetition_of_texts(joined, ends, rep_len)
    view, classes = viewed(column), _classes(model)
    room = int(np.max(np.diff(view.offsets), initial=0)) + 1
    lengths, prefixes, starts = np.empty(room, np.int32), np.empty(room, np.uint64), 4 * np.arange(room)
    slots = np.empty(slots_for(room), np.int32)
    ratios, others = np.zeros(len(view), np.float64), np.zeros(len(view), np.bool_)
    arguments = *view, classes.of_lower, rep_len, lengths, lengths.view(np.uint8), starts, prefixes, slots
    repetition_rows(*arguments, ratios, others)

    def measured(joined: pa.Array) -> pa.Array:
        return _repetition_of_texts(joined, no_ends(len(joined)), rep_len)

    return ints(with_texts(ratios, others, column, sentencepiece.load(model).spelling, measured), view.valid)


def _repetition_of_texts(joined: pa.Array, ends: pa.Array, rep_len: int) -> pa.Array:
    refined = piece_words.refined_pieces(joined, ends)
    return piece_words.repetition(refined.field("lower"), refined.field("ends"), rep_len)


def _classes(model: str) -> Classes:
    return _made(model, *state_of(model))


@lru_cache(maxsize=8)
def _made(model: str, *state: int) -> Classes:
    spelling = sentencepiece.load(model).spelling
    known = len(spelling.starts) - 1
    is_word, of_lower = np.zeros(all_numbers(spelling), np.bool_), np.zeros(all_numbers(spelling), np.int32)
    characters = tables().code_points.copy()
    characters[[ord(cut) for cut in _CUTS]] = OTHERS
    is_word[known:] = characters & STAYS != 0
    lower = np.where(characters & STAYS_LOWER, (characters >> 2) + 1, NO_WORD)
    of_lower[known:] = np.where(characters < 0, OTHERS, lower)
    data, bounds = spelling.data.tobytes(), spelling.starts.tolist()
    pieces = [data[start:end].decode() for start, end in pairwise(bounds)]
    refined = words(of_texts(pieces))
    is_word[:known] = numbers(refined.field("n")) > 0
    classes: dict[str, int] = {"": NO_WORD}
    for number, (piece, word) in enumerate(zip(pieces, refined.field("lower").to_pylist(), strict=True)):
        new = ord(word) + 1 if len(word) == 1 else CODE_POINTS + 1 + len(classes)
        of_lower[number] = OTHERS if any(cut in piece for cut in _CUTS) else classes.setdefault(word, new)
    return Classes(is_word, of_lower)


@entry("int32[] int64[] bool[] bool[] int32[] int64[] bool[]")
def count_rows(numbers, offsets, valid, is_word, classes, counts, others):
    """Count the words of each row; rows with a piece that is to be written out are marked in `others`."""
    for row in range(len(valid)):
        for k in range(offsets[row], offsets[row + 1] if valid[row] else offsets[row]):
            number = np.int64(numbers[k])
            if number >= CONTINUES or classes[number] == OTHERS:
                others[row] = True
                break
            counts[row] += is_word[number]


@entry("int32[] int64[] bool[] int32[] int64 int32[] uint8[] int64[] uint64[] int32[] float64[] bool[]")
def repetition_rows(numbers, offsets, valid, classes, n, words, raw, starts, prefixes, slots, ratios, others):
    """Fill in the share of repeated n-grams of each row, as `word_repetition` does for texts.

    words: room for classes, which are below 2 ** 24; raw: the same memory, in which the last byte of a word is 0, as it is a space in
    a text; starts: of the words in it. Rows with a piece that is to be written out are marked in `others`.
    """
    power = power_of(min(n, len(words)))
    for row in range(len(valid)):
        end = offsets[row + 1] if valid[row] else offsets[row]
        count = _words_of_row(numbers, offsets[row], end, classes, words, prefixes)
        others[row] = count < 0
        if count >= n:
            ratios[row] = repeated_share(raw, count, n, power, prefixes, starts, slots)


@kernel
def _words_of_row(numbers, first, last, classes, words, prefixes):
    """Fill in the words of a row and the hash of the words before each; returns their number, -1 with a piece to be written out."""
    count, prefix = 0, np.uint64(0)
    prefixes[0] = prefix
    for k in range(first, last):
        number = np.int64(numbers[k])
        if number >= CONTINUES or classes[number] == OTHERS:
            return -1
        words[count] = classes[number]
        word = (np.uint64(GOLDEN) ^ np.uint64(classes[number])) * np.uint64(PRIME)
        following = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29)))
        is_word = classes[number] != NO_WORD
        count += is_word
        prefix = following if is_word else prefix
        prefixes[count] = prefix
    return count
