"""Tokens of a text by white space, as fastText or as Python cuts it; and the longest token, also of word segments.

fastText cuts at seven bytes only, and a line feed is one more token, `</s>`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import BLOCK, any_of, first_set, is_byte, lanes, wide, within
from refinery.kernels.core.charclass import ALNUM, SPACE, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.unicode.word_segments import segment

FASTTEXT, SPLIT, UNISEG = range(3)
MODELS = {"fasttext": FASTTEXT, "split": SPLIT, "uniseg": UNISEG}
BY_FIRST, INKED = 4, 8  # kinds of tokens: a model, and these if only some of its tokens count

FIELDS = ("segments", "python_ink", "alnum_first", "space_first")

LINE_FEED = 0x0A

_cuts = lanes(lambda x: any_of(is_byte(x, b" "), within(x, 0x09, 0x0D), is_byte(x, b"\0")))
_blanks = lanes(lambda x: within(x, 0x00, 0x20))


def token_counts(column: pa.Array | pa.ChunkedArray, model: str | None) -> pa.Array:
    """Numbers of the tokens of each text by `fasttext` or `split`, as a struct; NULL for NULL.

    segments: all. python_ink: with a character that is not `str.isspace`. alnum_first, space_first: whose first character
    is `str.isalnum` or `str.isspace`.
    """
    view = texts(column)
    counts = np.zeros((len(view), len(FIELDS)), np.int64)
    _count_rows(view.data, view.offsets, view.valid, MODELS[model or "split"], classes(), counts)
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry("uint8[] int64[] bool[] int64 uint8[] int64[,]")
def _count_rows(data, offsets, valid, model, class_table, counts):
    for row in range(len(valid)):
        if valid[row]:
            _count(data, offsets[row], offsets[row + 1], model, class_table, counts[row])


@kernel
def _count(data, i, end, model, class_table, counts):
    while i < end:
        stop = token_end(data, i, end, model, class_table)
        if stop > i:
            bits = class_table[decode(data, i)[0]]
            counts[0] += 1
            counts[2] += bits & ALNUM != 0
            counts[3] += bits & SPACE != 0
            counts[1] += not bits & SPACE or _has_ink(data, i, stop, class_table)
        i = stop
        if i < end:
            feed = model == FASTTEXT and data[i] == LINE_FEED
            counts[0] += feed
            counts[1] += feed
            i = decode(data, i)[1]


@inlined
def token_end(data, i, end, model, class_table):
    """End of the token at i; i itself at a character that separates tokens."""
    if model == FASTTEXT:
        return _fasttext_end(data, i, end)
    return _split_end(data, i, end, class_table)


@kernel
def _fasttext_end(data, i, end):
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(_cuts(data, i))
            i += run
            if run < BLOCK:
                return min(i, end)
        elif data[i] == 0 or data[i] == 32 or 9 <= data[i] <= 13:
            return i
        else:
            i += 1
    return end


@kernel
def _split_end(data, i, end, class_table):
    while i < end:
        if i + BLOCK <= len(data):
            i += first_set(_blanks(data, i) | wide(data, i))
            if i >= end:
                return end
        cp, after = decode(data, i)
        if class_table[cp] & SPACE:
            return i
        i = after
    return end


@kernel
def _has_ink(data, i, end, class_table):
    while i < end:
        cp, i = decode(data, i)
        if not class_table[cp] & SPACE:
            return True
    return False


@kernel
def longest_token(data, i, end, kind, class_table, properties):
    """Characters of the longest token of a line.

    kind: a model; plus INKED if only tokens with more than white space count, plus BY_FIRST if only those that begin with a
    letter or digit, or without INKED with white space.
    """
    longest = 0
    model = kind & 3
    while i < end:
        if model == UNISEG:
            stop, _ = segment(data, i, end, properties)
        else:
            stop = token_end(data, i, end, model, class_table)
        size = _chars(data, i, stop)
        if size > longest and _counts(data, i, stop, kind, class_table):
            longest = size
        i = stop if stop > i else decode(data, i)[1]
    return longest


@inlined
def _counts(data, i, stop, kind, class_table):
    bits = class_table[decode(data, i)[0]]
    if kind & BY_FIRST:
        return bits & ALNUM != 0 or (not kind & INKED and bits & SPACE != 0)
    return not kind & INKED or not bits & SPACE or _has_ink(data, i, stop, class_table)


@kernel
def _chars(data, i, end):
    inner = 0
    for k in range(i, end):
        inner += (data[k] & 0xC0) == 0x80
    return end - i - inner
