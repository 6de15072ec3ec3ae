"""The samples that reached one filter, in memory: what other values of its parameters keep, in one scan of numbers."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.templates import ident, template
from refinery.errors import Problem, RecipeError
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.inspect.tune import KeptAmount
from refinery.inspect.tuned_filter import Decision, TunedFilter
from refinery.operators import read_sql
from refinery.recipe.sql import parse

# The reason where the stored statistics do not have it.
_NOT_KEPT = "'not kept'"

# Variants of filters beside changed ones that stay in memory.
_VARIANTS = 3
# More columns have too many different values together.
_GROUPED = 3


@dataclass(frozen=True)
class Removal:
    """Samples that the filter removes with some values, by a reason, or by another step that removes them, too."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class TrialFigures:
    """Rows and bytes that some values keep and remove of the samples that reached the filter.

    alone, together, unsure: as `refinery tune` has them. removed: by this filter; only_here: of them, by no other step;
    unknown: of them, removed here by the run too, so that later steps have not decided. others: of the removed ones, by
    other steps that remove them. reasons: of the removed ones. newly_removed, newly_kept: against the run's own values.
    """

    alone: KeptAmount
    together: KeptAmount
    unsure: KeptAmount
    removed: KeptAmount
    only_here: KeptAmount
    unknown: KeptAmount
    newly_removed: KeptAmount
    newly_kept: KeptAmount
    others: tuple[Removal, ...]
    reasons: tuple[Removal, ...]


class FilterRows:
    """The rows of one filter. tuned: over a connection that nobody else uses. why_not: the reason why no values can be tried."""

    def __init__(self, tuned: TunedFilter) -> None:
        self.tuned, self.con = tuned, tuned.stored.con
        self._lock = threading.Lock()
        self.why_not = ""
        try:
            decision = self.tuned.decision({})
        except RecipeError:
            self.why_not = "Its condition asks for more than the stored statistics, so values cannot be tried on them."
            decision = Decision(f"_dropped IS DISTINCT FROM {tuned.step.index}", _NOT_KEPT)
        self.columns = self._columns(decision)
        self._load(decision)

    def _columns(self, decision: Decision) -> list[str]:
        """Columns of table `stats` by which the filter decides, and its own statistics."""
        stored = self.tuned.stored.columns["stats"]
        named = [stat.column for stat in self.tuned.stats] + _names(decision.condition) + _names(decision.reason)
        return [name for name in dict.fromkeys(named) if name in stored and name not in ("_row", "kept")]

    def _load(self, decision: Decision) -> None:
        columns = [ident(column) for column in self.columns]
        others = [(step, sql) for step, sql in self.tuned.others.items() if sql is not None]
        query = template(read_sql("analysis/filter_rows.sql")).render(
            columns=columns,
            condition=decision.condition,
            others=others,
            step=self.tuned.step.index,
            **asdict(self.tuned.fates),
        )
        self.con.execute(query).fetchall()
        by_row = "_row" in _names(decision.condition) + _names(decision.reason)
        if by_row or not self._has_classes(columns):
            self.con.execute(
                "CREATE OR REPLACE TEMP VIEW filter_classes AS SELECT *, 1 AS _n FROM filter_rows"
            ).fetchall()

    def _has_classes(self, columns: Sequence[str]) -> bool:
        """Make table `filter_classes`, unless the samples are hardly fewer then."""
        if len(columns) > _GROUPED:
            return False
        query = template(read_sql("analysis/filter_classes.sql")).render(columns=columns)
        self.con.execute(query).fetchall()
        [[few]] = self.con.execute(
            "SELECT (SELECT count(*) FROM filter_classes) * 2 <= (SELECT count(*) FROM filter_rows)"
        ).fetchall()
        if not few:
            self.con.execute("DROP TABLE filter_classes").fetchall()
        return bool(few)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a query over table `filter_rows`; one query at a time."""
        with self._lock:
            return dicts(self.con, query, values)

    def decision(self, values: Mapping[str, Any]) -> Decision:
        """The filter's decision with other values. Raises RecipeError where it cannot be known."""
        if self.why_not:
            raise RecipeError([Problem("", self.why_not)])
        with self._lock:  # compiling looks into the run's tables
            decision = self.tuned.decision(values)
        known = {*self.columns, "_row"}
        return decision if known.issuperset(_names(decision.reason)) else Decision(decision.condition, _NOT_KEPT)

    def trial(self, values: Mapping[str, Any]) -> TrialFigures:
        """The figures of some values. Raises RecipeError."""
        decision = self.decision(values)
        query = template(read_sql("analysis/filter_trial.sql")).render(**asdict(decision))
        return _figures(self.rows(query))

    def nearest(
        self, values: Mapping[str, Any], column: str, side: str, bound: float, limit: int, among: str = "TRUE"
    ) -> dict[str, list[dict[str, Any]]]:
        """Samples nearest to a bound of a statistic: `inside`, which the values keep, and `outside`. side: low or high.

        among: SQL for the samples that the bound is for.
        """
        decision = self.decision(values)
        reverse = bool({**self.tuned.step.params, **values}.get("reversed_range"))
        grows = (side == "low") != reverse  # larger values are inside
        query = template(read_sql("analysis/filter_nearest.sql"))
        known = {
            "condition": decision.condition,
            "column": ident(column),
            "bound": repr(float(bound)),
            "limit": limit,
            "among": among,
        }
        return {
            "inside": self.rows(query.render(keeps=True, compared=">=" if grows else "<=", **known)),
            "outside": self.rows(query.render(keeps=False, compared="<=" if grows else ">=", **known)),
        }


