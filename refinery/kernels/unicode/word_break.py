"""Table of what segments of UAX 29 need to know of every code point.

Word_Break and the other properties of Unicode are listed in `word_break.txt`, so that the version of a library or of
Python does not change segments. The bits of Python's own classes are those of the running Python.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from refinery.kernels.core import charclass, code_point_ranges

# Values of Word_Break: those that join in pairs come first, those that a rule skips (WB4) last.
OTHER, ALETTER, HEBREW_LETTER, NUMERIC, KATAKANA, EXTEND_NUM_LET = range(6)
REGIONAL_INDICATOR, SPACES, MID_LETTER, MID_NUM, MID_NUM_LET, SINGLE_QUOTE, DOUBLE_QUOTE = range(6, 13)
CR, LF, NEWLINE = range(13, 16)
EXTEND, FORMAT, ZWJ = range(16, 19)

VALUE = 0x1F  # the bits of the value
PICTOGRAPH = 0x20  # Extended_Pictographic
ALPHABETIC = 0x40
NUMBER = 0x80  # general category N
ALNUM = ALPHABETIC | NUMBER  # Rust's char::is_alphanumeric
UPPERCASE = 0x100
INK = 0x200  # not White_Space
PYTHON_ALNUM = 0x400  # str.isalnum
PYTHON_INK = 0x800  # not str.isspace

_VERSION = 1  # of the table on disk
_VALUES = {
    "ALetter": ALETTER,
    "Hebrew_Letter": HEBREW_LETTER,
    "Numeric": NUMERIC,
    "Katakana": KATAKANA,
    "ExtendNumLet": EXTEND_NUM_LET,
    "Regional_Indicator": REGIONAL_INDICATOR,
    "WSegSpace": SPACES,
    "MidLetter": MID_LETTER,
    "MidNum": MID_NUM,
    "MidNumLet": MID_NUM_LET,
    "Single_Quote": SINGLE_QUOTE,
    "Double_Quote": DOUBLE_QUOTE,
    "CR": CR,
    "LF": LF,
    "Newline": NEWLINE,
    "Extend": EXTEND,
    "Format": FORMAT,
    "ZWJ": ZWJ,
}
_BITS = {"Extended_Pictographic": PICTOGRAPH, "Alphabetic": ALPHABETIC, "N": NUMBER, "Uppercase": UPPERCASE}


@lru_cache(maxsize=1)
def properties() -> np.ndarray:
    """Value and bits of every code point, uint16 (0x110000). Made once per machine; later calls read a file."""
    return charclass.kept(f"word-break-{_VERSION}", np.uint16, _build)


def _build() -> np.ndarray:
    table = np.full(charclass.CODE_POINTS, INK, np.uint16)
    for name, ranges in listed().items():
        for first, last in ranges:
            if name == "White_Space":
                table[first : last + 1] &= ~np.uint16(INK)
            else:
                table[first : last + 1] |= _VALUES.get(name) or _BITS[name]
    classes = charclass.classes()
    table[classes & charclass.ALNUM != 0] |= PYTHON_ALNUM
    table[classes & charclass.SPACE == 0] |= PYTHON_INK
    return table


def listed() -> dict[str, list[tuple[int, int]]]:
    """Ranges of code points by the names of the properties."""
    return code_point_ranges.listed_ranges(Path(__file__).with_name("word_break.txt"))
