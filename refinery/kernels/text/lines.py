"""Lines and CSV records in the bytes of files: search, and checks that they are UTF-8.

A line ends after its line feed.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import BLOCK, wide
from refinery.kernels.core.jit import entry, inlined, kernel

GOOD, BLANK, NOT_UTF8 = 0, 1, 2

FULL, MORE, UNFINISHED = 0, 1, 2  # reasons for which `records` stops


@inlined
def _wrong(b, p1, p2, p3):
    """Return 1 if byte b cannot follow the three bytes before it (p1 is the nearest) in UTF-8; uint8 in and out."""
    lead = np.uint8(p1 >= np.uint8(0xC0)) | np.uint8(p2 >= np.uint8(0xE0)) | np.uint8(p3 >= np.uint8(0xF0))
    wrong = lead ^ np.uint8((b & np.uint8(0xC0)) == np.uint8(0x80))
    wrong |= np.uint8(b == np.uint8(0xC0)) | np.uint8(b == np.uint8(0xC1)) | np.uint8(b >= np.uint8(0xF5))
    wrong |= np.uint8(p1 == np.uint8(0xE0)) & np.uint8(b < np.uint8(0xA0))  # overlong
    wrong |= np.uint8(p1 == np.uint8(0xED)) & np.uint8(b > np.uint8(0x9F))  # surrogates
    wrong |= np.uint8(p1 == np.uint8(0xF0)) & np.uint8(b < np.uint8(0x90))  # overlong
    wrong |= np.uint8(p1 == np.uint8(0xF4)) & np.uint8(b > np.uint8(0x8F))  # above U+10FFFF
    return wrong


@kernel
def _sound(data, start, end):
    """True if every byte of data[start:end] may follow the three before it; start is at least 3."""
    # Four views instead of indices i - 1 and so on: only then does the loop become vector instructions.
    b0, b1, b2, b3 = data[start:end], data[start - 1 : end - 1], data[start - 2 : end - 2], data[start - 3 : end - 3]
    wrong = np.uint8(0)
    for i in range(len(b0)):
        wrong |= _wrong(b0[i], b1[i], b2[i], b3[i])
    return wrong == np.uint8(0)


@entry("uint8[] int64 int64 -> bool")
def valid_utf8(data, start, end):
    """True if data[start:end] is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF, nothing cut off."""
    p1 = p2 = p3 = np.uint8(0)
    head = min(start + 3, end)
    for i in range(start, head):
        b = data[i]
        if _wrong(b, p1, p2, p3) != 0:
            return False
        p3, p2, p1 = p2, p1, b
    i, begun = head, True  # begun: a character may have begun before i
    while i + BLOCK <= end:
        others = wide(data, i)
        if others != 0:
            if not _sound(data, i, i + BLOCK):
                return False
            begun = others >> np.uint64(BLOCK - 3) != 0
        elif begun:
            if not _sound(data, i, i + 3):
                return False
            begun = False
        i += BLOCK
    if i < end and not _sound(data, i, end):
        return False
    if end > start and data[end - 1] >= 0xC0:
        return False
    if end > start + 1 and data[end - 2] >= 0xE0:
        return False
    return not (end > start + 2 and data[end - 3] >= 0xF0)


@entry("uint8[] int64 int64 int64[] -> int64")
def line_ends(data, start, end, ends):
    """Write the positions after line feeds of data[start:end] to `ends` until it is full; returns their number."""
    n = 0
    i = start
    while i < end and n < len(ends):
        part = data[i : min(i + 64, end)]
        hit = np.uint8(0)
        for j in range(len(part)):
            hit |= np.uint8(part[j] == np.uint8(10))
        if hit:
            for j in range(len(part)):
                if part[j] == 10:
                    if n == len(ends):
                        return n
                    ends[n] = i + j + 1
                    n += 1
        i += 64
    return n


@entry("uint8[] int64 int64 -> int64")
def count_lines(data, start, end):
    """Number of line feeds in data[start:end]."""
    total = 0
    i = start
    while i < end:
        part = data[i : min(i + 128, end)]
        count = np.uint8(0)
        for j in range(len(part)):
            count += np.uint8(part[j] == np.uint8(10))
        total += int(count)
        i += 128
    return total


@entry("uint8[] int64 int64[] int64[]")
def lines_before(data, start, positions, counts):
    """Write the number of line feeds between `start` and each of the ascending positions."""
    seen = 0
    for k in range(len(positions)):
        seen += count_lines(data, start, positions[k])
        start = positions[k]
        counts[k] = seen


@entry("uint8[] int64 int64 -> int64")
def last_line_end(data, start, end):
    """Position after the last line feed of data[start:end]; `start` when there is none."""
    i = end
    while i > start:
        if data[i - 1] == 10:
            return i
        i -= 1
    return start


@entry("uint8[] int64 int64 -> int64")
def first_line_end(data, start, end):
    """Position after the first line feed of data[start:end], or -1."""
    for i in range(start, end):
        if data[i] == 10:
            return i + 1
    return -1


@entry("uint8[] int64 int64[] int64 uint8[] bool -> int64")
def classify(data, start, ends, count, states, known):
    """Classify each line as GOOD, BLANK (JSON white space alone) or NOT_UTF8; returns the number of lines not GOOD.

    Line i is data[ends[i - 1]:ends[i]], the first starts at `start`. known: the data are known to be UTF-8.
    """
    if count == 0:
        return 0
    clean = known or valid_utf8(data, start, ends[count - 1])
    others = 0
    for i in range(count):
        p = start if i == 0 else ends[i - 1]
        end = ends[i]
        state = GOOD
        if not clean and not valid_utf8(data, p, end):
            state = NOT_UTF8
        else:
            while p < end and (data[p] == 32 or data[p] == 10 or data[p] == 13 or data[p] == 9):
                p += 1
            if p == end:
                state = BLANK
        states[i] = state
        if state != GOOD:
            others += 1
    return others


@entry("uint8[] int64[] int64[] uint8[] int64[] -> int64")
def gather(data, starts, ends, out, offsets):
    """Copy data[starts[i]:ends[i]] one after another to `out`; in ascending order, `out` may be `data` itself."""
    w = 0
    offsets[0] = 0
    for i in range(len(starts)):
        for p in range(starts[i], ends[i]):
            out[w] = data[p]
            w += 1
        offsets[i + 1] = w
    return w


@entry("uint8[] int64 int64 uint8 int64 bool int64[] int64[] int64[] int64[] -> int64 int64 int64")
def records(data, start, end, delimiter, quote, final, starts, ends, fields, lines):
    """Find the records of a CSV text (RFC 4180: quotes around a field, doubled inside; CR, LF or CR LF at the end).

    quote: the byte of a quote; -1 if there are none.
    Fills `starts`, `ends` (the line end left out), `fields` (their number) and `lines` (line ends inside and after it).
    Returns (count, position to resume at, reason). UNFINISHED: the last record is in quotes that never close; or MORE
    or FULL.
    """
    n = 0
    begin = start
    while begin < end:
        if n == len(starts):
            return n, begin, FULL
        i = begin
        count = 1
        inner = 0
        at_start = True
        quoted = False
        done = False
        while i < end:
            b = data[i]
            if quoted:
                if b == quote:
                    if i + 1 < end and data[i + 1] == quote:
                        i += 1
                    elif i + 1 == end and not final:
                        break
                    else:
                        quoted = False
                elif b == 10:
                    inner += 1
                i += 1
                continue
            if b == quote and at_start:
                quoted = True
            elif b == delimiter:
                count += 1
                at_start = True
                i += 1
                continue
            elif b == 10 or b == 13:
                done = True
                break
            at_start = False
            i += 1
        if not done and not final:
            return n, begin, MORE
        if quoted:
            return n, begin, UNFINISHED
        stop = i
        if i < end:
            if data[i] == 13:
                if i + 1 == end and not final:
                    return n, begin, MORE
                if i + 1 < end and data[i + 1] == 10:
                    i += 1
            i += 1
        starts[n], ends[n], fields[n], lines[n] = begin, stop, count, inner + 1
        n += 1
        begin = i
    return n, begin, MORE


@entry("uint8[] int64[] int64[] uint8[]")
def classify_records(data, starts, ends, states):
    """Classify each record as GOOD, BLANK (nothing but blanks) or NOT_UTF8."""
    clean = len(starts) == 0 or valid_utf8(data, starts[0], ends[-1])
    for k in range(len(starts)):
        p, end = starts[k], ends[k]
        states[k] = GOOD
        if not clean and not valid_utf8(data, p, end):
            states[k] = NOT_UTF8
        else:
            while p < end and (data[p] == 32 or data[p] == 9):
                p += 1
            if p == end:
                states[k] = BLANK


@entry("uint8[] int64[] int64[] int64[] int64 uint8 uint8[] -> int64")
def gather_records(data, starts, ends, fields, width, delimiter, out):
    """Copy records to `out`, a line feed after each; missing delimiters are added to short records."""
    w = 0
    for k in range(len(starts)):
        for i in range(starts[k], ends[k]):
            out[w] = data[i]
            w += 1
        for _ in range(fields[k], width):
            out[w] = delimiter
            w += 1
        out[w] = 10
        w += 1
    return w


@entry("uint8[] int64 int64 uint8[] -> int64")
def unix_line_ends(data, start, end, out):
    """Copy data[start:end] to `out` with CR LF and CR as LF; returns the bytes written."""
    w = 0
    i = start
    while i < end:
        b = data[i]
        if b == 13:
            out[w] = 10
            if i + 1 < end and data[i + 1] == 10:
                i += 1
        else:
            out[w] = b
        w += 1
        i += 1
    return w


@entry("uint8[] int64[] -> bool")
def valid_texts(data, offsets):
    """True if every text data[offsets[i]:offsets[i + 1]] is UTF-8."""
    if not valid_utf8(data, offsets[0], offsets[-1]):
        return False
    for i in range(1, len(offsets) - 1):
        if offsets[i] < offsets[-1] and (data[offsets[i]] & 0xC0) == 0x80:
            return False
    return True
