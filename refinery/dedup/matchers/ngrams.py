"""Matcher `ngrams`: parts of texts, most of whose n-grams are in a Bloom filter of those before them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.dedup.matchers.model import MatchColumn, SetQuery

# One function decides all units, because each decision depends on those before it.
_UNITS = """-- Units whose n-grams are in a Bloom filter of those before them, one unit after the other.
SELECT one._row, one.unit, CAST(NULL AS BIGINT) AS kept, one.matched
FROM (
  SELECT
    unnest(
      units_in_filter(
        list(_row ORDER BY _row), list(ngrams ORDER BY _row), list(sizes ORDER BY _row),
        {expected}, {rate}, {threshold}, {remember}, {level}
      )
    ) AS one
  FROM marks
)
ORDER BY one._row, one.unit"""

_RAILS: dict[str, dict[str, Any]] = {
    "max_removed_share": {
        "type": "float",
        "default": None,
        "min": 0,
        "max": 1,
        "doc": "A larger share of removed n-grams, of all or of one input, counts as suspicious; see on_excess.",
    },
    "on_excess": {
        "type": "str",
        "default": "fail",
        "choices": ["fail", "warn"],
        "doc": "For a suspicious result, or a filter with more n-grams than expected_ngrams, end the run before anything "
        "is written, or only make a note.",
    },
}


@dataclass(frozen=True)
class NgramMatcher:
    """Units match when a Bloom filter has most of their n-grams. `ngrams` and `sizes`: of each text, unit by unit."""

    columns: tuple[MatchColumn, ...] = (MatchColumn("ngrams"), MatchColumn("sizes"))
    by_value: bool = False
    takes_units: bool = True
    params: Mapping[str, dict[str, Any]] = field(default_factory=lambda: _RAILS)
    only_compares: frozenset[str] = frozenset()
    measured: tuple[str, str] | None = None

    def problem(self, header: Mapping[str, Any]) -> str:
        """The reason why a header does not fit; "" if it does."""
        return "" if header.get("apply") and header.get("rule") else "a deduplicator of units needs `apply` and `rule`"

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        rate, expected = float(params["false_positive_rate"]), params.get("expected_ngrams")
        each = -math.log(rate) / math.log(2) ** 2
        size = f"{expected} n-grams, {math.ceil(expected * each / 8)} bytes" if expected else "the n-grams of the input"
        return [
            f"n-grams of each text; parts with more than {params['duplicate_threshold']:g} of theirs in the filter are removed",
            f"a Bloom filter for {size}: {max(1, round(-math.log2(rate)))} bits of {each:.3g} for each n-gram; "
            f"an n-gram that is new counts as known with a probability of up to {rate:g}",
        ]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query for the units to remove; a run of many texts fills the filter in parts, with the same result."""
        text = _UNITS.format(
            expected=f"CAST({params.get('expected_ngrams') or 0} AS BIGINT)",
            rate=f"CAST({float(params['false_positive_rate'])!r} AS DOUBLE)",
            threshold=f"CAST({float(params['duplicate_threshold'])!r} AS DOUBLE)",
            remember=f"'{params['remember']}'",
            level=f"'{params['level']}'",
        )
        return [SetQuery("units_in_filter", "the parts that go", text=text)]
