"""Removal of lines with too many digits."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        "Remove the lines in which more than max_ratio of the characters are digits (str.isdigit, so ² and ٣ are), strip the "
        "text, and remove samples whose text is then empty. Lines end at line feeds; empty ones stay. A max_ratio just below 1 "
        "removes lines of digits alone."
    ),
    "version": 1,
    "peer": "numeric_ratio_line_modifier of DCLM",
    "params": {"max_ratio": {"type": "float", "default": 1.0, "doc": "Largest share of characters of a line."}},
    "functions": {
        "numeric_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "lines_of_few_digits",
        }
    },
    "sql": """
        SELECT numeric_lines_delta({{ text }}, {{ max_ratio | lit }}::DOUBLE) AS _delta, _delta AS delta,
            coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "2024\npage 12\n\n٣²", "params": {"max_ratio": 0.999999}, "out": "page 12", "keep": True},
        {"text": "1,000", "params": {"max_ratio": 0.8}, "out": "1,000", "keep": True},
        {"text": "12", "out": "12", "keep": True},
        {"text": "12\n34", "params": {"max_ratio": 0.5}, "keep": False},
        {"text": "", "keep": False},
    ],
}


def lines_of_few_digits(column: pa.Array, max_ratio: float) -> pa.Array:
    """Each text without lines of digits; NULL where nothing changes."""
    return line_rules.lines_by_rule(column, line_rules.RATIO, line_rules.DIGIT, max_ratio, True)
