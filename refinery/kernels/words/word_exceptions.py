"""Kernels that find the listed exceptions of `word_rules` by their bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import kernel
from refinery.kernels.words import word_phrases, word_rules
from refinery.kernels.words.lexicon import Lexicon, lexicon, listed

# Kinds of an entry of the lexicon. The bits from 8, 16 and 24 on hold the ends (in bytes) of its first, second and last
# word; the bits from NUMBER on hold the number of the text among the words of phrases, from 1.
EXCEPTION, UNIT = 1, 4
NUMBER = 32

exception = listed  # value of an exception or unit; 0 for most other texts


class WordRules(NamedTuple):
    """Rules for the kernels: classes of characters, exceptions and units, and phrases of several words."""

    classes: np.ndarray
    lexicon: Lexicon
    pairs: np.ndarray
    phrases: np.ndarray


@lru_cache(maxsize=1)
def rules() -> WordRules:
    """Rules for English, made once per process."""
    values: dict[str, int] = dict.fromkeys(word_rules.UNITS, UNIT)
    for text, parts in word_rules.exceptions().items():
        ends = np.cumsum([len(part.encode()) for part in parts])
        value = EXCEPTION
        for place in range(3):
            value |= int(ends[min(place, len(parts) - 1)]) << (8 + 8 * place)
        values[text] = values.get(text, 0) | value
    known = list(word_rules.phrases())
    numbers = word_phrases.numbers(known)
    further = numbers.keys() - values.keys()
    for word, number in numbers.items():
        values[word] = values.get(word, 0) | number << NUMBER
    tables = word_phrases.pairs(known), word_phrases.automaton(known, numbers)
    return WordRules(word_rules.classes(), lexicon(values, ungated=further), *tables)


@kernel
def write_parts(value, start, room, n):
    """Write the starts of the words of an exception."""
    room[n] = start
    n += 1
    for place in range(2):
        end = (value >> (8 + 8 * place)) & 0xFF
        if end < (value >> 24) & 0xFF:
            room[n] = start + end
            n += 1
    return n
