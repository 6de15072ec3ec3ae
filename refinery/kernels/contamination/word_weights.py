"""Weights of the words of evaluation items: little for words and phrases that many texts share."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from refinery.kernels.contamination.folded_words import GRAM, NUMBER, SORT_BITS, grams_of, words_of
from refinery.kernels.core.arrow import of_texts

_HERE = Path(__file__)
# Upper halves of the keys of n-grams of licences, uint32, little-endian, sorted; bench/licence_grams.py writes them.
LICENCES = _HERE.with_name("licence_grams.bin")
OF_GRAMMAR = 0.35  # weight of a word of grammar, beside 1 of others
LEAST = 0.3  # of a word that nearly all texts of the sets have
OF_NUMBER = 1.5
COMMON = 5  # from so many reference texts on, an n-gram weighs less
OF_PHRASE = 0.1  # factor for n-grams of common phrases
# A word is part of a licence if among so many words to either side, NOTICE_SHARE are words of licences; so are the words of gaps of
# at most NOTICE_GAP words between such words.
NOTICE, NOTICE_SHARE, NOTICE_GAP = 10, 0.24, 60


def weights(
    keys: np.ndarray, offsets: np.ndarray, grams: np.ndarray, shared: np.ndarray, common: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each word of some texts, float64, and what it weighs if other texts with the same n-grams do not count.

    keys, offsets: of the words, as `words_of` gives them. grams: keys of the n-grams that begin at each word, 0 for none. shared:
    number of the texts that have the n-gram. common: number of the reference texts that have it.
    """
    plain, licences = lists()
    weight = np.where(np.isin(keys, plain), OF_GRAMMAR, _by_texts(keys, offsets))
    weight[(keys & np.uint64(SORT_BITS)) == NUMBER] = OF_NUMBER
    weight[_notices(np.isin(keys, licences), offsets)] = 0
    known = np.where(np.isin(grams, phrase_grams()), OF_PHRASE, 1.0)
    known /= np.maximum(common - COMMON + 2, 1)
    known[np.isin(short_keys(grams), licence_grams())] = 0
    return weight * _mean(grams, known / np.sqrt(np.maximum(shared, 1))), weight * _mean(grams, known)


def _by_texts(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """1 for words of one text, less for words of many, by the logarithm of the number of texts."""
    texts = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    distinct, places = np.unique(keys, return_inverse=True)
    pairs = np.unique(places.astype(np.uint64) << np.uint64(32) | texts)
    counts = np.bincount((pairs >> np.uint64(32)).astype(np.int64), minlength=len(distinct))
    return np.maximum(LEAST, 1 - np.log(np.maximum(counts, 1)) / np.log(len(offsets) + 10))[places]


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


def _mean(grams: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each word the mean of the values of the n-grams that have it; 0 without one."""
    total, number = np.zeros(len(grams)), np.zeros(len(grams))
    there = grams != 0
    for step in range(GRAM):
        total[step:] += np.where(there, values, 0)[: len(grams) - step]
        number[step:] += there[: len(grams) - step]
    return total / np.maximum(number, 1)


@lru_cache(maxsize=1)
def lists() -> tuple[np.ndarray, np.ndarray]:
    """Keys of the words of grammar, and of the words of licences."""
    lines = [line for line in _lines("word_weights.txt")]
    plain, licences = (words_of(of_texts([line]))[0] for line in lines)
    return np.unique(plain), np.unique(licences)


@lru_cache(maxsize=1)
def phrase_grams() -> np.ndarray:
    """Keys of the n-grams of common phrases."""
    grams = grams_of(*words_of(of_texts(_lines("common_phrases.txt"))))
    return np.unique(grams[grams != 0])


@lru_cache(maxsize=1)
def licence_grams() -> np.ndarray:
    """Short keys of the n-grams of licences."""
    return np.frombuffer(LICENCES.read_bytes(), "<u4").astype(np.uint32)


def short_keys(grams: np.ndarray) -> np.ndarray:
    """The upper halves of keys."""
    return (grams >> np.uint64(32)).astype(np.uint32)


def _lines(name: str) -> list[str]:
    text = _HERE.with_name(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
