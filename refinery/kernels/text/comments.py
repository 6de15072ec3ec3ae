"""Removal of LaTeX comments."""

from __future__ import annotations

from refinery.kernels.core.arrow import CHANGED
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import before, copy

BACKSLASH, PERCENT, NEWLINE = 0x5C, 0x25, 0x0A


@kernel
def _line_end(text, i, end):
    while i < end and text[i] != NEWLINE:
        i += 1
    return i


@kernel
def _cut_inline(text, start, end):
    """Cut every [^\\]%.+$ out of text[start:end], in place; returns the new end."""
    kept = free = i = start  # text[:free] is done; text[kept:] is searched up to i
    while i < end:
        if text[i] != PERCENT:
            i += 1
        elif i > kept and text[i - 1] != BACKSLASH and i + 1 < end and text[i + 1] != NEWLINE:
            free = copy(text, kept, before(text, i, kept), text, free)
            kept = i = _line_end(text, i, end)
        else:
            i += 1
    return end if kept == start else copy(text, kept, end, text, free)


@kernel
def _cut_lines(text, start, end):
    """Cut every (?m)^%.*\\n? out of text[start:end], in place; returns the new end."""
    free = i = start
    while i < end:
        after = min(_line_end(text, i, end) + 1, end)
        if text[i] != PERCENT:
            free = copy(text, i, after, text, free)
        i = after
    return free


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] bool bool -> int64")
def remove_rows(data, offsets, valid, out, out_offsets, state, inline, multiline):
    """Kernel of `arrow.delta`: leave out comments that follow other text, and lines that are comments."""
    w = 0
    for row in range(len(valid)):
        size = offsets[row + 1] - offsets[row] if valid[row] else 0
        if w + size > len(out):
            return -1
        end = copy(data, offsets[row], offsets[row] + size, out, w)
        if inline:
            end = _cut_inline(out, w, end)
        if multiline:
            end = _cut_lines(out, w, end)
        if end < w + size:
            state[row] = CHANGED
            w = end
        out_offsets[row + 1] = w
    return w
