"""SQL for a recipe's bounds and orders: the range of a statistic, the order of `keep`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from refinery.compiler.model import UNBOUNDED
from refinery.compiler.templates import lit
from refinery.recipe.sql import parse


def order_terms(text: str) -> list[tuple[str, str]]:
    """The terms of an SQL order with their directions. Raises ValueError if the text is not an SQL order."""
    try:
        select = parse(f"SELECT 1 ORDER BY {text}")
    except ValueError as error:
        raise ValueError(f"keep is neither `first` nor an SQL order: {error}") from None
    order = select.args.get("order")
    if order is None or not isinstance(select, exp.Select):
        raise ValueError("keep is neither `first` nor an SQL order such as length(text) desc")
    return [
        (
            term.this.sql("duckdb"),
            f"{'DESC' if term.args.get('desc') else 'ASC'} NULLS {'FIRST' if term.args.get('nulls_first') else 'LAST'}",
        )
        for term in order.expressions
    ]


def in_range(column: str, params: Mapping[str, Any], low: str | None, high: str | None) -> str:
    """SQL for "the statistic is in its range", as Data-Juicer's filters decide it.

    A reversed range swaps closed and open ends before it negates, so it also keeps a boundary value that belongs to
    the range.
    """
    reverse = bool(params.get("reversed_range"))
    closed_low = bool(params.get("min_closed_interval", True)) != reverse
    closed_high = bool(params.get("max_closed_interval", True)) != reverse
    parts = []
    if low is not None and params.get(low) is not None:
        parts.append(f"{column} {'>=' if closed_low else '>'} {lit(params[low])}")
    if high is not None and params.get(high) not in (None, UNBOUNDED):
        parts.append(f"{column} {'<=' if closed_high else '<'} {lit(params[high])}")
    inside = " AND ".join(parts) or "TRUE"
    return f"NOT ({inside})" if reverse else inside
