"""Kernel that cuts a normalized text into pieces of a SentencePiece model, and numbers them.

Words are looked up in the memory of words in groups: the memory of all words of a group is fetched before the first is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import BLOCK, all_of, first_set, lanes, low_bits
from refinery.kernels.core.jit import kernel
from refinery.kernels.core.memory import prefetch
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import decode
from refinery.kernels.models.piece_numbers import CONTINUES
from refinery.kernels.models.sentencepiece_bpe import join_symbols
from refinery.kernels.models.sentencepiece_file import SPACE_SYMBOL
from refinery.kernels.models.sentencepiece_memory import (
    COLUMNS,
    LONGEST,
    MOST_PIECES,
    is_known,
    is_safe,
    key_of,
    margin_of,
    remember,
    seen_before,
    write,
)
from refinery.kernels.models.sentencepiece_unigram import best_path

UNKNOWN, BYTE_FALLBACK, SPLITS, IS_BPE, LARGEST, KNOWN = range(6)
GROUP = 32  # words that are looked up together
SPARE = BLOCK + 8  # bytes behind a text that are read, and numbers behind the output that are written


class Pieces(NamedTuple):
    """Tables of a model's pieces.

    trie: of the pieces, with their numbers. scores: of each piece, then that of an unknown character. ranks: of a BPE
    model, its scores. of_bytes: numbers of the pieces of bytes. options: by the constants above; SPLITS: no piece crosses the
    beginning of a word; LARGEST: no score is farther from 0; KNOWN: number of pieces.
    """

    trie: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray
    of_bytes: np.ndarray
    options: np.ndarray


record(Pieces, "int64[] float32[] int32[] int32[] int64[]")


class Scratch(NamedTuple):
    """Room for a text: normalized; starts of its words; best totals, origins and pieces for each of its bytes; ends of a word's pieces.

    For a BPE model: links between symbols, places in the trie, and pairs.
    """

    text: np.ndarray
    words: np.ndarray
    totals: np.ndarray
    origins: np.ndarray
    numbers: np.ndarray
    ends: np.ndarray
    links: np.ndarray
    units: np.ndarray
    heap: np.ndarray
    memory: np.ndarray  # words, see `sentencepiece_memory`
    seen: np.ndarray
    keys: np.ndarray  # of a group of words: their bytes, and their slots in the memory
    sums: np.ndarray
    begins: np.ndarray


record(
    Scratch,
    "uint8[] int32[] float32[] int32[] int32[] int32[] int32[,] int64[] int64[,] int64[,] int64[] int64[,] float64[,] int32[]",
)


def new_scratch(room: int, is_bpe: bool, memory: np.ndarray, seen: np.ndarray) -> Scratch:
    """Room for a text of so many bytes; what is never written is never allocated by the system."""
    words, origins, numbers, ends = (np.empty(room + 1, np.int32) for _ in range(4))
    more = room + 1 if is_bpe else 1
    links, units, heap = np.empty((4, more), np.int32), np.empty(more, np.int64), np.empty((2, 3 * more), np.int64)
    keys, sums = np.zeros((GROUP, 4), np.int64), np.empty((2, LONGEST + 1), np.float64)
    begins = np.empty(LONGEST + 1, np.int32)
    text, totals = np.empty(room + SPARE, np.uint8), np.empty(room + 1, np.float32)
    return Scratch(text, words, totals, origins, numbers, ends, links, units, heap, memory, seen, keys, sums, begins)


@kernel
def encode_text(size, pieces, symbols, scratch, out, w):
    """Write the numbers of the pieces of the normalized text; returns the position after them."""
    if size == 0:
        return w
    text, words, keys, options, scores = scratch.text, scratch.words, scratch.keys, pieces.options, pieces.scores
    memory, splits, is_bpe = scratch.memory, options[SPLITS] != 0, options[IS_BPE] != 0
    count = _word_starts(text, size, words) if splits else 1
    words[0], words[count] = 0, size
    total, after_unknown = np.float32(0), False
    for word in range(count):
        if splits and word % GROUP == 0:
            _look_up(text, words, word, min(word + GROUP, count), keys, scratch)
        start, end = np.int64(words[word]), np.int64(words[word + 1])
        length, slot = end - start, np.int64(-1)
        first, second, third = keys[word % GROUP, 0], keys[word % GROUP, 1], keys[word % GROUP, 2]
        if splits and length <= LONGEST:
            slot = keys[word % GROUP, 3]
            if is_known(memory, slot, first, second, third, length) and (
                is_bpe or is_safe(memory, slot, total, length, options[LARGEST])
            ):
                total, w = write(memory, slot, scores, total, out, w)
                after_unknown = False
                continue
        again = slot >= 0 and seen_before(scratch.seen, slot, first, second, third)
        total, top = _cut_word(start, end, total, pieces, symbols, scratch)
        if again and top <= MOST_PIECES:
            margin = np.inf
            if not is_bpe:
                margin = margin_of(
                    text, start, length, pieces.trie, scores, scratch.origins, scratch.sums, scratch.begins
                )
            remember(
                memory, slot, first, second, third, length, scratch.ends, scratch.numbers, top, options[UNKNOWN], margin
            )
        after_unknown, w = _number(start, top, after_unknown, pieces, scratch, out, w)
    return w


@kernel
def _look_up(text, words, first, last, keys, scratch):
    """Fetch the memory of the words from first up to last."""
    for word in range(first, last):
        k, start = word - first, np.int64(words[word])
        size = np.int64(words[word + 1]) - start
        if size <= LONGEST:
            keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3] = key_of(text, start, size)
            prefetch(scratch.memory, keys[k, 3] * COLUMNS)
            prefetch(scratch.seen, keys[k, 3])


@kernel
def _cut_word(start, end, total, pieces, symbols, scratch):
    """Find the pieces of the text between two places; returns the total after it, and the number of pieces."""
    text, options = scratch.text, pieces.options
    if options[IS_BPE]:
        top = join_symbols(text, start, end, pieces.trie, symbols, pieces.ranks, options[UNKNOWN], scratch)
        return total, top
    total = best_path(
        text,
        start,
        end,
        total,
        pieces.trie,
        pieces.scores,
        options[UNKNOWN],
        scratch.totals,
        scratch.origins,
        scratch.numbers,
    )
    return total, _forward(scratch.origins, end - start, scratch.ends)


@kernel
def _number(start, count, after_unknown, pieces, scratch, out, w):
    """Write the numbers of the pieces found; returns whether the last one is unknown, and the position after them."""
    text, known = scratch.text, pieces.options[KNOWN]
    begin = start
    for piece in range(count):
        place = np.int64(scratch.ends[piece])
        number = scratch.numbers[place]
        is_unknown = number == pieces.options[UNKNOWN]
        if not is_unknown:
            out[w] = number
            w += 1
        elif pieces.options[BYTE_FALLBACK]:
            for k in range(begin, start + place):
                out[w] = pieces.of_bytes[text[k]]
                w += 1
        else:
            k, joined = begin, after_unknown
            while k < start + place:
                character, k = decode(text, k)
                out[w] = (known + character) | (CONTINUES if joined else 0)
                joined = True
                w += 1
        after_unknown = is_unknown
        begin = start + place
    return after_unknown, w


@kernel
def _forward(origins, place, ends):
    """Write the ends of the pieces of the best path, in order; returns their number."""
    count = 0
    at = place
    while at > 0:
        at = origins[at]
        count += 1
    at = place
    for k in range(count - 1, -1, -1):
        ends[k] = at
        at = origins[at]
    return count


# The bytes that begin an escaped space; 66 bytes must exist.
_space_symbols = lanes(
    lambda x, y, z: all_of(x == SPACE_SYMBOL[0], y == SPACE_SYMBOL[1], z == SPACE_SYMBOL[2]),
)


@kernel
def _word_starts(text, size, starts):
    """Write the places of escaped spaces behind the place 0, where words begin; returns the number of words."""
    count = 1
    for i in range(0, size - 2, BLOCK):
        symbols = _space_symbols(text, i) & low_bits(min(size - 2 - i, BLOCK))
        if i == 0:
            symbols &= ~np.uint64(1)
        while symbols:
            starts[count] = i + first_set(symbols)
            count += 1
            symbols &= symbols - np.uint64(1)
    return count
