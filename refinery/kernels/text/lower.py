"""Lower case of texts, as `str.lower` has it."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.arrow import Texts, replaced, texts_at
from refinery.kernels.core.blocks import HALF, copy_lower
from refinery.kernels.core.charclass import CODE_POINTS, kept
from refinery.kernels.core.jit import entry, inlined
from refinery.kernels.core.utf8 import decode, encode


def lowered(view: Texts) -> Texts:
    """The texts in lower case."""
    rows = len(view)
    out, offsets = np.empty(view.size + 2 * HALF, np.uint8), np.zeros(rows + 1, np.int64)
    exact = np.zeros(rows, np.bool_)
    if lower_rows(view.data, view.offsets, view.valid, _rules(), out, offsets, exact):
        again = np.flatnonzero(exact)
        out, offsets = replaced(out, offsets, again, [text.lower() for text in texts_at(view, again)])
    return Texts(out, offsets, view.valid, view.array)


def _rules() -> np.ndarray:
    return kept("lower-case", np.int32, _lower_case)


def _lower_case() -> np.ndarray:
    """Lower case of each code point, -1 where it has several, is longer in UTF-8, or depends on the neighbours."""
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    for char in map(chr, range(CODE_POINTS)):
        small = char.lower()
        if small != char:
            fits = len(small) == 1 and len(small.encode()) <= len(char.encode())
            lower[ord(char)] = ord(small) if fits else -1
    lower[ord("Σ")] = -1
    return lower


@entry("uint8[] int64[] bool[] int32[] uint8[] int64[] bool[] -> int64")
def lower_rows(data, offsets, valid, rules, out, out_offsets, exact):
    """Write texts in lower case; returns the number of those that need Python, which are marked in `exact`."""
    w, count = 0, 0
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            while i + HALF <= end and _is_ascii(data, i):
                copy_lower(data, i, out, w)
                i += HALF
                w += HALF
            stop = min(i + HALF, end)
            while i < stop:
                byte = data[i]
                if byte < 0x80:
                    out[w] = byte | 0x20 if 65 <= byte and byte <= 90 else byte
                    w += 1
                    i += 1
                    continue
                cp, i = decode(data, i)
                exact[row] |= rules[cp] < 0
                w = encode(cp if rules[cp] < 0 else rules[cp], out, w)
        count += exact[row]
        out_offsets[row + 1] = w
    return count


@inlined
def _is_ascii(data, i):
    high = np.uint8(0)
    for j in range(i, i + HALF):
        high |= data[j]
    return high < 0x80
