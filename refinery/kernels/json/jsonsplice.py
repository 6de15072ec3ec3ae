"""Kernels that replace values of JSON members; every other byte stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from refinery.kernels.core.blocks import BLOCK
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.scan import copy_block
from refinery.kernels.core.utf8 import copy
from refinery.kernels.json.jsontext import is_space, same_key, skip_space, skip_string, skip_value


@kernel
def _put(data, start, end, out, w):
    """Copy data[start:end] to out[w:]; returns the position after it, or -1 without room."""
    if w < 0 or w + (end - start) > len(out):
        return -1
    return copy(data, start, end, out, w)


@kernel
def _put_quoted(data, start, end, out, w, short):
    """Write data[start:end] as a JSON string: quotes, backslashes and control characters escaped, nothing else.

    short: uint8 (256), the letter after the backslash, 117 for the long form, 0 for no escape. Returns the position
    after it; -1 when less than a block of room is left on the way.
    """
    if w < 0 or w + BLOCK > len(out):
        return -1
    out[w] = 34
    w += 1
    i = start
    while True:
        if w + BLOCK > len(out):
            return -1
        if i >= end:
            break
        if i + BLOCK <= len(data):
            count = copy_block(data, i, out, w)
            step = min(count, end - i)
            i += step
            w += step
            if count == BLOCK or i >= end or w + 8 > len(out):
                continue
        b = data[i]
        letter = short[b]
        if letter == 0:
            out[w] = b
            i += 1
            w += 1
            continue
        out[w] = 92
        out[w + 1] = letter
        w += 2
        i += 1
        if letter == 117:
            low = b & 15
            out[w] = 48
            out[w + 1] = 48
            out[w + 2] = 48 + (b >> 4)
            out[w + 3] = low + 48 if low < 10 else low + 87
            w += 4
    out[w] = 34
    return w + 1


@kernel
def _put_ascii(first, second, out, w):
    if w < 0 or w + 2 > len(out):
        return -1
    out[w] = first
    out[w + 1] = second
    return w + 2


@kernel
def _put_value(value, start, end, quote, short, out, w):
    return _put_quoted(value, start, end, out, w, short) if quote else _put(value, start, end, out, w)


@kernel
def _put_member(data, i, level, path, ends, value, start, end, quote, short, out, w):
    """Write the missing members path[level:], each nested in the previous one, and the value before the brace at i."""
    before = i - 1
    while is_space(data[before]):
        before -= 1
    if data[before] != 123 and data[before] != 44:
        w = _put_ascii(44, 32, out, w)
    for k in range(level, len(ends)):
        if k > level:
            w = _put_ascii(123, 32, out, w)
        w = _put_quoted(path, 0 if k == 0 else ends[k - 1], ends[k], out, w, short)
        w = _put_ascii(58, 32, out, w)
    w = _put_value(value, start, end, quote, short, out, w)
    for _ in range(level, len(ends) - 1):
        w = _put_ascii(32, 125, out, w)
    return w


@kernel
def _set_member(data, start, end, path, ends, matched, value, v_start, v_end, quote, short, out, w):
    """Write the object data[start:end] with the value set for every member at `path`, else the member appended.

    Returns the position after it; -1: no room; -2: something on the path is no object.
    """
    last = len(ends) - 1
    level = 0
    matched[0] = False
    copied = start
    i = skip_space(data, start, end) + 1
    while i < end:
        b = data[i]
        if b == 125:
            if not matched[level]:
                back = i
                while is_space(data[back - 1]):
                    back -= 1
                w = _put(data, copied, back, out, w)
                w = _put_member(data, i, level, path, ends, value, v_start, v_end, quote, short, out, w)
                copied = back
            if level == 0:
                return _put(data, copied, end, out, w)
            level -= 1
            i += 1
            continue
        if b != 34:
            i += 1
            continue
        key = i + 1
        i = skip_string(data, i, end)
        if i < 0:
            return -2
        same = same_key(data, key, i - 1, path, 0 if level == 0 else ends[level - 1], ends[level])
        i = skip_space(data, skip_space(data, i, end) + 1, end)
        if same and level < last and i < end and data[i] == 123:
            matched[level] = True
            level += 1
            matched[level] = False
            i += 1
            continue
        after = skip_value(data, i, end)
        if after < 0 or (same and level < last):
            return -2
        if same:
            matched[level] = True
            w = _put(data, copied, i, out, w)
            w = _put_value(value, v_start, v_end, quote, short, out, w)
            copied = after
        i = after
    return -2


@entry("uint8[] int64[] int64[] int64[,] -> int64")
def runs(data, offsets, rows, bounds):
    """Write runs of neighbouring lines among `rows` as [start, end) in `data` to `bounds`; returns their number.

    Returns -1 when they do not fit, or a line does not end in one line feed with no white space before it.
    """
    count = 0
    for k in range(len(rows)):
        start, end = offsets[rows[k]], offsets[rows[k] + 1]
        if end - start < 2 or data[end - 1] != 10 or is_space(data[end - 2]):
            return -1
        if count > 0 and bounds[count - 1, 1] == start:
            bounds[count - 1, 1] = end
            continue
        if count == len(bounds):
            return -1
        bounds[count, 0] = start
        bounds[count, 1] = end
        count += 1
    return count


def splice(*arguments: Any) -> int:
    """Write lines `rows`, with member `path` of the k-th line set to value k (unchanged where value k is invalid).

    spans: int64 (rows, 2), start and end of the member's value in each line, -1 where the kernel must search for it.
    path: the keys' bytes one after another, key k ends at ends[k]. quote: the values are texts, to be written as JSON
    strings; else they are JSON. White space after a line is dropped, one line feed ends each. Returns the bytes
    written; -1 without room; -2 - k when something on the path is no object in the k-th line.

    arguments: data, offsets, rows, spans, path, ends, value, v_offsets, v_valid, quote, short, out, out_offsets.
    """
    matched = np.zeros(len(arguments[5]) + 1, np.bool_)
    used: int = _splice(*arguments, matched)
    return used


@entry(
    "uint8[] int64[] int64[] int64[,] uint8[] int64[] uint8[] int64[] bool[] bool uint8[] uint8[] int64[] bool[] -> int64"
)
def _splice(data, offsets, rows, spans, path, ends, value, v_offsets, v_valid, quote, short, out, out_offsets, matched):
    """`splice`, with room for a flag per level of the path."""
    w = 0
    for k in range(len(rows)):
        start, end = offsets[rows[k]], offsets[rows[k] + 1]
        while end > start and is_space(data[end - 1]):
            end -= 1
        at = spans[rows[k], 0] if v_valid[k] else -1
        if at >= 0:
            w = _put(data, start, start + at, out, w)
            w = _put_value(value, v_offsets[k], v_offsets[k + 1], quote, short, out, w)
            w = _put(data, start + spans[rows[k], 1], end, out, w)
        elif v_valid[k]:
            w = _set_member(
                data, start, end, path, ends, matched, value, v_offsets[k], v_offsets[k + 1], quote, short, out, w
            )
        else:
            w = _put(data, start, end, out, w)
        if w == -2:
            return -2 - k
        if w < 0 or w == len(out):
            return -1
        out[w] = 10
        w += 1
        out_offsets[k + 1] = w
    return w


@entry("uint8[] int64[] int64[,] uint8[] int64[]")
def emptied(data, offsets, spans, out, out_offsets):
    """Write each line data[offsets[k]:offsets[k + 1]] to `out` with "" for its value at spans[k]; -1: unchanged.

    `out` needs room for the lines without these values, and two bytes per line.
    """
    w = 0
    out_offsets[0] = 0
    for k in range(len(spans)):
        start, end = offsets[k], offsets[k + 1]
        if spans[k, 0] >= 0:
            w = copy(data, start, start + spans[k, 0], out, w)
            out[w] = out[w + 1] = 34
            w += 2
            start += spans[k, 1]
        w = copy(data, start, end, out, w)
        out_offsets[k + 1] = w
