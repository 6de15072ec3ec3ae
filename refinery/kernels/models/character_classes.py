"""Classes of characters as the library `tokenizers` 0.23.3 has them, and its normalization NFC.

The library's regular expressions know Unicode 16 and its NFC knows Unicode 9, while Python has another version. So the
code points are listed in `character_classes.txt`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

import numpy as np

from refinery.kernels.core import code_point_ranges
from refinery.kernels.core.charclass import CODE_POINTS, kept

LETTER, NUMBER, SPACE = 1, 2, 4  # \p{L}, \p{N}, \s
COMPOSING = 8  # NFC changes or moves the character, or joins it with one before
UNKNOWN_COMPOSING = 16  # Python's NFC does so, the library's does not know the character

_VERSION = 1  # of the table on disk
_BITS = {"letters": LETTER, "numbers": NUMBER, "spaces": SPACE, "composing": COMPOSING}


def classes() -> np.ndarray:
    """Bits of every code point, uint8 (0x110000). Takes a second once per machine; later calls read a file."""
    return _classes()


@lru_cache(maxsize=1)
def _classes() -> np.ndarray:
    return kept(f"tokenizer-classes-{_VERSION}", np.uint8, _build)


def _build() -> np.ndarray:
    table = np.zeros(CODE_POINTS, np.uint8)
    for name, ranges in listed().items():
        for first, last in ranges:
            table[first : last + 1] |= _BITS[name]
    for code_point in _composing():
        if not table[code_point] & COMPOSING:
            table[code_point] |= UNKNOWN_COMPOSING
    return table


def listed() -> dict[str, list[tuple[int, int]]]:
    """Ranges of code points by the names of their classes."""
    return code_point_ranges.listed_ranges(Path(__file__).with_name("character_classes.txt"))


def _composing() -> set[int]:
    """Code points that Python's NFC changes, moves, or joins with a character before."""
    composing = set()
    for code_point in range(CODE_POINTS):
        char = chr(code_point)
        if unicodedata.combining(char) or unicodedata.normalize("NFC", char) != char:
            composing.add(code_point)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            composing.add(int(parts[1], 16))
    return composing


@lru_cache(maxsize=1)
def _cuts() -> re.Pattern[str]:
    """A character that only Python's NFC knows: for the library's it is a plain one, at which a text can be cut."""
    unknown = np.flatnonzero(classes() & UNKNOWN_COMPOSING)
    return re.compile(f"([{''.join(map(chr, unknown))}])")


def composed(text: str) -> str:
    """The text in NFC, as the library composes it."""
    if text.isascii():
        return text
    parts = enumerate(_cuts().split(text))  # every second one is a cut
    return "".join(part if number % 2 else unicodedata.normalize("NFC", part) for number, part in parts)
