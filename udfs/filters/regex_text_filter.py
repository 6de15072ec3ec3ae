"""Filter on a regular expression in the syntax of Rust."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import flags
from refinery.kernels.text import rust_patterns

OPERATOR = {
    "doc": (
        "Remove samples in whose text a regular expression matches, or with remove_matches false samples in which it does not. "
        "The syntax is Rust's, of the crate regex: `.` is no line feed, $ is the end of the text, (?i) ignores case."
    ),
    "version": 1,
    "peer": "regex_text_filter of datamap-rs",
    "params": {
        "regex_string": {"type": "str", "doc": "Regular expression, searched anywhere in the text."},
        "remove_matches": {
            "type": "bool",
            "default": True,
            "doc": "Remove texts with a match; else those without one.",
        },
    },
    "stats": {"regex_matches": {"type": "BOOLEAN", "doc": "True if the expression matches."}},
    "checks": "check",
    "functions": {
        "rust_regex_matches": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BOOLEAN",
            "runs": "python",
            "call": "matches",
        }
    },
    "sql": (
        "SELECT rust_regex_matches({{ text }}, {{ regex_string | lit }}) AS regex_matches, "
        "{{ 'NOT ' if remove_matches }}regex_matches AS keep"
    ),
    "examples": [
        {
            "text": "Lorem IPSUM",
            "params": {"regex_string": "(?i)lorem ipsum"},
            "stats": {"regex_matches": True},
            "keep": False,
        },
        {"text": "a { b", "params": {"regex_string": r"\{", "remove_matches": False}, "keep": True},
        {"text": "end\n", "params": {"regex_string": "end$"}, "stats": {"regex_matches": False}, "keep": True},
        {"text": "a\x1cb", "params": {"regex_string": r"a\sb"}, "keep": True},
        {"text": "", "params": {"regex_string": "^$"}, "keep": False},
        {"text": "", "params": {"regex_string": "(?=a)"}, "error": True},
        {"text": "", "params": {"regex_string": "("}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return rust_patterns.problems(params["regex_string"])


def matches(column: pa.Array, pattern: str) -> pa.Array:
    """Return for each text whether a pattern matches; False for NULL."""
    import numpy as np

    search = rust_patterns.matcher(pattern or "").search
    return flags(np.array([text is not None and search(text) is not None for text in column.to_pylist()], np.bool_))
