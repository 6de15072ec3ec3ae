"""Removal of lines with too many capitals."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        "Remove the lines in which more than max_ratio of the characters are upper case (str.isupper), strip the text, and "
        "remove samples whose text is then empty. Lines end at line feeds; empty ones stay."
    ),
    "version": 1,
    "peer": "uppercase_ratio_line_modifier of DCLM",
    "params": {"max_ratio": {"type": "float", "default": 0.5, "doc": "Largest share of characters of a line."}},
    "functions": {
        "uppercase_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "lines_in_lower_case",
        }
    },
    "sql": """
        SELECT uppercase_lines_delta({{ text }}, {{ max_ratio | lit }}::DOUBLE) AS _delta, _delta AS delta,
            coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "MENU\n\nHome, ABout\nABc", "out": "Home, ABout", "keep": True},
        {"text": " ABcd \n", "out": "ABcd", "keep": True},
        {"text": "ΑΒΓδ", "params": {"max_ratio": 0.75}, "out": "ΑΒΓδ", "keep": True},
        {"text": "LOUD\nLOUD", "keep": False},
        {"text": "", "keep": False},
    ],
}


def lines_in_lower_case(column: pa.Array, max_ratio: float) -> pa.Array:
    """Each text without lines in upper case; NULL where nothing changes."""
    return line_rules.lines_by_rule(column, line_rules.RATIO, line_rules.UPPER, max_ratio, True)
