"""Remove LaTeX comments; a kernel over the UTF-8 bytes (RE2 takes three times as long)."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import delta
from refinery.kernels.text.comments import remove_rows

OPERATOR = {
    "doc": (
        "Remove LaTeX comments. `inline` removes a percent sign and the rest of its line, together with the "
        "character before it unless that is a backslash: '50%x' becomes '5', and a comment line loses the newline "
        "before it. A percent sign at the end of a line stays. `multiline` then removes lines that begin with a "
        "percent sign; after `inline`, these are the first line of a text, and empty comments. doc_type has no "
        "effect, as in Data-Juicer."
    ),
    "version": 1,
    "peer": "remove_comments_mapper of Data-Juicer 1.6.1",
    "params": {
        "doc_type": {"type": "str_or_list", "default": "tex", "doc": "Kind of document; without effect."},
        "inline": {"type": "bool", "default": True, "doc": "Remove comments that follow other text on their line."},
        "multiline": {"type": "bool", "default": True, "doc": "Remove lines that are comments."},
    },
    "functions": {
        "remove_comments_delta": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "remove_comments",
        }
    },
    "sql": """
        SELECT CASE WHEN contains({{ text }}, '%')
            THEN remove_comments_delta({{ text }}, {{ inline | lit }}, {{ multiline | lit }}) END AS delta
    """,
    "examples": [
        {"text": "a 50%x\nb", "out": "a 5\nb"},
        {"text": "a\n% whole line\nb 5\\% c", "out": "a\nb 5\\% c"},
        {"text": "% first\na %\n%\nb", "out": "a %\nb"},
        {"text": "% first\na %\n%\nb", "params": {"multiline": False}, "out": "% first\na %\n%\nb"},
        {"text": "a % c\n% d\nb", "params": {"inline": False}, "out": "a % c\nb"},
        {"text": "a\r\n%b\r\nc", "out": "a\r\nc"},
        {"text": "a\\%%b\né%c", "out": "a\\\n"},
    ],
}


def remove_comments(column: pa.Array, inline: bool, multiline: bool) -> pa.Array:
    """Each text without its comments; NULL where nothing changes."""
    return delta(column, remove_rows, bool(inline), bool(multiline))
