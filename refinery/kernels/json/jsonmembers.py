"""Kernels that find, leave out, rename and choose members of JSON objects; values are copied byte by byte."""

from __future__ import annotations

from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import copy
from refinery.kernels.json.jsontext import is_space, same_key, skip_space, skip_string, skip_value


@kernel
def _last_member(data, i, end, path, key, key_end, span):
    """Set span to the value of the last member path[key:key_end] of the object at i; returns False without one."""
    there = False
    i = skip_space(data, i + 1, end)
    while i < end and data[i] == 34:
        after = skip_string(data, i, end)
        if after < 0:
            return False
        same = same_key(data, i + 1, after - 1, path, key, key_end)
        i = skip_space(data, skip_space(data, after, end) + 1, end)
        after = skip_value(data, i, end)
        if after < 0:
            return False
        if same:
            there = True
            span[0], span[1] = i, after
        i = skip_space(data, after, end)
        if i < end and data[i] == 44:
            i = skip_space(data, i + 1, end)
    return there


@entry("uint8[] int64[] uint8[] int64[] int64[,]")
def member_spans(data, offsets, path, ends, spans):
    """Find the value of the last member at `path` in each line data[offsets[k]:offsets[k + 1]], a JSON object.

    path: the keys' bytes one after another, key j ends at ends[j]. spans: int64 (rows, 2), start and end in `data`, or -1.
    """
    for k in range(len(spans)):
        span = spans[k]
        span[0], span[1] = skip_space(data, offsets[k], offsets[k + 1]), offsets[k + 1]
        for j in range(len(ends)):
            if span[0] >= span[1] or data[span[0]] != 123:
                span[0] = -1
                break
            if not _last_member(data, span[0], span[1], path, 0 if j == 0 else ends[j - 1], ends[j], span):
                span[0] = -1
                break
        if span[0] < 0:
            span[1] = -1


@kernel
def _drop(data, start, end, path, ends, out, w):
    """Write the line data[start:end] without the members at `path`; returns the position after it."""
    level, last = 0, len(ends) - 1
    copied = start
    i = skip_space(data, start, end) + 1
    while i < end:
        if data[i] == 125:
            if level == 0:
                break
            level -= 1
            i += 1
            continue
        if data[i] != 34:
            i += 1
            continue
        name = i
        i = skip_string(data, i, end)
        same = same_key(data, name + 1, i - 1, path, 0 if level == 0 else ends[level - 1], ends[level])
        i = skip_space(data, skip_space(data, i, end) + 1, end)
        if same and level < last and i < end and data[i] == 123:
            level += 1
            i += 1
            continue
        i = skip_value(data, i, end)
        if i < 0:
            break
        if same and level == last:
            w = copy(data, copied, name, out, w)
            copied = i
            after = skip_space(data, i, end)
            if after < end and data[after] == 44:
                copied = i = skip_space(data, after + 1, end)
            else:
                while is_space(out[w - 1]):
                    w -= 1
                w -= out[w - 1] == 44
    return copy(data, copied, end, out, w)


@entry("uint8[] int64[] uint8[] int64[] uint8[] int64[]")
def without(data, offsets, path, ends, out, out_offsets):
    """Write each line to `out` without the members at `path`. `out` needs the lines' bytes."""
    w = 0
    out_offsets[0] = 0
    for k in range(len(out_offsets) - 1):
        w = _drop(data, offsets[k], offsets[k + 1], path, ends, out, w)
        out_offsets[k + 1] = w


@kernel
def _rename(data, start, end, key, name, out, w):
    """Write the line data[start:end] with `name`, a JSON string, for the outer members `key`; returns the position after."""
    copied = start
    i = skip_space(data, skip_space(data, start, end) + 1, end)
    while i < end and data[i] == 34:
        after = skip_string(data, i, end)
        if after < 0:
            break
        if same_key(data, i + 1, after - 1, key, 0, len(key)):
            w = copy(data, copied, i, out, w)
            w = copy(name, 0, len(name), out, w)
            copied = after
        i = skip_value(data, skip_space(data, skip_space(data, after, end) + 1, end), end)
        if i < 0:
            break
        i = skip_space(data, i, end)
        if i < end and data[i] == 44:
            i = skip_space(data, i + 1, end)
    return copy(data, copied, end, out, w)


@kernel
def _count(data, start, end, key):
    """Number of outer members `key` of the line data[start:end]."""
    count = 0
    i = skip_space(data, skip_space(data, start, end) + 1, end)
    while i < end and data[i] == 34:
        after = skip_string(data, i, end)
        if after < 0:
            break
        count += same_key(data, i + 1, after - 1, key, 0, len(key))
        i = skip_value(data, skip_space(data, skip_space(data, after, end) + 1, end), end)
        if i < 0:
            break
        i = skip_space(data, i, end)
        if i < end and data[i] == 44:
            i = skip_space(data, i + 1, end)
    return count


@entry("uint8[] int64[] int64 uint8[] -> int64")
def count_members(data, offsets, rows, key):
    """Number of outer members `key` of the first `rows` lines."""
    count = 0
    for k in range(rows):
        count += _count(data, offsets[k], offsets[k + 1], key)
    return count


@entry("uint8[] int64[] uint8[] uint8[] uint8[] int64[]")
def renamed(data, offsets, key, name, out, out_offsets):
    """Write each line to `out` with `name`, a JSON string, for its outer members `key`.

    `out` needs the lines' bytes, and the name's for each member of that key.
    """
    w = 0
    out_offsets[0] = 0
    for k in range(len(out_offsets) - 1):
        w = _rename(data, offsets[k], offsets[k + 1], key, name, out, w)
        out_offsets[k + 1] = w


@entry("uint8[] int64[,] uint8[] int64[] uint8[] int64[]")
def chosen(data, spans, names, ends, out, out_offsets):
    """Write one line for each row: an object of the values at its spans, under the names.

    spans: int64 (rows * names, 2), of a row one after another; a value of -1 is left out. names: JSON strings with a colon
    one after another, name j ends at ends[j]. `out` needs the values and names, and two bytes for each and three for a row.
    """
    w, at = 0, 0
    out_offsets[0] = 0
    for k in range(len(out_offsets) - 1):
        out[w] = 123
        w += 1
        first = True
        for j in range(len(ends)):
            if spans[at, 0] >= 0:
                if not first:
                    out[w], out[w + 1] = 44, 32
                    w += 2
                first = False
                w = copy(names, 0 if j == 0 else ends[j - 1], ends[j], out, w)
                w = copy(data, spans[at, 0], spans[at, 1], out, w)
            at += 1
        out[w], out[w + 1] = 125, 10
        w += 2
        out_offsets[k + 1] = w
