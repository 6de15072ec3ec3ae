"""Remove LaTeX comments; a kernel over the UTF-8 bytes (RE2 takes three times as long)."""

from __future__ import annotations

import pyarrow as pa
from numba import njit

from refinery.kernels.core.arrow import CHANGED, delta
from refinery.kernels.core.utf8 import before, copy

OPERATOR = {
    "doc": (
        "Remove LaTeX comments. `inline` removes a percent sign and the rest of its line, together with the "
        "character before it unless that is a backslash: '50%x' becomes '5', and a comment line loses the newline "
        "before it. A percent sign at the end of a line stays. `multiline` then removes lines that begin with a "
        "percent sign; after `inline`, these are the first line of a text, and empty comments. doc_type has no "
        "effect, as in Data-Juicer."
    ),
    "version": 1,
    "peer": "remove_comments_mapper of Data-Juicer 1.6.1",
    "params": {
        "doc_type": {"type": "str_or_list", "default": "tex", "doc": "Kind of document; without effect."},
        "inline": {"type": "bool", "default": True, "doc": "Remove comments that follow other text on their line."},
        "multiline": {"type": "bool", "default": True, "doc": "Remove lines that are comments."},
    },
    "functions": {
        "remove_comments_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "remove_comments",
        }
    },
    "sql": """
        SELECT CASE WHEN contains({{ text }}, '%')
            THEN remove_comments_delta({{ text }}, {{ inline | lit }}, {{ multiline | lit }}) END AS delta
    """,
    "examples": [
        {"text": "a 50%x\nb", "out": "a 5\nb"},
        {"text": "a\n% whole line\nb 5\\% c", "out": "a\nb 5\\% c"},
        {"text": "% first\na %\n%\nb", "out": "a %\nb"},
        {"text": "% first\na %\n%\nb", "params": {"multiline": False}, "out": "% first\na %\n%\nb"},
        {"text": "a % c\n% d\nb", "params": {"inline": False}, "out": "a % c\nb"},
        {"text": "a\r\n%b\r\nc", "out": "a\r\nc"},
        {"text": "a\\%%b\né%c", "out": "a\\\n"},
    ],
}

BACKSLASH, PERCENT, NEWLINE = 0x5C, 0x25, 0x0A


def remove_comments(column: pa.Array, inline: bool, multiline: bool) -> pa.Array:
    """Each text without its comments; NULL where nothing changes."""
    return delta(column, _remove_rows, bool(inline), bool(multiline))


@njit(nogil=True, cache=True)
def _line_end(text, i, end):
    while i < end and text[i] != NEWLINE:
        i += 1
    return i


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _cut_lines(text, start, end):
    """Cut every (?m)^%.*\\n? out of text[start:end], in place; returns the new end."""
    free = i = start
    while i < end:
        after = min(_line_end(text, i, end) + 1, end)
        if text[i] != PERCENT:
            free = copy(text, i, after, text, free)
        i = after
    return free


@njit(nogil=True, cache=True)
def _remove_rows(data, offsets, valid, out, out_offsets, state, inline, multiline):
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
