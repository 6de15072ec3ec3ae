"""Folding of characters before texts are compared with evaluation items: letters without case and accents; all else divides words."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np

from refinery.kernels.core.charclass import CODE_POINTS, kept

# Kinds of a character, in the low three bits of the table.
DIVIDES = 0
LETTER = 1  # the folded code point is in the bits above
UNSPACED = 2  # as LETTER, of a script without blanks between words: every character is a word
NOTHING = 3  # marks, apostrophes, invisible characters: as if it were not there
LETTERS = 4  # two or three ASCII letters, 7 bits each, the first one lowest: ligatures
KIND_BITS = 3

# Inside of a word these are left out: `don't`, `don’t` and `dont` are one word.
_APOSTROPHES = "'\u2019\u02bc\uff07"
# First and last code points of scripts that are written without blanks: Thai and Lao, Myanmar, Khmer, Japanese, Chinese.
_UNSPACED = ((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF))
_FIRST_PLANE_WITH_IDEOGRAPHS, _AFTER_IDEOGRAPHS = 0x20000, 0x32400


@lru_cache(maxsize=1)
def fold_table() -> np.ndarray:
    """Entry of every code point, uint32: folded code point << KIND_BITS | kind."""
    return kept("contamination-folds-1", np.uint32, _build)


def _build() -> np.ndarray:
    table = np.zeros(CODE_POINTS, np.uint32)
    for point in range(_FIRST_PLANE_WITH_IDEOGRAPHS):
        if not 0xD800 <= point < 0xE000:
            table[point] = _entry(point)
    ideographs = np.arange(_FIRST_PLANE_WITH_IDEOGRAPHS, _AFTER_IDEOGRAPHS, dtype=np.uint32)
    table[_FIRST_PLANE_WITH_IDEOGRAPHS:_AFTER_IDEOGRAPHS] = ideographs << KIND_BITS | UNSPACED
    return table


def _entry(point: int) -> int:
    char = chr(point)
    category = unicodedata.category(char)
    if char in _APOSTROPHES or category[0] == "M" or category == "Cf":
        return NOTHING
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    if category == "Nd":
        folded = str(unicodedata.digit(char))
    plain = "".join(one for one in unicodedata.normalize("NFD", folded) if unicodedata.category(one)[0] != "M")
    if len(plain) == 1:
        folded = plain  # é is e, but a syllable of Hangul stays whole
    if not any(one.isalnum() for one in folded):
        return DIVIDES
    if any(low <= point <= high for low, high in _UNSPACED):
        return ord(folded[0]) << KIND_BITS | UNSPACED
    if 2 <= len(folded) <= 3 and folded.isascii() and folded.isalnum():
        return sum(ord(one) << 7 * place for place, one in enumerate(folded)) << KIND_BITS | LETTERS
    return (ord(folded) if len(folded) == 1 else point) << KIND_BITS | LETTER
