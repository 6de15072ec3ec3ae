r"""Expansion of LaTeX macros without arguments, as DCLM's configurations name it."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import each
from refinery.kernels.text.latex_macros import expanded

OPERATOR = {
    "doc": (
        r"Replace LaTeX macros without arguments (\newcommand{\name}{value}, \def\name{value}) by their values, as "
        "expand_macro_mapper does, and remove samples whose text is empty. DCLM fails for values with characters outside of "
        "ASCII, which are inserted here."
    ),
    "version": 1,
    "peer": "arxiv_macro_modifier of DCLM",
    "params": {},
    "functions": {
        "arxiv_macro_delta": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "expand_macros",
        }
    },
    "sql": r"""
        SELECT CASE WHEN contains({{ text }}, '\newcommand') OR contains({{ text }}, '\def')
            THEN arxiv_macro_delta({{ text }}) END AS delta,
            {{ text }} <> '' AS keep_empty
    """,
    "examples": [
        {"text": "\\newcommand{\\x}{y^2}\n$\\x+\\xx$", "out": "\\newcommand{y^2}{y^2}\n$y^2+\\xx$", "keep": True},
        {"text": "\\def\\x{\\1é}\n\\x.", "out": "\\def\\1é{\\1é}\n\\1é.", "keep": True},
        {"text": "", "keep": False},
    ],
}


def expand_macros(column: pa.Array) -> pa.Array:
    """Each text with its macros expanded; NULL where nothing changes. Raises ValueError if one grows by over 16 MiB."""
    return each(column, expanded)
