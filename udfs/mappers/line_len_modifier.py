"""Removal of lines with few words."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        "Remove the lines with fewer than lower_bound words, and samples of which no line but empty ones is left. Words are segments of "
        "UAX 29 with a letter or digit. Lines end at line feeds; empty ones stay."
    ),
    "version": 1,
    "peer": "line_len_modifier of datamap-rs",
    "params": {"lower_bound": {"type": "int", "default": 0, "min": 0, "doc": "Fewest words of a line."}},
    "functions": {
        "long_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "long_lines",
        }
    },
    "sql": """
        SELECT long_lines_delta({{ text }}, {{ lower_bound | lit }}) AS _delta, _delta AS delta,
            trim(coalesce(_delta, {{ text }}), chr(10)) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "Home\n\ntwo words\n漢字", "params": {"lower_bound": 2}, "out": "\ntwo words\n漢字", "keep": True},
        {"text": "don't - !", "params": {"lower_bound": 2}, "keep": False},
        {"text": " \nx", "params": {"lower_bound": 1}, "out": "x", "keep": True},
        {"text": "Home\n\n\n - \n", "params": {"lower_bound": 2}, "keep": False},
        {"text": "", "keep": False},
    ],
}


def long_lines(column: pa.Array, lower_bound: int) -> pa.Array:
    """Each text without short lines; NULL where nothing changes."""
    return line_rules.lines_by_rule(column, line_rules.UNICODE_WORDS, lower_bound or 0, float("inf"), False)
