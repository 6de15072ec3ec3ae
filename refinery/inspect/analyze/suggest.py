"""Suggested bounds: mean and three standard deviations, within the values' range, or 1 % and 99 % quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from refinery.compiler.bounds import in_range
from refinery.compiler.model import Stat, bytes_name
from refinery.compiler.templates import ident, lit, template
from refinery.operators import RANGE_PARAMS, Operator, read_sql
from refinery.operators.bounds import UNBOUNDED, FilterBound, KeptRange
from refinery.planning.plan import CompiledStage
from refinery.recipe import Recipe, dump
from refinery.recipe.model import Step
from refinery.results.database import Database

METHODS = {"quantile": "the 1 % and the 99 % quantile", "3-sigma": "the mean and three standard deviations"}
# Digits of a suggested bound; it is rounded outwards, so it removes no more than the exact bound.
_DIGITS = 4


@dataclass(frozen=True)
class SuggestedRange:
    """A suggested range of one statistic. low, high: inclusive."""

    stat: Stat
    method: str
    low: float
    high: float

    @property
    def kept(self) -> KeptRange:
        """The range that a filter with these bounds keeps."""
        return KeptRange(FilterBound(self.stat.low or "", self.low), FilterBound(self.stat.high or "", self.high))


def fill(db: Database, stages: Sequence[CompiledStage], steps: Sequence[Step], stats: Sequence[Stat]) -> None:
    """Fill the table `suggestions` from `quantiles`, `stat_summary` and the facts of the run."""
    by_number, operators = {step.index: step for step in steps}, stages[0].inputs.library.operators
    bounds = []
    for stat in stats:
        step = by_number[stat.step]
        for method, low, high in _ranges(db, stat.column):
            bounds.append(_rounded(SuggestedRange(stat, method, low, high), operators[step.name]))
    versions = [number for planned in stages for number in planned.chain.versions]
    conditions = [_as_sql(bound, by_number[bound.stat.step].name, versions) for bound in bounds]
    query = template(read_sql("analysis/suggestions.sql")).render(bounds=conditions, relation="facts")
    db.run(f"CREATE OR REPLACE TABLE suggestions AS {query}")


def _ranges(db: Database, column: str) -> list[tuple[str, float, float]]:
    """(method, low, high) of a statistic; none for a statistic without values or with one value only."""
    where = f"\"group\" = 'summary' AND stat = {lit(column)}"
    ends = db.rows(f"SELECT value FROM quantiles WHERE {where} AND quantile IN (0.01, 0.99) ORDER BY quantile")
    moments = db.rows(f"SELECT n, mean, m2, min, max FROM stat_summary WHERE {where} AND n > 0 AND min < max")
    ranges = [("quantile", ends[0][0], ends[1][0])] if len(ends) == 2 and moments else []
    for n, mean, m2, least, most in moments:
        spread = 3 * math.sqrt(m2 / (n - 1)) if n > 1 else 0.0
        if math.isfinite(mean) and math.isfinite(spread):
            ranges.append(("3-sigma", max(mean - spread, least), min(mean + spread, most)))
    return ranges


def _rounded(bound: SuggestedRange, operator: Operator) -> SuggestedRange:
    """The range as written into a recipe: few digits, within the limits of the parameters."""
    low, high = _end(bound.low, ROUND_FLOOR), _end(bound.high, ROUND_CEILING)
    least, most = (operator.params.get(name or "") for name in (bound.stat.low, bound.stat.high))
    if least is not None and most is not None:
        if "int" in (least.type, most.type):
            low, high = float(math.floor(bound.low)), float(math.ceil(bound.high))
        low = max(low, least.min) if least.min is not None else low
        high = min(high, most.max) if most.max is not None else high
    return replace(bound, low=low, high=high)


def _end(value: float, rounding: str) -> float:
    return float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)))


def _as_sql(bound: SuggestedRange, operator: str, versions: Sequence[int]) -> dict[str, Any]:
    """Values for the SQL template; the bytes are those of the text that the step receives."""
    version = max(number for number in versions if number < bound.stat.step)
    return {
        "step": bound.stat.step,
        "operator": lit(operator),
        "stat": lit(bound.stat.column),
        "method": lit(bound.method),
        "low": lit(bound.low),
        "high": lit(bound.high),
        "inside": in_range(f"CAST({ident(bound.stat.column)} AS DOUBLE)", bound.kept),
        "bytes": bytes_name(version),
    }


def fragment(recipe: Recipe, stats: Sequence[Stat], suggestions: Sequence[dict[str, Any]], method: str) -> str:
    """The recipe with the bounds of one method, as YAML; a comment above each step states what it alone would remove.

    stats: of the run. suggestions: rows of the table. Steps that have none stay as they are.
    """
    by_column = {stat.column: stat for stat in stats}
    rows = [row for row in suggestions if row["method"] == method]
    free = [row for row in rows if by_column[row["stat"]].low is None and by_column[row["stat"]].high is None]
    steps: list[tuple[Step, str]] = []
    for step in recipe.steps:
        own = [row for row in rows if row["step"] == step.index and row not in free]
        steps.append(_bounded(step, own, by_column))
    steps += [_filter(row) for row in free]  # at the end, so that steps keep their numbers and statistics their names
    plain = _plain(recipe, [step for step, _ in steps])
    return f"# Bounds: {METHODS[method]}.\n" + _commented(dump(plain), [comment for _, comment in steps])


def _bounded(step: Step, rows: Sequence[dict[str, Any]], stats: dict[str, Stat]) -> tuple[Step, str]:
    """The step with the suggested bounds, and the comment on what they would remove."""
    params = {name: value for name, value in step.params.items() if name in step.given}
    for row in rows:
        params = {name: value for name, value in params.items() if name not in RANGE_PARAMS}
        stat = stats[row["stat"]]
        ends = {stat.low: row["low"], stat.high: row["high"]}
        params |= {name: _number(value) for name, value in ends.items() if name is not None}
    return replace(step, params=params), "; ".join(_share(row) for row in rows)


def _filter(row: dict[str, Any]) -> tuple[Step, str]:
    """A `sql_filter` step on a statistic of an operator that only measures."""
    where = f"{ident(row['stat'])} BETWEEN {_number(row['low'])!r} AND {_number(row['high'])!r}"
    return Step(0, "sql_filter", {"where": where}, frozenset({"where"})), _share(row)


def _number(value: float) -> float | int:
    """The number as a recipe writes it: whole numbers without a decimal point."""
    return int(value) if value.is_integer() and abs(value) < UNBOUNDED else value


def _share(row: dict[str, Any]) -> str:
    rows = 100 * row["rows_removed"] / max(row["rows"], 1)
    size = 100 * row["bytes_removed"] / max(row["bytes"], 1)
    return f"removes {rows:.2f} % of rows, {size:.2f} % of bytes"


def _plain(recipe: Recipe, steps: Sequence[Step]) -> Recipe:
    """The recipe's inputs and steps; the user of the fragment adds where results go."""
    kept = {name: getattr(recipe, name) for name in ("inputs", "max_sample_num", "text_keys", "suffixes", "operators")}
    nowhere: Any = None
    return Recipe(steps=tuple(steps), work_dir=nowhere, **kept)


def _commented(text: str, comments: Sequence[str]) -> str:
    """A comment above each item of `process:`."""
    head, _, items = text.partition("\nprocess:\n")
    left = iter(comments)
    lines = []
    for line in items.splitlines():
        if line.startswith("- ") and (comment := next(left)):
            lines.append(f"# {comment}")
        lines.append(line)
    return "\n".join([head, "process:", *lines]) + "\n"
