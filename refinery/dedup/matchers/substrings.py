"""Matcher `substrings`: passages of at least so many bytes or tokens that occur before, which are taken out of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.dedup.matchers.model import MatchColumn, SetQuery

_RAILS: dict[str, dict[str, Any]] = {
    "max_removed_share": {
        "type": "float",
        "default": None,
        "min": 0,
        "max": 1,
        "doc": "A larger share of repeated bytes (or tokens) in texts of at least min_length, of all or of one input, counts as "
        "suspicious; see on_excess.",
    },
    "on_excess": {
        "type": "str",
        "default": "fail",
        "choices": ["fail", "warn"],
        "doc": "For a suspicious result, end the run before anything is written, or only make a note.",
    },
}


@dataclass(frozen=True)
class SubstringMatcher:
    """Windows of a text match when their bytes are equal, wherever they start; see `refinery.kernels.dedup.substrings`.

    The parameters `min_length`, `unit` ("byte" or "token") and `keep` ("first" or "none") of an operator decide the passages.
    """

    columns: tuple[MatchColumn, ...] = (MatchColumn("items", form="tuples", each="place key content content_2"),)
    by_value: bool = False
    takes_units: bool = True
    params: Mapping[str, dict[str, Any]] = field(default_factory=lambda: _RAILS)
    only_compares: frozenset[str] = frozenset()
    measured: tuple[str, str] | None = None

    def problem(self, header: Mapping[str, Any]) -> str:
        """The reason why a header does not fit; "" if it does."""
        lacking = [name for name in ("min_length", "unit", "keep") if name not in (header.get("params") or {})]
        if lacking:
            return f"a deduplicator of substrings needs the parameters {', '.join(lacking)}"
        there = header.get("apply") and header.get("compare")
        return "" if there else "a deduplicator of substrings needs `apply`, and `compare`, which selects the text"

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        what = f"every {params['min_length']:,} consecutive {params['unit']}s of each text"
        copies = "the first copy stays" if params["keep"] == "first" else "no copy stays"
        return [f"{what}; of equal ones {copies}"]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """No queries: kernels compare, in rounds of tasks."""
        return []
