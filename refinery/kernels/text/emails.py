"""Find and replace e-mail addresses: Data-Juicer's default pattern without a regex engine.

A match has one @, for none of the pattern's classes holds another. The part before the @ is the longest run of the
first class that the previous match leaves. Behind the @, backtracking gives up characters until a dot and a letter
follow, so the last dot with a letter behind it in the run of the second class decides.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.kernels.core import arrow
from refinery.kernels.core.arrow import CHANGED
from refinery.kernels.core.blocks import BLOCK, at_signs, first_set
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import copy, same
from refinery.kernels.text.patterns import sub, whole_match_pieces
from refinery.kernels.text.replacing import emit, template

EMAIL_PATTERN = r"[A-Za-z0-9.\-+_]+@[a-z0-9.\-+_]+\.[a-z]+"  # a fact about Data-Juicer 1.6.1

LOCAL, DOMAIN, LOWER = 1, 2, 4  # the pattern's classes
AT, DOT = 0x40, 0x2E


@lru_cache(maxsize=1)
def kinds() -> np.ndarray:
    """Classes of the pattern that each byte belongs to, uint8 (256)."""
    table = np.zeros(256, np.uint8)
    table[ord("A") : ord("Z") + 1] = LOCAL
    table[ord("a") : ord("z") + 1] = LOCAL | DOMAIN | LOWER
    for char in "0123456789.-+_":
        table[ord(char)] = LOCAL | DOMAIN
    return table


@kernel
def _next_at(data, i, end):
    """Position of the next @, or `end`."""
    while i < end and i + BLOCK <= len(data):
        found = at_signs(data, i)
        if found:
            return min(i + first_set(found), end)
        i += BLOCK
    while i < end and data[i] != AT:
        i += 1
    return min(i, end)


@kernel
def _match(data, at, low, end, kinds):
    """Start and end of the match around the @ at position `at`, from `low` on; the end is -1 without a match."""
    start = at
    while start > low and kinds[data[start - 1]] & LOCAL:
        start -= 1
    if start == at:
        return at, -1
    stop = at + 1
    dot = -1
    while stop < end and kinds[data[stop]] & DOMAIN:
        if kinds[data[stop]] & LOWER and data[stop - 1] == DOT and stop - 1 > at + 1:
            dot = stop - 1
        stop += 1
    if dot < 0:
        return at, -1
    stop = dot + 1
    while stop < end and kinds[data[stop]] & LOWER:
        stop += 1
    return start, stop


@kernel
def _replace_row(data, low, high, out, w, literals, bounds, kinds):
    """Write data[low:high] with its matches replaced; returns (changed, position after it or -1 without room)."""
    done = low
    at = _next_at(data, low, high)
    while at < high:
        start, end = _match(data, at, done, high, kinds)
        if end >= 0:
            w = emit(data, done, start, end, out, w, literals, bounds)
            if w < 0:
                return True, w
            done = end
        at = _next_at(data, max(at + 1, done), high)
    if done == low:
        return False, w
    if w + high - done > len(out):
        return True, -1
    return True, copy(data, done, high, out, w)


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] int64[] uint8[]")
def replace(data, offsets, valid, out, out_offsets, state, literals, bounds, kinds):
    """Kernel for `arrow.delta`: replace addresses by `literals` and `bounds` (see `replacing.template`)."""
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            low, high = offsets[row], offsets[row + 1]
            found, end = _replace_row(data, low, high, out, w, literals, bounds, kinds)
            if end < 0:
                return -1
            if found and not same(data, low, high, out, w, end):
                state[row] = CHANGED
                w = end
        out_offsets[row + 1] = w
    return w


def clean_emails(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(EMAIL_PATTERN, repl, text)` of every text; NULL where nothing changes.

    A `repl` with other escapes than the whole match goes through `patterns.sub`, which raises for an invalid template.
    """
    pieces = whole_match_pieces(repl)
    if pieces is None:
        return sub(column, EMAIL_PATTERN, repl)
    return arrow.delta(column, replace, *template(pieces), kinds())
