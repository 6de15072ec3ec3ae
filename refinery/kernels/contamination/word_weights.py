"""Weights of the words of evaluation items: little for words and phrases that many texts share."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from refinery.kernels.contamination.folded_words import GRAM, NUMBER, SORT_BITS, grams_of, words_of
from refinery.kernels.contamination.numbering import Numbered, numbered, texts_with
from refinery.kernels.core.arrow import of_texts

_HERE = Path(__file__)
# Upper halves of the keys of n-grams of licences, uint32, little-endian, sorted; bench/licence_grams.py writes them.
LICENCES = _HERE.with_name("licence_grams.bin")
_WORDS, _PHRASES = (_HERE.with_name(name) for name in ("word_weights.txt", "common_phrases.txt"))
LISTS = (LICENCES, _WORDS, _PHRASES)
OF_GRAMMAR = 0.35  # weight of a word of grammar, beside 1 of others
LEAST = 0.3  # of a word that nearly all texts of the sets have
OF_NUMBER = 1.5
COMMON = 5  # from so many reference texts on, an n-gram weighs less
OF_PHRASE = 0.1  # factor for n-grams of common phrases
# A word is part of a licence if among so many words to either side, NOTICE_SHARE are words of licences; so are the words of gaps of
# at most NOTICE_GAP words between such words.
NOTICE, NOTICE_SHARE, NOTICE_GAP = 10, 0.24, 60


def weights(
    keys: np.ndarray, offsets: np.ndarray, grams: Numbered, common: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each word of some texts, float64, and what it weighs if other texts with the same n-grams do not count.

    keys, offsets: of the words, as `words_of` gives them. grams: n-grams that begin at each word, numbered. common: number of the
    reference texts that have each n-gram.
    """
    words = numbered(keys)
    weight, is_of_licence = _of_words(words, offsets)
    weight = weight[words.numbers]
    weight[_notices(is_of_licence[words.numbers], offsets)] = 0
    known = np.where(np.isin(grams.distinct, phrase_grams()), OF_PHRASE, 1.0)
    known /= np.maximum(common - COMMON + 2, 1)
    known[np.isin(short_keys(grams.distinct), licence_grams())] = 0
    shared = texts_with(grams.numbers, offsets, len(grams.distinct))
    return weight * _mean(grams.numbers, known / np.sqrt(shared)), weight * _mean(grams.numbers, known)


def _of_words(words: Numbered, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each distinct word: 1 for those of one text, less by the logarithm of the number of texts; and a flag for licences' words."""
    plain, licences = lists()
    texts = texts_with(words.numbers, offsets, len(words.distinct))
    weight = np.maximum(LEAST, 1 - np.log(np.maximum(texts, 1)) / np.log(len(offsets) + 10))
    weight[np.isin(words.distinct, plain)] = OF_GRAMMAR
    weight[(words.distinct & np.uint64(SORT_BITS)) == NUMBER] = OF_NUMBER
    return weight, np.isin(words.distinct, licences)


def _notices(flags: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """True for the words of licences and notices. flags: of words of licences."""
    sums = np.concatenate([[0], np.cumsum(flags)])
    at = np.arange(len(flags))
    text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    low, high = np.maximum(at - NOTICE, offsets[text]), np.minimum(at + NOTICE + 1, offsets[text + 1])
    dense = (sums[high] - sums[low] >= np.maximum(NOTICE_SHARE * (high - low), 3)) & (high - low > NOTICE)
    places = np.flatnonzero(dense)
    if len(places):
        gap = np.diff(places)
        for k in np.flatnonzero((gap > 1) & (gap <= NOTICE_GAP) & (text[places[:-1]] == text[places[1:]])):
            dense[places[k] : places[k + 1]] = True
    return dense


def _mean(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each word the mean of the values of the n-grams that have it; 0 without one. numbers: of the n-gram at each word, or -1."""
    total, number = np.zeros(len(numbers)), np.zeros(len(numbers))
    there = numbers >= 0
    own = np.zeros(len(numbers))
    own[there] = values[numbers[there]]
    for step in range(GRAM):
        total[step:] += own[: len(own) - step]
        number[step:] += there[: len(own) - step]
    return total / np.maximum(number, 1)


@lru_cache(maxsize=1)
def lists() -> tuple[np.ndarray, np.ndarray]:
    """Keys of the words of grammar, and of the words of licences."""
    lines = [line for line in _lines(_WORDS)]
    plain, licences = (words_of(of_texts([line]))[0] for line in lines)
    return np.unique(plain), np.unique(licences)


@lru_cache(maxsize=1)
def phrase_grams() -> np.ndarray:
    """Keys of the n-grams of common phrases."""
    grams = grams_of(*words_of(of_texts(_lines(_PHRASES))))
    return np.unique(grams[grams != 0])


@lru_cache(maxsize=1)
def licence_grams() -> np.ndarray:
    """Short keys of the n-grams of licences."""
    return np.frombuffer(LICENCES.read_bytes(), "<u4").astype(np.uint32)


def short_keys(grams: np.ndarray) -> np.ndarray:
    """The upper halves of keys."""
    return (grams >> np.uint64(32)).astype(np.uint32)


def _lines(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
