"""Expand LaTeX macros that take no arguments; a kernel over the UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from refinery.kernels.core.arrow import CHANGED, EXACT, delta
from refinery.kernels.core.charclass import RE_SPACE, classes
from refinery.kernels.core.utf8 import copy, decode, same

OPERATOR = {
    "doc": (
        r"Replace LaTeX macros without arguments by their values: \newcommand{\name}{value}, starred or not, and "
        r"\def\name{value}, where the closing brace ends the line and the name has only ASCII letters and digits. A "
        r"macro defined twice has its last value. Macros are replaced one after another, \newcommand first, wherever "
        "a character other than an ASCII letter or digit follows, also in definitions. That character is consumed, "
        r"so of \a\a only the first is replaced. A text that would grow by more than 16 MiB is an error."
    ),
    "version": 1,
    "peer": "expand_macro_mapper of Data-Juicer 1.6.1",
    "params": {},
    "functions": {
        "expand_macro_delta": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "expand_macro",
        }
    },
    "sql": r"""
        SELECT CASE WHEN contains({{ text }}, '\newcommand') OR contains({{ text }}, '\def')
            THEN expand_macro_delta({{ text }}) END AS delta
    """,
    "examples": [
        {"text": "\\newcommand{\\x}{y^2}\n$\\x+\\xx$", "out": "\\newcommand{y^2}{y^2}\n$y^2+\\xx$"},
        {"text": "\\def\\a{b}\n\\a\\a \\a", "out": "\\defb{b}\nb\\a \\a"},
        {"text": "\\newcommand{\\x}{y} % note\n\\x ", "out": "\\newcommand{\\x}{y} % note\n\\x "},
        {"text": "\\newcommand{\\x}[1]{(#1)}\n\\x{1}", "out": "\\newcommand{\\x}[1]{(#1)}\n\\x{1}"},
        {"text": "\\def\\x{\\1é}\n\\x.", "out": "\\def\\1é{\\1é}\n\\1é."},
        {"text": "\\def\\a{1}\n\\def\\a{2}\n\\a.", "out": "\\def2{1}\n\\def2{2}\n2."},
    ],
}

BACKSLASH, STAR, OPEN, CLOSE, NEWLINE = 0x5C, 0x2A, 0x7B, 0x7D, 0x0A
NEWCOMMAND, DEF = tuple(b"\\newcommand"), tuple(b"\\def")
GROWTH = 1 << 24


def expand_macro(column: pa.Array) -> pa.Array:
    """Each text with its macros expanded; NULL where nothing changes. Raises ValueError if one grows by over 16 MiB."""
    return delta(column, _expand_rows, classes(), exact=_refuse, growth=2.0)


def _refuse(text: str) -> str:
    raise ValueError(f"expand_macro_mapper: the macros of this text ({len(text)} characters) add more than 16 MiB")


@njit(nogil=True, cache=True)
def _alnum(b):
    return 0x30 <= b <= 0x39 or 0x41 <= b <= 0x5A or 0x61 <= b <= 0x7A


@njit(nogil=True, cache=True)
def _word_at(text, i, word):
    if i + len(word) > len(text):
        return False
    for k in range(len(word)):
        if text[i + k] != word[k]:
            return False
    return True


@njit(nogil=True, cache=True)
def _is(text, i, char):
    return i < len(text) and text[i] == char


@njit(nogil=True, cache=True)
def _skip_space(text, i, table):
    while i < len(text):
        cp, after = decode(text, i)
        if not table[cp] & RE_SPACE:
            break
        i = after
    return i


@njit(nogil=True, cache=True)
def _name_end(text, i):
    """End of the macro name (backslash, letters and digits) at i; i if there is none."""
    if not _is(text, i, BACKSLASH):
        return i
    end = i + 1
    while end < len(text) and _alnum(text[end]):
        end += 1
    return end if end > i + 1 else i


@njit(nogil=True, cache=True)
def _definition(text, i, table, is_def, line_end):
    """Bounds of name and value (four positions) of the definition at i, and the end of a line; an empty name if there is none.

    line_end: of the last line that was looked for, so that definitions of one line do not look for its end anew.
    """
    none = (i, i, i, i, line_end)
    if is_def:
        name = _skip_space(text, i + len(DEF), table)
        name_end = _name_end(text, name)
        value = _skip_space(text, name_end, table)
    else:
        name = i + len(NEWCOMMAND)
        name += 1 if _is(text, name, STAR) else 0
        if not _is(text, name, OPEN):
            return none
        name += 1
        name_end = _name_end(text, name)
        if not _is(text, name_end, CLOSE):
            return none
        value = name_end + 1
    if not _is(text, value, OPEN):
        return none
    value += 1
    line_end = max(line_end, value)
    while line_end < len(text) and text[line_end] != NEWLINE:
        line_end += 1
    if line_end == value or text[line_end - 1] != CLOSE:
        return i, i, i, i, line_end
    return name, name_end, value, line_end - 1, line_end


@njit(nogil=True, cache=True)
def _macros(text, marks, table):
    """int64 (n, 4): bounds of name and value of each macro, in order of expansion. marks: positions of backslashes."""
    found = np.empty((len(marks), 4), np.int64)
    n = 0
    for is_def in (False, True):
        free = line_end = 0
        for i in marks:
            if i < free or not (_word_at(text, i, DEF) if is_def else _word_at(text, i, NEWCOMMAND)):
                continue
            name, name_end, value, value_end, line_end = _definition(text, i, table, is_def, line_end)
            if name == name_end:
                continue
            free = value_end + 1
            k = 0
            while k < n and not same(text, name, name_end, text, found[k, 0], found[k, 1]):
                k += 1
            if k == n:
                found[n, 0], found[n, 1] = name, name_end
                n += 1
            found[k, 2], found[k, 3] = value, value_end
    return found[:n]


@njit(nogil=True, cache=True)
def _backslashes(text):
    n = 0
    for i in range(len(text)):
        n += text[i] == BACKSLASH
    marks = np.empty(n, np.int64)
    n = 0
    for i in range(len(text)):
        if text[i] == BACKSLASH:
            marks[n] = i
            n += 1
    return marks


@njit(nogil=True, cache=True)
def _hits(text, marks, name):
    """Indices of the marks at which `name` is followed by a character other than a letter or digit."""
    hits = np.empty(len(marks), np.int64)
    n = free = 0
    for k in range(len(marks)):
        i, after = marks[k], marks[k] + len(name)
        if i < free or after >= len(text) or text[i + 1] != name[1] or _alnum(text[after]):
            continue
        if same(text, i, after, name, 0, len(name)):
            hits[n] = k
            n += 1
            free = after + 1  # the following character is used up
    return hits[:n]


@njit(nogil=True, cache=True)
def _replaced(text, marks, hits, name, value):
    """`text` with the names at `hits` replaced by `value`, and the new positions of its backslashes."""
    inner = _backslashes(value)
    out = np.empty(len(text) + len(hits) * (len(value) - len(name)), np.uint8)
    out_marks = np.empty(len(marks) + len(hits) * (len(inner) - 1), np.int64)
    r = w = n = first = 0
    for hit in hits:
        for k in range(first, hit):
            out_marks[n + k - first] = marks[k] - r + w
        n += hit - first
        w = copy(text, r, marks[hit], out, w)
        for k in range(len(inner)):
            out_marks[n + k] = inner[k] + w
        n += len(inner)
        w = copy(value, 0, len(value), out, w)
        first, r = hit + 1, marks[hit] + len(name)
    for k in range(first, len(marks)):
        out_marks[n + k - first] = marks[k] - r + w
    copy(text, r, len(text), out, w)
    return out, out_marks


@njit(nogil=True, cache=True)
def _expanded(text, table):
    """`text` with its macros expanded; any text that is more than GROWTH longer if the result would be."""
    marks = _backslashes(text)
    new = text
    macros = _macros(text, marks, table)
    for k in range(len(macros)):
        name, value = text[macros[k, 0] : macros[k, 1]], text[macros[k, 2] : macros[k, 3]]
        hits = _hits(new, marks, name)
        if len(new) + len(hits) * (len(value) - len(name)) > len(text) + GROWTH:
            return np.empty(len(text) + GROWTH + 1, np.uint8)
        new, marks = _replaced(new, marks, hits, name, value)
    return new


@njit(nogil=True, cache=True)
def _expand_rows(data, offsets, valid, out, out_offsets, state, table):
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        if not valid[row]:
            continue
        text = data[offsets[row] : offsets[row + 1]]
        new = _expanded(text, table)
        if len(new) > len(text) + GROWTH:
            state[row] = EXACT
        elif not same(text, 0, len(text), new, 0, len(new)):
            if w + len(new) > len(out):
                return -1
            w = copy(new, 0, len(new), out, w)
            out_offsets[row + 1] = w
            state[row] = CHANGED
    return w
