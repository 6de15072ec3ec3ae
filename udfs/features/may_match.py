"""Cheap test before Python's re: DuckDB tells the texts in which none of some expressions can match."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FEATURE = {
    "doc": (
        "False for texts in which none of the regular expressions `patterns` of Python matches, as it stands or with "
        "ignore_case; true for those in which one may match. file: empty, or a file with an expression in each line, in place "
        "of `patterns`. Expressions with more than letters, marks and dots make it true for all texts."
    ),
    "version": 1,
    "params": ["patterns", "file", "ignore_case"],
    "variables": "variables",
    "sql": """
        {% if pattern is none %}true
        {% else %}(regexp_matches({{ text }}, {{ pattern | lit }})
        {%- for letter in letters %} OR contains({{ text }}, {{ letter | lit }}){% endfor %})
        {% endif %}
    """,
}

# Characters with a meaning in expressions, apart from the dot, which means the same in both, and braces.
_MEANING = re.compile(r"[\\^$*+?()\[\]|]")
_REPEAT = re.compile(r"\{\d*,?\d*\}")
_CASED = 0x530  # code points below are Latin, Greek and Cyrillic, whose pairs of letters both know

# str.lower and re take these for an i, which DuckDB does not.
_LETTERS = ("\u0130", "\u0131")


def variables(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expression for DuckDB, None if it cannot say; and letters that it misses."""
    patterns, ignore_case = params["patterns"], params["ignore_case"]
    if params["file"]:
        patterns = [line for line in Path(params["file"]).read_text(encoding="utf-8").splitlines() if line]
    if not patterns or not all(one and _is_plain(one, ignore_case) for one in patterns):
        return {"pattern": None, "letters": ()}
    parts = (re.escape(one).replace("\\.", ".") for one in patterns)
    return {
        "pattern": ("(?i)" if ignore_case else "") + "|".join(parts),
        "letters": _LETTERS if ignore_case and any("i" in one.lower() for one in patterns) else (),
    }


def _is_plain(pattern: str, ignore_case: bool) -> bool:
    if _MEANING.search(pattern) or _REPEAT.search(pattern):
        return False
    return not ignore_case or all(ord(char) < _CASED for char in pattern)
