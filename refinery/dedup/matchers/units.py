"""Matcher `units`: equal lines, paragraphs or spans of sentences, which are taken out of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refinery.dedup.matchers.model import MatchColumn, SetQuery

_IN_MANY = "more_documents_than"


@dataclass(frozen=True)
class UnitMatcher:
    """Units match when their keys are equal; the field `rule` of a header says which of them are removed."""

    columns: tuple[MatchColumn, ...] = (MatchColumn("units", form="rows", each="key"),)
    by_value: bool = True
    takes_units: bool = True
    params: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    only_compares: frozenset[str] = frozenset()
    measured: tuple[str, str] | None = None

    def problem(self, header: Mapping[str, Any]) -> str:
        """The reason why a header does not fit; "" if it does."""
        return "" if header.get("apply") and header.get("rule") else "a deduplicator of units needs `apply` and `rule`"

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        rule = operator.rule
        if rule["kind"] == _IN_MANY:
            many = params[rule["threshold"]]
            return [f"parts of each text; those in more than {many} samples are removed from all of them"]
        return ["parts of each text; repeated ones are removed, the first stays"]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query for the units to remove, by sample and unit."""
        rule = operator.rule
        if rule["kind"] == _IN_MANY:
            return [SetQuery("units_in_many", "the parts that go", {"threshold": int(params[rule["threshold"]])})]
        return [SetQuery("units_seen_before", "the parts that go")]
