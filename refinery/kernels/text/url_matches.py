"""Addresses in a text by a pattern of a recipe, with the results of Python's `re.findall`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa


def check(params: Mapping[str, Any]) -> list[str]:
    """Faults of the pattern `url_regex`, as sentences."""
    try:
        _compiled(params["url_regex"] or "")
    except (re.error, RecursionError, OverflowError) as error:
        return [f"url_regex is not a regular expression of Python: {error}"]
    return []


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def url_chars(column: pa.Array, pattern: str) -> pa.Array:
    """Characters of the matches in each text; with one group its characters, with several their number for each match."""
    find = _compiled(pattern).findall
    sums = [None if text is None else sum(map(len, find(text))) for text in column.to_pylist()]
    return pa.array(sums, pa.int64())


def has_match_with(column: pa.Array, pattern: str, part: str) -> pa.Array:
    """True for each text of which a match holds `part`; with several groups, of which a group is `part`."""
    find = _compiled(pattern).findall
    verdicts = [None if text is None else any(part in match for match in find(text)) for text in column.to_pylist()]
    return pa.array(verdicts, pa.bool_())
