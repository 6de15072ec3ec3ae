"""Matchers: one class per way of comparing, by the name that headers give under `match`."""

from __future__ import annotations

from typing import Any

from refinery.dedup.matchers.bands import BandMatcher
from refinery.dedup.matchers.by_query import QueryMatcher
from refinery.dedup.matchers.cosine import CosineMatcher
from refinery.dedup.matchers.exact import ExactMatcher
from refinery.dedup.matchers.hamming import HammingMatcher
from refinery.dedup.matchers.model import MatchColumn, Matcher, MatchSql, SampleMatcher
from refinery.dedup.matchers.ngrams import NgramMatcher
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.dedup.matchers.units import UnitMatcher

# Shipped matchers; operator folders of users add theirs (see refinery.operators.folders).
MATCHERS: dict[str, Matcher] = {
    "keys": ExactMatcher(),
    "bands": BandMatcher(),
    "hamming": HammingMatcher(),
    "cosine": CosineMatcher(),
    "units": UnitMatcher(),
    "ngrams": NgramMatcher(),
    "substrings": SubstringMatcher(),
}

# Columns of the comparison by which candidates are verified.
SHINGLES = (MatchColumn("shingles"),)


def measure_of(params: Any) -> tuple[str, str] | None:
    """The parameter of a step that bounds a match, and the statistic that the ledger shows for it."""
    known = (matcher.measured for matcher in MATCHERS.values())
    return next((measure for measure in known if measure is not None and measure[0] in params), None)


__all__ = [
    "MATCHERS",
    "SHINGLES",
    "MatchColumn",
    "MatchSql",
    "Matcher",
    "QueryMatcher",
    "SampleMatcher",
    "measure_of",
]
