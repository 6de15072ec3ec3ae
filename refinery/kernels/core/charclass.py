"""Table of the character classes of every code point, which kernels read.

The table is computed once from `str.isalnum`, `str.isspace`, `str.splitlines`, `\\w` of the `regex` module and the
special characters of Data-Juicer, and kept on disk; the file's name holds the versions that the table depends on.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from refinery.common.arrays import read_array, write_arrays
from refinery.common.packages import installed_version
from refinery.kernels.core.cache import CACHE
from refinery.kernels.text.special_characters import code_points

ALNUM = 1  # str.isalnum
ALPHA = 2  # str.isalpha
SPACE = 4  # str.isspace
LINE_END = 8  # str.splitlines ends a line here (CR LF counts as one)
SPECIAL = 16  # Data-Juicer's special characters
WORD = 32  # \w of the regex module
DIGIT = 64  # \d of the regex module
RE_SPACE = 128  # \s of the regex module

CODE_POINTS = 0x110000


def _build() -> np.ndarray:
    import regex

    table = np.zeros(CODE_POINTS, np.uint8)
    special = code_points()
    everything = "".join(chr(c) for c in range(CODE_POINTS) if not 0xD800 <= c < 0xE000)
    for char in everything:
        c = ord(char)
        bits = 0
        if char.isalnum():
            bits |= ALNUM
            if char.isalpha():
                bits |= ALPHA
        elif char.isspace():
            bits |= SPACE
        if c in special:
            bits |= SPECIAL
        table[c] = bits
    for pattern, bit in ((r"\w", WORD), (r"\d", DIGIT), (r"\s", RE_SPACE)):
        for match in regex.finditer(pattern + "+", everything):
            for char in match.group():
                table[ord(char)] |= bit
    for char in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        table[ord(char)] |= LINE_END
    return table


@lru_cache(maxsize=1)
def classes() -> np.ndarray:
    """Bits of every code point, uint8 (0x110000). Takes half a second once per machine; later calls read a file."""
    return kept(f"classes-regex{installed_version('regex')}", np.uint8, _build)


def kept(name: str, kind: type[np.generic], build: Callable[[], np.ndarray]) -> np.ndarray:
    """Table of all code points made by `build`; read from a file once this Python has made it."""
    versions = f"{sys.version_info[0]}.{sys.version_info[1]}-{unicodedata.unidata_version}"
    path = CACHE / f"{name}-{versions}.arrow"
    try:
        table = read_array(path)
        if table.shape == (CODE_POINTS,) and table.dtype == kind:
            return table
    except (OSError, ValueError):
        pass
    table = build()
    try:
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        write_arrays(aside, table)
        os.replace(aside, path)
    except OSError:  # a read-only home costs only half a second per run
        pass
    return table
