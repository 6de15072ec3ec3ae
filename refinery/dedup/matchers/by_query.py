"""Matchers that are one SQL query: the way for operator folders of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery import kernels
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.model import (
    KeyRelations,
    MatchColumn,
    MatchScript,
    MatchSql,
    Pairs,
    SetQuery,
    ShingleComparison,
)
from refinery.dedup.matchers.params import SURVIVOR_PARAMS

_PAIRS = "SELECT _row, via, CAST(how AS INTEGER) AS how FROM ({}) WHERE _row <> via"
_SCRIPT = "CREATE OR REPLACE TEMP TABLE pairs AS\nSELECT *, CAST(NULL AS DOUBLE) AS jaccard FROM ({})"


@dataclass(frozen=True)
class QueryMatcher(SampleDefaults):
    """Samples match when a query gives them as a pair.

    columns: names of the columns that the body of an operator selects; a sample for which the first is NULL takes no
    part. query: SQL over `marks` (`_row` and these columns) for given parameters, with the columns `_row`, `via` and
    `how`, an integer; of several matches of a sample the least `how` explains it. Pairs must not depend on the order in
    which rows are read. match: SQL that shows a match. meaning: of a match, for plans. only_compares: parameters that
    change pairs, but no column. by: a column in which matched samples are always equal, if there is one: tasks of a cluster
    then run the query over shares of its values.
    """

    columns: tuple[MatchColumn, ...]
    query: Callable[[Mapping[str, Any]], str]
    match: MatchSql
    meaning: str
    only_compares: frozenset[str] = frozenset()
    measured: tuple[str, str] | None = None
    params: Mapping[str, dict[str, Any]] = field(default_factory=lambda: SURVIVOR_PARAMS)
    by: str = ""

    def described(self, operator: Any, params: Mapping[str, Any]) -> list[str]:
        """Lines of a plan."""
        names = ", ".join(column.name for column in self.columns)
        return [f"{names}; {self.meaning}"]

    def queries(self, operator: Any, params: Mapping[str, Any]) -> list[SetQuery]:
        """The query with which a run finds pairs."""
        return [self._query(params)]

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Pairs that the query gives."""
        return self._pairs(keys, params)

    def _pairs(self, keys: KeyRelations, params: Mapping[str, Any]) -> Iterator[Pairs]:
        import numpy as np

        keys.keep()
        for batch in keys.batches(keys.sql(self._query(params))):
            row, via, how = (kernels.core.arrow.numbers(batch.column(name)) for name in ("_row", "via", "how"))
            yield Pairs(row, via, how, np.full(len(row), np.nan))

    def candidate_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """The column in which matched samples are equal; None without one."""
        return [(self.by, 0)] if self.by else None

    def pairs_among(self, keys: KeyRelations, column: str, params: Mapping[str, Any]) -> Iterator[Pairs]:
        """Pairs that the query gives."""
        return self._pairs(keys, params)

    def script(self, params: Mapping[str, Any]) -> MatchScript:
        """Statements of the script that find pairs."""
        text = _SCRIPT.format(_PAIRS.format(self.query(params)))
        return MatchScript(SetQuery("pairs", text=text), nearest="number")

    def _query(self, params: Mapping[str, Any]) -> SetQuery:
        return SetQuery("pairs", text=_PAIRS.format(self.query(params)))
