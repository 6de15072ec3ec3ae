"""Pieces of the texts of evaluation items, and the units of each that count by themselves.

A *piece* is what is looked for at one place of a document: a passage, or prompt, choices and answer of an item one after another, at
most MOST words; longer ones are cut. A *unit* is a part of a piece that counts by itself, such as the prompt alone, or all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.contamination.folded_words import CHARACTER, NUMBER, SORT_BITS
from refinery.kernels.contamination.item_texts import UNITS, WHOLE
from refinery.kernels.core.jit import entry

MOST = 256  # words of a piece
# Share of a unit's weight that must be found, by its length in words; between these by a straight line.
LENGTHS = (6.0, 8.0, 12.0, 20.0, 40.0, 80.0, 150.0)
SHARES = (0.8, 0.62, 0.48, 0.42, 0.36, 0.32, 0.3)
LEAST_WEIGHT = 2.5  # of a unit
LEAST_WORDS = 4  # of a unit, also of scripts without blanks


class Words(NamedTuple):
    """Words of all texts, one after another: keys, and weights with and without regard to other items (`word_weights`)."""

    keys: np.ndarray
    weights: np.ndarray
    plain: np.ndarray


class Units(NamedTuple):
    """Units that are looked for. pieces: of each, ascending. names: number in UNITS. lows, highs: first word, and end. totals: weight.
    shares: share that must be found."""

    pieces: np.ndarray
    names: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    totals: np.ndarray
    shares: np.ndarray


# A text's number, first word and end.
Piece = tuple[int, int, int]


def divided(offsets: Sequence[int], parts: Sequence[Sequence[tuple[str, int]]]) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of all texts, as rows of text, first word and end; and their possible units, as rows of piece, name, first word and end.

    offsets: first word of each text, and the end. parts: of each text, with their numbers of words.
    """
    pieces: list[Piece] = []
    units: list[tuple[int, int, int, int]] = []
    for text, own in enumerate(parts):
        for start, end, named in _of_text(offsets[text], offsets[text + 1], own):
            units += [(len(pieces), UNITS.index(name), low, high) for name, low, high in named]
            pieces.append((text, start, end))
    return np.array(pieces, np.int64).reshape(-1, 3), np.array(units, np.int64).reshape(-1, 4)


def _of_text(
    start: int, end: int, parts: Sequence[tuple[str, int]]
) -> Iterator[tuple[int, int, list[tuple[str, int, int]]]]:
    """Pieces of a text as begin, end and units; a text of several parts that is too long is divided by its parts."""
    spans, at = [], start
    for name, size in parts:
        spans.append((name, at, at + size))
        at += size
    if end - start > MOST:
        for name, first, last in spans:
            for low, high in _equal(first, last):
                yield low, high, [(name, low, high)]
    else:
        yield start, end, spans if len(spans) == 1 else [*spans, (WHOLE, start, end)]


def _equal(start: int, end: int) -> list[tuple[int, int]]:
    """Parts of at most MOST words, about equal in length."""
    number = max(1, -(-(end - start) // MOST))
    cuts = [start + (end - start) * part // number for part in range(number + 1)]
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def units_of(possible: np.ndarray, words: Words, min_words: int) -> Units:
    """The possible units that are long enough and have weight enough. possible: of `divided`."""
    piece, name, low, high = possible.T
    length = _between(np.where(_sort(words) == CHARACTER, 0.5, 1.0), low, high)
    total = _between(words.weights, low, high)
    enough = (length >= min_words) & (_between(words.plain, low, high) >= LEAST_WEIGHT) & (high - low >= LEAST_WORDS)
    columns = piece, name, low, high, total, np.interp(length, LENGTHS, SHARES)
    return Units(*(np.ascontiguousarray(column[enough]) for column in columns))


def is_number(words: Words) -> np.ndarray:
    """True for words of digits."""
    return _sort(words) == NUMBER


def _sort(words: Words) -> np.ndarray:
    return words.keys & np.uint64(SORT_BITS)


def _between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Sums of values[low:high]."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return sums[high] - sums[low]


def fewest_grams(weights: np.ndarray, units: Units) -> np.ndarray:
    """Fewest n-grams that can make up the share of each unit that must be found: each has three words."""
    needed = np.zeros(len(units.lows), np.int64)
    _fewest(weights, units.lows, units.highs, units.totals * units.shares, np.empty(MOST, np.float64), needed)
    return needed


@entry("float64[] int64[] int64[] float64[] float64[] int64[]")
def _fewest(weights, lows, highs, wanted, room, needed):
    for unit in range(len(lows)):
        size = highs[unit] - lows[unit]
        for i in range(size):  # the heaviest first
            weight, k = weights[lows[unit] + i], i
            while k > 0 and room[k - 1] < weight:
                room[k] = room[k - 1]
                k -= 1
            room[k] = weight
        weight, words = 0.0, 0
        while words < size and weight < wanted[unit] - 1e-9:
            weight += room[words]
            words += 1
        needed[unit] = max(1, (words + 2) // 3)
