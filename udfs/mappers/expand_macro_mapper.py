"""Expand LaTeX macros that take no arguments."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import each
from refinery.kernels.text.latex_macros import expanded

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


def expand_macro(column: pa.Array) -> pa.Array:
    """Each text with its macros expanded; NULL where nothing changes. Raises ValueError if one grows by over 16 MiB."""
    return each(column, expanded)
