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
from refinery.kernels.core.blocks import BLOCK, at_signs, first_set
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.text.patterns import EMAIL_PATTERN, sub, whole_match_pieces
from refinery.kernels.text.replacing import replacer, template

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
def _next_at(data, i, end, tables):
    """Position of the next @, or `end`."""
    while i < end and i + BLOCK <= len(data):
        hits = at_signs(data, i)
        if hits:
            return min(i + first_set(hits), end)
        i += BLOCK
    while i < end and data[i] != AT:
        i += 1
    return min(i, end)


@kernel
def _match(data, at, low, end, done, tables):
    """Start and end of the match around the @ at position `at`, from `done` on; the end is -1 without a match."""
    kinds = tables[0]
    start = at
    while start > done and kinds[data[start - 1]] & LOCAL:
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


_replace_rows = replacer(_next_at, _match)


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] int64[] uint8[] -> int64")
def replace(data, offsets, valid, out, out_offsets, state, literals, bounds, kinds):
    """Kernel for `arrow.delta`: replace addresses (see `replacing.replacer`)."""
    return _replace_rows(data, offsets, valid, out, out_offsets, state, literals, bounds, (kinds,))


def clean_emails(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(EMAIL_PATTERN, repl, text)` of every text; NULL where nothing changes.

    A `repl` with other escapes than the whole match goes through `patterns.sub`, which raises for an invalid template.
    """
    pieces = whole_match_pieces(repl)
    if pieces is None:
        return sub(column, EMAIL_PATTERN, repl)
    return arrow.delta(column, replace, *template(pieces), kinds())
