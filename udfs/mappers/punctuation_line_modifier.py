"""Removal of lines that do not end like a sentence."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import line_rules

OPERATOR = {
    "doc": (
        'Remove the lines that do not end in one of . ! ? " … (white space behind it does not matter), and samples whose text '
        "is then empty. Lines end at line feeds; empty ones stay, blank ones do not. The text is not stripped."
    ),
    "version": 1,
    "peer": "punctuation_line_modifier of DCLM",
    "params": {
        "remove_ellipses": {"type": "bool", "default": False, "doc": "Also remove the lines that end in `...` or `…`."}
    },
    "functions": {
        "punctuation_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "lines_with_end_marks",
        }
    },
    "sql": """
        SELECT punctuation_lines_delta({{ text }}, {{ remove_ellipses | lit }}) AS _delta, _delta AS delta,
            coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "Menu\n\nA sentence. \nMore...", "out": "\nA sentence. \nMore...", "keep": True},
        {"text": "One.\nMore...\nMore…", "params": {"remove_ellipses": True}, "out": "One.", "keep": True},
        {"text": "It's 'here'\n“No”", "keep": False},
        {"text": "Menu", "keep": False},
        {"text": "", "keep": False},
    ],
}


def lines_with_end_marks(column: pa.Array, no_ellipsis: bool) -> pa.Array:
    """Each text without lines that lack an end mark; NULL where nothing changes."""
    return line_rules.lines_by_rule(column, line_rules.END_MARK, 0, bool(no_ellipsis), False)
