"""Text normalisation of datatrove 0.10.1 before it forms shingles.

Lower case; each number becomes 0; punctuation becomes a space; runs of white space become one space; accents are
dropped (NFD without nonspacing marks), and last the white space at the ends. A table maps single characters; texts
with a character outside the table's rules (final sigma, Hangul, letters that grow) go through plain Python.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
import pyarrow as pa
import regex

from refinery.common.lazy import pc
from refinery.common.packages import installed_version
from refinery.kernels.core.arrow import EXACT, flags, of_texts, strings, texts
from refinery.kernels.core.charclass import CODE_POINTS, kept
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import decode, encode

PUNCTUATION = "!/—”:％１〈&(、━\\【#%「」，】；+^]~“《„';’{|∶´[=-`*．（–？！：$～«〉,><》)?）。…@_.\"}►»" + "".join(
    map(chr, (*range(9), *range(11, 32), *range(127, 160)))
)
POINTS = ".,،٫⎖⎗⎘"  # one of them may occur inside a number

_NUMBER = re.compile(rf"\d+(?:[{POINTS}]\d+)?")
_SPACES = re.compile(r"\s+")
_SPECIAL = regex.compile(rf"[\p{{Nd}}\p{{M}}\s{POINTS}{regex.escape(PUNCTUATION)}]")
_TO_SPACE = str.maketrans(PUNCTUATION, " " * len(PUNCTUATION))

# Kinds of a character, in the low three bits of the table; the bits above hold the character to write.
PLAIN, SPACE, NONSPACING, DIGIT, POINT, PLAIN_POINT = 0, 1, 2, 3, 4, 5


def simplify(text: str) -> str:
    """Normalise one text in plain Python."""
    text = _NUMBER.sub("0", text.lower()).translate(_TO_SPACE)
    decomposed = unicodedata.normalize("NFD", _SPACES.sub(" ", text))
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn").strip()


def simplified(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Normalise every text; NULL for NULL."""
    view = texts(column)
    out, offsets = np.empty(view.size + 8, np.uint8), np.zeros(len(view) + 1, np.int64)
    state = np.zeros(len(view), np.uint8)
    _simplify(view.data, view.offsets, view.valid, _table(), out, offsets, state)
    result = strings(out, offsets, view.valid)
    if not state.any():
        return result
    todo = flags(state == EXACT)
    exact = [simplify(text) for text in view.array.filter(todo).to_pylist()]
    return pc.replace_with_mask(result.cast(pa.large_string()), todo, of_texts(exact).cast(pa.large_string()))


@lru_cache(maxsize=1)
def _table() -> np.ndarray:
    """Rules by code point, int32: output code point << 3 | kind, -1 for characters that need Python."""
    return kept(f"datatrove-normalized-regex{installed_version('regex')}", np.int32, _build)


def _build() -> np.ndarray:
    table = np.arange(CODE_POINTS, dtype=np.int32) << 3
    for start in range(0, CODE_POINTS, 256):
        block = "".join(map(chr, range(start, start + 256)))
        if block.lower() == block and unicodedata.is_normalized("NFD", block) and not _SPECIAL.search(block):
            continue
        for char in block:
            table[ord(char)] = _entry(char)
    return table


def _entry(char: str) -> int:
    if char in POINTS:
        return ord(" ") << 3 | POINT if char in PUNCTUATION else ord(char) << 3 | PLAIN_POINT
    if unicodedata.category(char) == "Nd":
        return ord("0") << 3 | DIGIT
    if char in PUNCTUATION or char.isspace():
        return ord(" ") << 3 | SPACE
    if unicodedata.category(char) == "Mn":
        return NONSPACING
    new = simplify(f"a{char}a")[1:-1]
    if len(new) != 1 or char == "Σ" or unicodedata.combining(char) or len(new.encode()) > len(char.encode()):
        return -1
    return ord(new) << 3 | PLAIN


@entry("uint8[] int64[] bool[] int32[] uint8[] int64[] uint8[]")
def _simplify(data, offsets, valid, table, out, out_offsets, state):
    w = 0
    for row in range(len(valid)):
        start = w
        if valid[row]:
            w = _simplify_row(data, offsets[row], offsets[row + 1], table, out, w)
            if w < 0:
                w, state[row] = start, EXACT
        out_offsets[row + 1] = w


@kernel
def _simplify_row(data, i, end, table, out, w):
    """Write data[i:end] normalised to out[w:]; returns the position after it, -1 where it needs Python."""
    first, spaced = w, False
    while i < end:
        cp, i = decode(data, i)
        entry = table[cp]
        if entry < 0:
            return -1
        kind = entry & 7
        if kind == SPACE or kind == POINT:
            if not spaced and w > first:
                out[w] = 0x20
                w += 1
            spaced = True
            continue
        spaced = False
        if kind == DIGIT:
            i = _after_number(data, i, end, table)
        if kind != NONSPACING:
            w = encode(entry >> 3, out, w)
    while w > first and out[w - 1] == 0x20:
        w -= 1
    return w


@kernel
def _after_number(data, i, end, table):
    """Position after a number whose first digit ends before byte i."""
    pointed = False
    while i < end:
        cp, after = decode(data, i)
        kind = table[cp] & 7
        if kind == DIGIT and table[cp] >= 0:
            i = after
        elif kind >= POINT and table[cp] >= 0 and not pointed and after < end:
            digit, after = decode(data, after)
            if table[digit] < 0 or table[digit] & 7 != DIGIT:
                return i
            pointed, i = True, after
        else:
            return i
    return i
