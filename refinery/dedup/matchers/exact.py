"""Matcher `keys`: samples with equal keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.equal import equal_pairs
from refinery.dedup.matchers.model import (
    KeyRelations,
    MatchColumn,
    MatchScript,
    MatchSql,
    Pairs,
    SetQuery,
    ShingleComparison,
)


class ExactMatcher(SampleDefaults):
    """Samples match when their keys, of any type, are equal."""

    columns: tuple[MatchColumn, ...] = (MatchColumn("key"),)
    any_type: bool = True
    direct: str = "equality"
    by_value: bool = True
    match: MatchSql = MatchSql("CAST(one.key AS VARCHAR)")

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        key = f": {' '.join(str(params['key']).split())}" if operator.params.get("key") else ", one value for each text"
        return [f"keys{key}; samples with equal ones are duplicates"]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query with which a run finds pairs."""
        return [SetQuery("same_key")]

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Samples with equal keys."""
        return equal_pairs(keys, "key", 0)

    def equal_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """The column of keys, which machines of a cluster can join."""
        return [("key", 0)]

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""
        return MatchScript(SetQuery("pairs_of_keys", values={"same_key": SetQuery("same_key")}))
