"""Strict check that a text is a JSON object: DuckDB's reader accepts trailing commas, other readers do not."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import BLOCK, first_set
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.memory import byte_at
from refinery.kernels.core.scan import specials
from refinery.kernels.json.jsonkeys import FULL, LONGEST, NEW, ROOM, forget, remember
from refinery.kernels.json.jsontext import MAX_DEPTH, escaped, hex4, skip_space


@kernel
def _check_escape(data, i, end):
    """Position after the escape whose backslash is at i, or -1: unknown, cut off, or half a surrogate pair."""
    if i + 1 >= end:
        return -1
    b = data[i + 1]
    if b != 117:
        return i + 2 if escaped(b) != 0 else -1
    unit = hex4(data, i + 2, end)
    if unit < 0 or 0xDC00 <= unit < 0xE000:
        return -1
    i += 6
    if unit < 0xD800 or unit >= 0xE000:
        return i
    if i + 6 > end or data[i] != 92 or data[i + 1] != 117:
        return -1
    unit = hex4(data, i + 2, end)
    return i + 6 if 0xDC00 <= unit < 0xE000 else -1


@kernel
def _check_string(data, i, end):
    """Position after the string whose opening quote is at i, or -1 when it is malformed."""
    i += 1
    while i < end and i + BLOCK <= len(data):
        hits = specials(data, i)
        after = i + BLOCK
        while hits != 0:
            place = first_set(hits)
            at = i + place
            b = byte_at(data, at)
            if at >= end or b < 32:
                return -1
            if b == 34:
                return at + 1
            if at + 1 < end and escaped(byte_at(data, at + 1)) != 0:
                hits &= ~(np.uint64(3) << np.uint64(place))
                after = max(after, at + 2)
                continue
            after = _check_escape(data, at, end)
            if after < 0:
                return -1
            break
        i = after
    while i < end:
        b = data[i]
        if b == 34:
            return i + 1
        if b == 92:
            i = _check_escape(data, i, end)
            if i < 0:
                return -1
        elif b < 32:
            return -1
        else:
            i += 1
    return -1


@kernel
def _digits(data, i, end):
    while i < end and 48 <= data[i] <= 57:
        i += 1
    return i


@kernel
def _is_word(data, i, end, word):
    if i + len(word) > end:
        return False
    for k in range(len(word)):
        if data[i + k] != word[k]:
            return False
    return True


_TRUE, _FALSE, _NULL = tuple(b"true"), tuple(b"false"), tuple(b"null")
_NAN, _INFINITY = tuple(b"NaN"), tuple(b"Infinity")


@kernel
def _check_scalar(data, i, end):
    """Position after the number or word at i, or -1. NaN, Infinity and -Infinity pass, as in Python and Arrow."""
    b = data[i]
    if b == 116:
        return i + 4 if _is_word(data, i, end, _TRUE) else -1
    if b == 102:
        return i + 5 if _is_word(data, i, end, _FALSE) else -1
    if b == 110:
        return i + 4 if _is_word(data, i, end, _NULL) else -1
    if b == 78:
        return i + 3 if _is_word(data, i, end, _NAN) else -1
    if b == 45:
        i += 1
    if i < end and data[i] == 73:
        return i + 8 if _is_word(data, i, end, _INFINITY) else -1
    first = i
    i = _digits(data, i, end)
    if i == first or (data[first] == 48 and i > first + 1):
        return -1
    if i < end and data[i] == 46:
        first = i + 1
        i = _digits(data, first, end)
        if i == first:
            return -1
    if i < end and (data[i] == 101 or data[i] == 69):
        i += 1
        if i < end and (data[i] == 43 or data[i] == 45):
            i += 1
        first = i
        i = _digits(data, first, end)
        if i == first:
            return -1
    return i


# Kinds of a text: no JSON object, a JSON object, an object that may have a key twice.
OTHER, OBJECT, REPEATING, CROWDED = 0, 1, 2, 3


@kernel
def _is_object(data, i, end, stack, owners, table, used, text):
    """Check whether data[i:end] is one valid JSON object and white space; CROWDED: more keys than fit in `used`.

    stack: uint8, owners: int64 (MAX_DEPTH each), scratch. table, used, text: as in `remember`.
    """
    i = skip_space(data, i, end)
    if i >= end or data[i] != 123:
        return OTHER
    verdict = OBJECT
    depth = opens = keys = 0
    after_value = False  # else a value must follow, or after a bracket possibly its end
    opened = False
    while True:
        i = skip_space(data, i, end)
        if i >= end:
            break
        b = data[i]
        if after_value or (opened and (b == 125 or b == 93)):
            closing = 125 if stack[depth - 1] == 123 else 93
            if b == closing:
                depth -= 1
                i += 1
                if depth == 0:
                    forget(table, used, keys)
                    return verdict if skip_space(data, i, end) == end else OTHER
                after_value, opened = True, False
                continue
            if b != 44 or opened:
                break
            i = skip_space(data, i + 1, end)
            if i >= end:
                break
            b = data[i]
        if depth > 0 and stack[depth - 1] == 123:
            if b != 34:
                break
            key = i + 1
            i = _check_string(data, i, end)
            if i < 0:
                break
            new = remember(data, key, i - 1, owners[depth - 1], table, used, keys, text)
            if new == NEW:
                keys += 1
            elif new == FULL:
                forget(table, used, keys)
                return CROWDED
            else:
                verdict = REPEATING
            i = skip_space(data, i, end)
            if i >= end or data[i] != 58:
                break
            i = skip_space(data, i + 1, end)
            if i >= end:
                break
            b = data[i]
        opened = b == 123 or b == 91
        after_value = not opened
        if opened:
            if depth == len(stack):
                break
            stack[depth] = b
            owners[depth] = opens
            opens += 1
            depth += 1
            i += 1
        else:
            i = _check_string(data, i, end) if b == 34 else _check_scalar(data, i, end)
            if i < 0:
                break
    forget(table, used, keys)
    return OTHER


def objects(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, kinds: np.ndarray) -> int:
    """Write the kind of each data[starts[i]:ends[i]]: OBJECT (NaN and Infinity allowed), REPEATING, or OTHER.

    data, kinds: uint8. starts, ends: int64. Returns the number of texts that are not OBJECT. An object is REPEATING when
    it has a key twice at any depth, in any spelling; rarely also without a repeated key.
    """
    stack, owners, text = (
        np.zeros(MAX_DEPTH, np.uint8),
        np.zeros(MAX_DEPTH, np.int64),
        np.zeros(LONGEST + 2 * BLOCK, np.uint8),
    )
    done, room = 0, ROOM
    while done < len(kinds):
        table, used = np.zeros(4 * room, np.uint64), np.zeros(room, np.int64)
        done, room = _objects(data, starts, ends, kinds, done, stack, owners, table, used, text), 4 * room
    return int(np.count_nonzero(kinds != OBJECT))


@entry("uint8[] int64[] int64[] uint8[] int64 uint8[] int64[] uint64[] int64[] uint8[] -> int64")
def _objects(data, starts, ends, kinds, first, stack, owners, table, used, text):
    """Write the kinds from number `first` on; returns the number of the first object with more keys than `used` holds."""
    for i in range(first, len(kinds)):
        kind = _is_object(data, starts[i], ends[i], stack, owners, table, used, text)
        if kind == CROWDED:
            return i
        kinds[i] = kind
    return len(kinds)
