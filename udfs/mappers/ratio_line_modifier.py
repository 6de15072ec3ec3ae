"""Removal of lines with too many capitals or digits, per byte."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        "Remove the lines in which upper-case characters (Unicode), or digits 0 to 9, are more than upper_bound of the line's "
        "bytes of UTF-8. Lines end at line feeds; empty ones stay. A letter beyond ASCII is one character of two or more "
        "bytes, so such lines are removed less often. No sample is removed, and nothing is stripped."
    ),
    "version": 1,
    "peer": "ratio_line_modifier of datamap-rs",
    "params": {
        "check": {"type": "str", "choices": ["uppercase", "numeric"], "doc": "Which characters count."},
        "upper_bound": {"type": "float", "default": 1.0, "doc": "Largest share of characters per byte."},
    },
    "functions": {
        "ratio_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "kept_lines",
        }
    },
    "sql": "SELECT ratio_lines_delta({{ text }}, {{ check | lit }}, {{ upper_bound | lit }}::DOUBLE) AS delta",
    "examples": [
        {"text": "MENU\n\n ABcd \n", "params": {"check": "uppercase", "upper_bound": 0.5}, "out": "\n ABcd \n"},
        {"text": "ÄÖÜ\nABC", "params": {"check": "uppercase", "upper_bound": 0.5}, "out": "ÄÖÜ"},
        {"text": "12 34\n٣٣\n1a2", "params": {"check": "numeric", "upper_bound": 0.7}, "out": "٣٣\n1a2"},
        {"text": "LOUD\nLOUD", "params": {"check": "uppercase", "upper_bound": 0.5}, "out": "", "keep": True},
        {"text": "", "params": {"check": "numeric"}, "out": ""},
    ],
}


def kept_lines(column: pa.Array, check: str, upper_bound: float) -> pa.Array:
    """Each text without lines over the bound; NULL where nothing changes."""
    bit = line_rules.ASCII_DIGIT if check == "numeric" else line_rules.UPPER
    return line_rules.lines_by_rule(column, line_rules.BYTE_RATIO, bit, upper_bound, False)
