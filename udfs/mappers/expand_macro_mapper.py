"""Expand LaTeX macros that take no arguments."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import regex

from refinery.kernels.core.arrow import each

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
            "runs": "python",
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

# Beginnings of definitions, up to their values.
DEFINITIONS = (
    regex.compile(r"\\newcommand\b\*?\{(\\[a-zA-Z0-9]++)\}\{"),
    regex.compile(r"\\def\s*+(\\[a-zA-Z0-9]++)\s*+\{"),
)
GROWTH = 1 << 24  # bytes


def expand_macro(column: pa.Array) -> pa.Array:
    """Each text with its macros expanded; NULL where nothing changes. Raises ValueError if one grows by over 16 MiB."""
    return each(column, _expanded)


def _expanded(text: str) -> str:
    macros = {name: value for begins in DEFINITIONS for name, value in _definitions(begins, text)}
    most = len(text.encode()) + GROWTH
    for name, value in macros.items():
        text = _replaced(text, name, value, most)
    return text


def _definitions(begins: regex.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Names and values of macros. A value ends with its line, whose last character closes it."""
    place = line_end = 0
    while match := begins.search(text, place):
        start = match.end()
        if line_end < start:  # else it is the line of the last match, whose end is known
            line_end = text.find("\n", start) % (len(text) + 1)
        if start < line_end and text[line_end - 1] == "}":
            yield match[1], text[start : line_end - 1]
            place = line_end
        else:
            place = match.start() + 1


def _replaced(text: str, name: str, value: str, most: int) -> str:
    """The text with the value in place of a name. Raises ValueError if it would have more bytes than `most`."""
    use = regex.compile(regex.escape(name) + r"([^a-zA-Z0-9])")
    count = sum(1 for _ in use.finditer(text))
    if len(text.encode()) + count * (len(value.encode()) - len(name)) > most:
        raise ValueError(f"expand_macro_mapper: the macros of this text ({len(text)} characters) add more than 16 MiB")
    return use.sub(lambda match: value + match[1], text)
