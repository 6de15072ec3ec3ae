"""SQL for a recipe's bounds and orders: the range of a statistic, the order of `keep`."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.common.lazy import exp
from refinery.compiler.templates import lit
from refinery.operators.bounds import FilterBound, KeptRange
from refinery.recipe.sql import parse


def order_terms(text: str) -> list[tuple[str, str]]:
    """The terms of an SQL order with their directions. Raises ValueError if the text is not an SQL order."""
    try:
        select = parse(f"SELECT 1 ORDER BY {text}")
    except ValueError as error:
        raise ValueError(f"keep is neither `first`, `longest`, `newest` nor an SQL order: {error}") from None
    order = select.args.get("order")
    if order is None or not isinstance(select, exp.Select):
        raise ValueError("keep is neither `first`, `longest`, `newest` nor an SQL order such as length(text) desc")
    return [
        (
            term.this.sql("duckdb"),
            f"{'DESC' if term.args.get('desc') else 'ASC'} NULLS {'FIRST' if term.args.get('nulls_first') else 'LAST'}",
        )
        for term in order.expressions
    ]


def in_range(column: str, kept: KeptRange) -> str:
    """SQL for "the filter keeps the statistic's value"; NULL for a value that is NULL."""
    parts = []
    if kept.low is not None:
        parts.append(f"{column} {'>=' if kept.low.closed else '>'} {lit(kept.low.value)}")
    if kept.high is not None:
        parts.append(f"{column} {'<=' if kept.high.closed else '<'} {lit(kept.high.value)}")
    inside = " AND ".join(parts) or "TRUE"
    return f"NOT ({inside})" if kept.reversed else inside


def kept_if(alive: str, conditions: Sequence[str], guarded: bool) -> str:
    """SQL for "the filter keeps the sample". guarded: a condition is computed for live samples only.

    AND evaluates both sides; only CASE keeps a predicate off samples that are removed.
    """
    condition = conditions[0] if len(conditions) == 1 else " AND ".join(f"({c})" for c in conditions)
    if guarded:
        return f"coalesce(CASE WHEN {alive} THEN {condition} END, FALSE)"
    return f"{alive} AND coalesce({condition}, FALSE)"


def misses(column: str, kept: KeptRange) -> list[tuple[str, str, FilterBound | None]]:
    """The ways in which a value is not kept: SQL, side (`low`, `high` or `inside` a reversed range), and the bound."""
    if kept.reversed:
        return [(f"{column} IS NOT NULL", "inside", next(iter(kept.ends), None))]
    tests: list[tuple[str, str, FilterBound | None]] = []
    if kept.low is not None:
        tests.append((f"{column} {'<' if kept.low.closed else '<='} {lit(kept.low.value)}", "low", kept.low))
    if kept.high is not None:
        tests.append((f"{column} {'>' if kept.high.closed else '>='} {lit(kept.high.value)}", "high", kept.high))
    return tests
