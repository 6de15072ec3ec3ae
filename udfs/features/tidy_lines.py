"""A text without white space at its ends, for modifiers of lines that find no line to change."""

from __future__ import annotations

import pyarrow as pa

FEATURE = {
    "doc": (
        "The text stripped (str.strip), with drop_blank also without the lines of white space alone (empty ones stay); "
        "NULL if that is the text itself."
    ),
    "version": 1,
    "params": ["drop_blank"],
    "functions": {
        "tidy_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "tidy_lines",
        }
    },
    "sql": "tidy_lines_delta({{ text }}, {{ drop_blank | lit }})",
}


def tidy_lines(column: pa.Array, drop_blank: bool) -> pa.Array:
    """Each text stripped; NULL where nothing changes."""
    from refinery.kernels.text import line_rules  # imported late: checking a recipe needs no kernel

    return line_rules.lines_by_rule(column, line_rules.INK if drop_blank else line_rules.ALL, 0, 0, True)
