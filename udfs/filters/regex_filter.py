"""Filter on a regular expression, with the meaning of Python's re."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import flags

OPERATOR = {
    "doc": (
        "Remove samples in which a regular expression matches anywhere. It is used by Python's re without flags: "
        "(?i), (?s) and (?m) at its beginning set them. It may be written as r'...'. Some expressions take very long "
        "on some texts; row_timeout limits the time for a sample. regexp_matches in a sql_filter is faster, but knows "
        "no lookarounds and back references, and only ASCII in \\w, \\d, \\s and \\b."
    ),
    "version": 1,
    "peer": "RegexFilter of datatrove 0.10.1",
    "params": {"regex_exp": {"type": "regex", "doc": "The regular expression."}},
    "checks": "problems",
    "stats": {},
    "functions": {
        "regex_exp_matches": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BOOLEAN",
            "runs": "python",
            "call": "matches",
        }
    },
    "sql": "SELECT NOT regex_exp_matches({{ text }}, {{ regex_exp | lit }}) AS keep",
    "examples": [
        {"text": "some Lorem Ipsum text", "params": {"regex_exp": "(?i)lorem ipsum"}, "keep": False},
        {"text": "some Lorem Ipsum text", "params": {"regex_exp": "lorem ipsum"}, "keep": True},
        {"text": "a\n# b", "params": {"regex_exp": "^#"}, "keep": True},
        {"text": "a\n# b", "params": {"regex_exp": "r'(?m)^#'"}, "keep": False},
        {"text": "١٢", "params": {"regex_exp": "\\d{2}(?!\\w)"}, "keep": False},
        {"text": "", "params": {"regex_exp": "x*"}, "keep": False},
        {"text": "", "params": {"regex_exp": "("}, "error": True},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters, as sentences."""
    try:
        _compiled(params["regex_exp"])
    except (re.error, OverflowError, RecursionError) as error:
        return [f"regex_exp: Python's re does not accept it: {error}"]
    return []


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    from refinery.kernels.text.patterns import unwrap

    return re.compile(unwrap(pattern))


def matches(column: pa.Array, pattern: str) -> pa.Array:
    """True for each text in which the expression matches; NULL for NULL."""
    search = _compiled(pattern).search
    found = [None if text is None else search(text) is not None for text in column.to_pylist()]
    if None in found:
        return pa.array(found, pa.bool_())
    return flags(np.array(found, np.bool_))
