"""JSON text in kernels: ends of values, extraction of strings, tests for members."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import BLOCK
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import byte_at
from refinery.kernels.core.scan import copy_block, is_special, skip_flat, skip_text
from refinery.kernels.core.utf8 import decode, encode

# Deeper nesting is refused: Python's own reader fails at a thousand levels.
MAX_DEPTH = 500


@inlined
def is_space(b):
    return b == 32 or b == 10 or b == 13 or b == 9


@entry("uint8[] int64 int64 -> int64")
def skip_space(data, i, end):
    while i < end and is_space(data[i]):
        i += 1
    return i


@kernel
def skip_string(data, i, end):
    """Position after the string whose opening quote is at i, or -1 when it does not end before `end`."""
    i = skip_text(data, i + 1, end)
    while i < end:
        b = data[i]
        if b == 34:
            return i + 1
        i = skip_text(data, i + (2 if b == 92 else 1), end)
    return -1


@kernel
def skip_value(data, i, end):
    """Position after the JSON value that starts at i, or -1 when it does not end before `end`.

    A number or word ends where its neighbour starts, or at `end`; junk counts as a word, so every call advances.
    """
    if i >= end:
        return -1
    b = data[i]
    if b == 34:
        return skip_string(data, i, end)
    if b != 123 and b != 91:
        i += 1
        while i < end:
            b = data[i]
            if is_space(b) or b == 44 or b == 93 or b == 125:
                return i
            i += 1
        return end
    depth = 0
    while i < end:
        b = data[i]
        if b == 34:
            i = skip_string(data, i, end)
            if i < 0:
                return -1
        elif b == 123 or b == 91:
            depth += 1
            i += 1
        elif b == 125 or b == 93:
            depth -= 1
            i += 1
            if depth == 0:
                return i
        else:
            i = skip_flat(data, i, end)
    return -1


# Reasons for which `elements` stops.
FULL, MORE, UNFINISHED, CLOSED, OPENED = 0, 1, 2, 3, 4


@entry("uint8[] int64 int64 bool bool int64[] int64[] -> int64 int64 int64")
def elements(data, start, end, array, final, starts, ends):
    """Find the values of a sequence: the elements of an array (after its bracket), or consecutive values.

    Fills `starts` and `ends`. Returns (count, position to resume at, reason). FULL: no room for more. MORE: more bytes
    are needed. CLOSED: the array's bracket was reached. OPENED: behind consecutive values an array starts. UNFINISHED: the
    value at that position has no end.
    """
    n = 0
    i = start
    while True:
        while i < end and (is_space(data[i]) or (array and data[i] == 44)):
            i += 1
        if i >= end:
            return n, i, MORE
        if array and data[i] == 93:
            return n, i + 1, CLOSED
        if not array and data[i] == 91:
            return n, i + 1, OPENED
        if n == len(starts):
            return n, i, FULL
        p = skip_value(data, i, end)
        if p < 0 and final:
            return n, i, UNFINISHED
        if p < 0 or (p == end and not final):  # a number at the end of the data may continue
            return n, i, MORE
        starts[n] = i
        ends[n] = p
        n += 1
        i = p


@entry("uint8[] int64[] int64[] uint8[] int64[] -> int64")
def one_line(data, starts, ends, out, offsets):
    """Copy values to `out`, each as one line: line breaks between tokens are left out.

    `out` needs the values' bytes and one more for each. A value on one line is copied as it is.
    """
    w = 0
    offsets[0] = 0
    for k in range(len(starts)):
        i, end = starts[k], ends[k]
        while i < end:
            b = data[i]
            if b == 34:
                p = skip_string(data, i, end)
                p = end if p < 0 else p
                while i < p:
                    out[w] = data[i]
                    w += 1
                    i += 1
                continue
            if is_space(b):
                p = skip_space(data, i, end)
                broken = False
                for q in range(i, p):
                    if data[q] == 10 or data[q] == 13:
                        broken = True
                while not broken and i < p:
                    out[w] = data[i]
                    w += 1
                    i += 1
                i = p
                continue
            out[w] = b
            w += 1
            i += 1
        out[w] = 10
        w += 1
        offsets[k + 1] = w
    return w


# Members found


@inlined
def escaped(letter):
    """Character (uint8) of the escape with this letter; 0: no such escape, or a longer one."""
    # A selection without branches: the next letter is unpredictable.
    b = np.uint8(letter)
    byte = b if b == 34 or b == 92 or b == 47 else np.uint8(0)
    byte = np.uint8(10) if b == 110 else byte
    byte = np.uint8(9) if b == 116 else byte
    byte = np.uint8(13) if b == 114 else byte
    byte = np.uint8(8) if b == 98 else byte
    return np.uint8(12) if b == 102 else byte


@kernel
def hex4(data, i, end):
    """Value of the four hexadecimal digits at i, or -1."""
    if i + 4 > end:
        return -1
    value = 0
    for k in range(i, i + 4):
        b = int(data[k])
        if 48 <= b <= 57:
            digit = b - 48
        elif 65 <= b <= 70:
            digit = b - 55
        elif 97 <= b <= 102:
            digit = b - 87
        else:
            return -1
        value = value * 16 + digit
    return value


@kernel
def same_key(data, i, end, key, k, key_end):
    """True if the key data[i:end], without its quotes and with escapes, equals key[k:key_end]."""
    while i < end:
        b = int(data[i])
        if b != 92:
            if k >= key_end or key[k] != b:
                return False
            i += 1
            k += 1
            continue
        b = data[i + 1]
        i += 2
        if b != 117:
            b = 8 if b == 98 else 12 if b == 102 else 10 if b == 110 else 13 if b == 114 else 9 if b == 116 else b
            if k >= key_end or key[k] != b:
                return False
            k += 1
            continue
        cp = hex4(data, i, end)
        i += 4
        if 0xD800 <= cp < 0xDC00 and i + 6 <= end:
            cp = 0x10000 + ((cp - 0xD800) << 10) + (hex4(data, i + 2, end) - 0xDC00)
            i += 6
        if cp < 0 or k >= key_end:
            return False
        seen, k = decode(key, k)
        if seen != cp:
            return False
    return k == key_end


@kernel
def _put_long_escape(data, i, end, out, w):
    """Write the character whose \\u escape starts at i; returns (position after it, or -1, position in `out`)."""
    if i + 1 >= end or data[i + 1] != 117:
        return -1, w
    cp = hex4(data, i + 2, end)
    i += 6
    if 0xD800 <= cp < 0xE000:
        low = hex4(data, i + 2, end) if i + 6 <= end and data[i] == 92 and data[i + 1] == 117 else -1
        if cp >= 0xDC00 or low < 0xDC00 or low >= 0xE000:
            return -1, w
        cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00)
        i += 6
    return (i, encode(cp, out, w)) if cp >= 0 else (-1, w)


@kernel
def put_string(data, i, end, out, w):
    """Write the text of the string whose opening quote is at i; returns (position after it, position in `out`).

    The position is -1 for a malformed string. `out` must have room for its bytes and a block.
    """
    i += 1
    while i < end:
        if i + BLOCK <= len(data):
            count = copy_block(data, i, out, w)
            i += count
            w += count
            if count == BLOCK:
                continue
            if i >= end:
                return -1, w
        b = byte_at(data, i)
        if not is_special(b):
            out[w] = b
            i += 1
            w += 1
            continue
        if b != 92:
            return (i + 1 if b == 34 else -1), w
        letter = escaped(byte_at(data, i + 1)) if i + 1 < end else np.uint8(0)
        if letter != 0:
            out[w] = letter
            i += 2
            w += 1
            continue
        i, w = _put_long_escape(data, i, end, out, w)
        if i < 0:
            return -1, w
    return -1, w


@kernel
def _member_text(data, i, end, key, span, out, w):
    """Write the text of the last member `key` of the object data[i:end]; returns the position after it, -1: none.

    span: int64 (2), start and end of its value when no other member has that name, else -1.
    """
    span[0] = -1
    text_end = -1
    times = 0
    i = skip_space(data, i, end)
    if i >= end or data[i] != 123:
        return -1
    i = skip_space(data, i + 1, end)
    while i < end and data[i] == 34:
        after = skip_string(data, i, end)
        if after < 0:
            return -1
        same = same_key(data, i + 1, after - 1, key, 0, len(key))
        i = skip_space(data, after, end)
        if i >= end or data[i] != 58:
            return -1
        i = skip_space(data, i + 1, end)
        if i >= end:
            return -1
        times += same
        if same and data[i] == 34:
            after, text_end = put_string(data, i, end, out, w)
            span[0], span[1] = i, after
        else:
            after = skip_value(data, i, end)
            text_end = -1 if same else text_end
        if after < 0:
            return -1
        i = skip_space(data, after, end)
        if i < end and data[i] == 44:
            i = skip_space(data, i + 1, end)
    if times > 1:
        span[0] = -1
    return text_end if i < end and data[i] == 125 else -1


@entry("uint8[] int64[] uint8[] int64[,] uint8[] int64[] bool[]")
def member_texts(data, offsets, key, spans, out, out_offsets, valid):
    """Extract the text of the last member `key` from each line, data[offsets[k]:offsets[k + 1]], a JSON object.

    `valid` is False where there is no such member, its value is no text, or the line is malformed. spans: int64
    (rows, 2), start and end of the value in its line when only one member has that name and it is a text, else -1.
    `out` needs the lines' bytes and BLOCK more, and receives the texts one after another.
    """
    w = 0
    out_offsets[0] = 0
    for k in range(len(valid)):
        start = offsets[k]
        after = _member_text(data, start, offsets[k + 1], key, spans[k], out, w)
        valid[k] = after >= 0
        if valid[k]:
            w = after
        if valid[k] and spans[k, 0] >= 0:
            spans[k, 0] -= start
            spans[k, 1] -= start
        else:
            spans[k, 0] = spans[k, 1] = -1
        out_offsets[k + 1] = w


@kernel
def _has_member(data, i, end, key):
    """True if the valid object data[i:end] has a member `key`."""
    i = skip_space(data, skip_space(data, i, end) + 1, end)
    while i < end and data[i] == 34:
        after = skip_string(data, i, end)
        if after < 0 or same_key(data, i + 1, after - 1, key, 0, len(key)):
            return True
        i = skip_value(data, skip_space(data, skip_space(data, after, end) + 1, end), end)
        if i < 0:
            return True
        i = skip_space(data, i, end)
        if i < end and data[i] == 44:
            i = skip_space(data, i + 1, end)
    return False


@entry("uint8[] int64[] uint8[] bool[]")
def lacking(data, offsets, key, absent):
    """Mark each line data[offsets[k]:offsets[k + 1]], a JSON object, that has no member `key`."""
    for k in range(len(absent)):
        absent[k] = not _has_member(data, offsets[k], offsets[k + 1], key)
