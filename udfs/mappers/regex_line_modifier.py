"""Removal of lines that match a regular expression in the syntax of Rust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import of_texts
from refinery.kernels.text import rust_patterns

# The default, and in the operator's SQL what a text has if the default matches a line of it.
COUNTER = (
    r"^\W*\d(?:,|\.|\d)*(?:K|k|M|m|B|b)?\s+"
    r"(?:likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views|followers)\W*$"
)

OPERATOR = {
    "doc": (
        "Remove the lines that match a regular expression after they are put in lower case, and samples of which no line is "
        "left. Lines end at line feeds. By default these are lines of a number and a word such as likes or views. The syntax is "
        "that of Rust's crate regex; an expression with capitals matches nothing."
    ),
    "version": 1,
    "peer": "regex_line_modifier of datamap-rs",
    "params": {
        "regex": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "Regular expression, searched anywhere in a line; null: DCLM's of counters.",
        },
    },
    "checks": "check",
    "functions": {
        "lines_without_matches": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(delta VARCHAR, is_empty BOOLEAN)",
            "runs": "python",
            "call": "without_matches",
        }
    },
    "sql": """
        SELECT
          {% if regex is none %}
          CASE WHEN regexp_matches({{ text }}, '(?i)\\pN[\\pN.,kmb]*[\\s\\x0b\\x{85}\\pZ]+(?:likes|shares|comments|retweets|reposts|'
            || 'quotes|bookmarks|upvotes|downvotes|downloads|views|followers)') THEN lines_without_matches({{ text }}, '') END
          {% else %}
          lines_without_matches({{ text }}, {{ regex | lit }})
          {% endif %} AS _found,
          _found.delta AS delta, NOT coalesce(_found.is_empty, false) AS keep_empty
    """,
    "examples": [
        {"text": "10 Likes!\n1,234 followers today\n5k  views", "out": "1,234 followers today", "keep": True},
        {"text": "2 comments", "keep": False},
        {"text": "Buy NOW\nlater", "params": {"regex": r"\bnow$"}, "out": "later", "keep": True},
        {"text": "a\r\nb", "params": {"regex": "^a$"}, "out": "a\r\nb", "keep": True},
        {"text": "a\n", "params": {"regex": "a"}, "out": "", "keep": True},
        {"text": "３\u2003vieWs", "keep": False},
        {"text": "", "out": "", "keep": True},
        {"text": "", "params": {"regex": "^$"}, "keep": False},
        {"text": "", "params": {"regex": "a(?!b)"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return rust_patterns.problems(params["regex"]) if params["regex"] is not None else []


def without_matches(column: pa.Array, pattern: str) -> pa.Array:
    """For each text the text without matching lines, NULL if it has none, and whether no line is left."""
    search = rust_patterns.matcher(pattern or COUNTER).search
    found = [_without(text, search) for text in column.to_pylist()]
    deltas = of_texts([new for new, _ in found])
    return pa.StructArray.from_arrays([deltas, pa.array([empty for _, empty in found])], ["delta", "is_empty"])


def _without(text: str | None, search: Any) -> tuple[str | None, bool]:
    if text is None:
        return None, False
    lines = text.split("\n")
    kept = [line for line in lines if search(line.lower()) is None]
    return ("\n".join(kept) if len(kept) < len(lines) else None), not kept
