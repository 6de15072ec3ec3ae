"""Expand LaTeX macros that take no arguments; a kernel over the UTF-8 bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from refinery.kernels.arrow import CHANGED, EXACT, delta
from refinery.kernels.charclass import RE_SPACE, classes
from refinery.kernels.utf8 import copy, decode, same

OPERATOR = {
    "doc": (
        r"Replace LaTeX macros without arguments by their values. Macros are \newcommand{\name}{value} (starred or not) "
        r"and \def\name{value}, where the closing brace ends the line and the name is of ASCII letters and digits; a "
        r"macro defined twice has its last value. One after another, \newcommand before \def, each is replaced wherever "
        r"some character other than an ASCII letter or digit follows, in the definitions as well. That character is used up, "
        r"so of \a\a only the first is replaced. A text that would grow by more than 64 MiB is refused with an error."
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
GROWTH = 1 << 26


def expand_macro(column: pa.Array) -> pa.Array:
    """Each text with its macros expanded, NULL where nothing changes. ValueError: a text grows by more than 64 MiB."""
    return delta(column, _expand_rows, classes(), exact=_refuse, growth=2.0)


def _refuse(text: str) -> str:
    raise ValueError(f"expand_macro_mapper: the macros of this text ({len(text)} characters) add more than 64 MiB")


@njit(nogil=True, cache=True)
def _alnum(b):
    return 0x30 <= b <= 0x39 or 0x41 <= b <= 0x5A or 0x61 <= b <= 0x7A


@njit(nogil=True, cache=True)
def _word_at(data, i, end, word):
    if i + len(word) > end:
        return False
    for k in range(len(word)):
        if data[i + k] != word[k]:
            return False
    return True


@njit(nogil=True, cache=True)
def _skip_space(data, i, end, table):
    while i < end:
        cp, after = decode(data, i)
        if not table[cp] & RE_SPACE:
            break
        i = after
    return i


@njit(nogil=True, cache=True)
def _name_end(data, i, end):
    """End of the macro name (backslash, letters and digits) at i; i itself when there is none."""
    if i >= end or data[i] != BACKSLASH:
        return i
    j = i + 1
    while j < end and _alnum(data[j]):
        j += 1
    return j if j > i + 1 else i


@njit(nogil=True, cache=True)
def _definition(data, i, end, table, is_def):
    """Bounds of name and value (four positions) of the definition at i; all of them i when it is none."""
    if is_def:
        name = _skip_space(data, i + len(DEF), end, table)
        name_end = _name_end(data, name, end)
        value = _skip_space(data, name_end, end, table)
    else:
        name = i + len(NEWCOMMAND)
        if name < end and data[name] == STAR:
            name += 1
        if name >= end or data[name] != OPEN:
            return i, i, i, i
        name += 1
        name_end = _name_end(data, name, end)
        value = name_end + 1
        if name_end >= end or data[name_end] != CLOSE:
            return i, i, i, i
    if name_end == name or value >= end or data[value] != OPEN:
        return i, i, i, i
    value += 1
    line_end = value
    while line_end < end and data[line_end] != NEWLINE:
        line_end += 1
    if line_end == value or data[line_end - 1] != CLOSE:
        return i, i, i, i
    return name, name_end, value, line_end - 1


@njit(nogil=True, cache=True)
def _macros(data, start, end, table):
    """int64 (n, 4): bounds of name and value of each macro, in order of expansion."""
    found = np.empty(((end - start) // 4 + 2, 4), np.int64)
    n = 0
    for is_def in (False, True):
        i = start
        while i < end:
            if not (_word_at(data, i, end, DEF) if is_def else _word_at(data, i, end, NEWCOMMAND)):
                i += 1
                continue
            name, name_end, value, value_end = _definition(data, i, end, table, is_def)
            i = max(value_end, i) + 1
            if name == name_end:
                continue
            k = 0
            while k < n and not same(data, name, name_end, data, found[k, 0], found[k, 1]):
                k += 1
            if k == n:
                found[n, 0], found[n, 1] = name, name_end
                n += 1
            found[k, 2], found[k, 3] = value, value_end
    return found[:n]


@njit(nogil=True, cache=True)
def _backslashes(text):
    marks = np.empty(len(text), np.int64)
    n = 0
    for i in range(len(text)):
        if text[i] == BACKSLASH:
            marks[n] = i
            n += 1
    return marks[:n]


@njit(nogil=True, cache=True)
def _hits(text, marks, name):
    """Indices of the marks where `name` stands with a character other than a letter or digit behind."""
    hits = np.empty(len(marks), np.int64)
    n = free = 0
    for k in range(len(marks)):
        i, after = marks[k], marks[k] + len(name)
        if i < free or after >= len(text) or text[i + 1] != name[1] or _alnum(text[after]):
            continue
        if same(text, i, after, name, 0, len(name)):
            hits[n] = k
            n += 1
            free = after + 1  # the character behind is used up
    return hits[:n]


@njit(nogil=True, cache=True)
def _replaced(text, marks, hits, name, value):
    """`text` with the names at `hits` replaced by `value`, and the positions of its backslashes."""
    inner = _backslashes(value)
    out = np.empty(len(text) + len(hits) * (len(value) - len(name)), np.uint8)
    out_marks = np.empty(len(marks) + len(hits) * len(inner), np.int64)
    r = w = n = k = 0
    for hit in hits:
        for k in range(k, hit):
            out_marks[n] = marks[k] - r + w
            n += 1
        k = hit + 1
        w = copy(text, r, marks[hit], out, w)
        for mark in inner:
            out_marks[n] = mark + w
            n += 1
        w = copy(value, 0, len(value), out, w)
        r = marks[hit] + len(name)
    for k in range(k, len(marks)):
        out_marks[n] = marks[k] - r + w
        n += 1
    copy(text, r, len(text), out, w)
    return out, out_marks[:n]


@njit(nogil=True, cache=True)
def _expanded(data, start, end, table):
    """data[start:end] with its macros expanded; cut short when it grows by more than GROWTH bytes."""
    text = data[start:end]
    macros = _macros(data, start, end, table)
    if not len(macros):
        return text
    marks = _backslashes(text)
    for k in range(len(macros)):
        name, value = data[macros[k, 0] : macros[k, 1]], data[macros[k, 2] : macros[k, 3]]
        hits = _hits(text, marks, name)
        if len(text) + len(hits) * (len(value) - len(name)) > end - start + GROWTH:
            return np.empty(end - start + GROWTH + 1, np.uint8)
        text, marks = _replaced(text, marks, hits, name, value)
    return text


@njit(nogil=True, cache=True)
def _expand_rows(data, offsets, valid, out, out_offsets, state, table):
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        text = _expanded(data, start, end, table)
        if len(text) > end - start + GROWTH:
            state[row] = EXACT
        elif not same(data, start, end, text, 0, len(text)):
            if w + len(text) > len(out):
                return -1
            w = copy(text, 0, len(text), out, w)
            out_offsets[row + 1] = w
            state[row] = CHANGED
    return w