class Variants:
    """The rows of filters beside other filters with changed values: the last few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, str], FilterRows] = OrderedDict()

    def rows(self, run: ExploredRun, tuned: TunedFilter, changed: Mapping[int, str]) -> FilterRows:
        """The rows of a filter. changed: conditions of other filters, by step."""
        key = (tuned.step.index, json.dumps(changed, sort_keys=True))
        with self._lock:
            if key not in self._known:
                self._known[key] = FilterRows(replace(tuned, stored=run.lasting(), changed=changed))
            self._known.move_to_end(key)
            while len(self._known) > _VARIANTS:
                self._known.popitem(last=False)  # a request that still has it may end
            return self._known[key]


def _names(sql: str) -> list[str]:
    """Columns that an expression names."""
    return [column.parts[0].name for column in parse(f"SELECT {sql}").find_all(exp.Column)]


def _figures(rows: Sequence[Mapping[str, Any]]) -> TrialFigures:
    kept = [row for row in rows if row["reason"] is None]
    removed = [row for row in rows if row["reason"] is not None]
    return TrialFigures(
        alone=_amount(kept),
        together=_amount((row for row in kept if row["fate"] == "kept"), "bytes_end"),
        unsure=_amount(row for row in kept if row["fate"] == "here"),
        removed=_amount(removed),
        only_here=_amount(row for row in removed if row["fate"] == "kept"),
        unknown=_amount(row for row in removed if row["fate"] == "here"),
        newly_removed=_amount(row for row in removed if row["in_force"]),
        newly_kept=_amount(row for row in kept if not row["in_force"]),
        others=_by((step, row) for row in removed for step in filter(None, row["others"].split(","))),
        reasons=_by((row["reason"], row) for row in removed),
    )


def _amount(rows: Iterable[Mapping[str, Any]], size: str = "bytes_here") -> KeptAmount:
    listed = list(rows)
    return KeptAmount(sum(int(row["rows"]) for row in listed), sum(int(row[size]) for row in listed))


def _by(pairs: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[Removal, ...]:
    """Amounts by name, the largest first."""
    sums: dict[str, list[Mapping[str, Any]]] = {}
    for name, row in pairs:
        sums.setdefault(name, []).append(row)
    amounts = [Removal(name, **asdict(_amount(rows))) for name, rows in sums.items()]
    return tuple(sorted(amounts, key=_largest))


def _largest(removal: Removal) -> tuple[int, str]:
    return -removal.rows, removal.name
