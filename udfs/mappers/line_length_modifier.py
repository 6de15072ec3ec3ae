"""Removal of lines with too few or too many words."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        "Remove the lines whose number of words, separated by white space, is not in [min_length, max_length], and samples "
        "whose text is then empty. Lines end at line feeds; empty ones stay, blank ones have no word. The text is not stripped."
    ),
    "version": 1,
    "peer": "line_length_modifier of DCLM",
    "params": {
        "min_length": {"type": "int", "default": 0, "doc": "Fewest words."},
        "max_length": {"type": "float", "default": 9223372036854775807, "doc": "Most words."},
    },
    "functions": {
        "line_length_delta": {
            "columns": ["VARCHAR"],
            "constants": ["DOUBLE", "DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "lines_of_words",
        }
    },
    "sql": """
        SELECT line_length_delta({{ text }}, {{ min_length | lit }}::DOUBLE, {{ max_length | lit }}::DOUBLE) AS _delta,
            _delta AS delta, coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {
            "text": "Home\n\nA whole sentence.\n ",
            "params": {"min_length": 2},
            "out": "\nA whole sentence.",
            "keep": True,
        },
        {"text": "a\u3000b\nc d e", "params": {"max_length": 2}, "out": "a\u3000b", "keep": True},
        {"text": " a ", "out": " a ", "keep": True},
        {"text": "Home", "params": {"min_length": 2}, "keep": False},
        {"text": "", "keep": False},
    ],
}


def lines_of_words(column: pa.Array, least: float, most: float) -> pa.Array:
    """Each text without lines of other numbers of words; NULL where nothing changes."""
    return line_rules.lines_by_rule(column, line_rules.WORDS, least, most, False)
