"""Values of a filter's statistics by fate: bins of numbers, the most frequent of other values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from refinery.compiler.templates import ident, lit, template
from refinery.explore.filter_rows import FilterRows
from refinery.inspect.report.axes import Axis, axis_of
from refinery.operators import read_sql
from refinery.operators.bounds import FilterBound

_NUMBERS = ("DOUBLE", "FLOAT", "BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "SMALLINT", "TINYINT", "HUGEINT", "DECIMAL")
# Values from which the axis is made; more say no more of it.
_SAMPLED = 100_000
_SHARES = (0.005, 0.5, 0.995)
_VALUES = 30
# Characters of a longest value that can be chosen for a list.
_LONGEST = 200
# By fate, as the page colours it: kept by all steps, removed by this filter, removed by another step.
FATES = ("kept", "here", "later")
_BY_FATE = (
    "SELECT *, CASE WHEN NOT _in_force THEN 'here' WHEN _fate = 'kept' THEN 'kept' ELSE 'later' END AS fate "
    "FROM filter_classes JOIN filter_kinds USING (_kind)"
)


def histogram_of(rows: FilterRows, column: str, ends: Sequence[FilterBound]) -> dict[str, Any]:
    """A statistic of the filter as plain data: its axis and counts by fate, or its values. ends: bounds to show."""
    [kinds] = rows.rows(f"SELECT typeof({ident(column)}) AS kind FROM filter_rows LIMIT 1") or [{"kind": ""}]
    kind = str(kinds["kind"])
    about = {"column": column, "type": kind, "missing": _count(rows, f"{ident(column)} IS NULL")}
    if not kind.startswith(_NUMBERS):
        return about | {"values": _values(rows, column)}
    about["not_finite"] = _count(rows, f"NOT isfinite(CAST({ident(column)} AS DOUBLE))")
    is_integer = not kind.startswith(("DOUBLE", "FLOAT", "DECIMAL"))
    axis = _axis(rows, column, ends, is_integer)
    return about | {"whole": is_integer, **(_bins(rows, column, axis) if axis else {})}


def _count(rows: FilterRows, condition: str) -> int:
    [counted] = rows.rows(f"SELECT count(*) AS n FROM filter_rows WHERE {condition}")
    return int(counted["n"])


def _axis(rows: FilterRows, column: str, ends: Sequence[FilterBound], is_integer: bool) -> Axis | None:
    number = f"CAST({ident(column)} AS DOUBLE)"
    [ranged] = rows.rows(
        f"SELECT min({number}) AS low, max({number}) AS high, count(*) AS n FROM filter_rows WHERE isfinite({number})"
    )
    every = max(1, math.ceil(ranged["n"] / _SAMPLED))
    [middle] = rows.rows(
        f"SELECT quantile_disc({number}, {list(_SHARES)}) AS at FROM filter_rows WHERE isfinite({number}) AND hash(_row) % {every} = 0"
    )
    quantiles = dict(zip(_SHARES, middle["at"] or (), strict=False))
    return axis_of(ranged["low"], ranged["high"], quantiles, ends, is_integer)


def _bins(rows: FilterRows, column: str, axis: Axis) -> dict[str, Any]:
    query = template(read_sql("analysis/filter_histogram.sql")).render(column=ident(column), axis=axis)
    counts = {fate: [0] * axis.bins for fate in FATES}
    outside = {-1: 0, axis.bins: 0}
    for row in rows.rows(query):
        if row["bin"] in outside:
            outside[row["bin"]] += row["samples"]
        else:
            counts[row["fate"]][row["bin"]] = row["samples"]
    ends = {"low": axis.low, "high": axis.high, "log": axis.log, "edges": axis.edges}
    return {"axis": ends, "counts": counts, "below": outside[-1], "above": outside[axis.bins]}


def choices_of(rows: FilterRows, column: str, members: Sequence[int | str]) -> list[dict[str, Any]]:
    """Values that a list may have: its members, then the most frequent others; with samples and bytes by fate."""
    sums = ", ".join(
        f"coalesce(sum(_n) FILTER (fate = {lit(fate)}), 0) AS {fate}, "
        f"CAST(coalesce(sum(_bytes_here) FILTER (fate = {lit(fate)}), 0) AS BIGINT) AS {fate}_bytes"
        for fate in FATES
    )
    listed = f"list_contains({lit(list(members))}, {ident(column)})"
    known = rows.rows(
        f"SELECT {ident(column)} AS value, {sums} FROM ({_BY_FATE}) "
        f"WHERE {listed} OR length(CAST({ident(column)} AS VARCHAR)) <= {_LONGEST} "
        f"GROUP BY ALL ORDER BY bool_or({listed}) DESC, sum(_n) DESC, value LIMIT {_VALUES + len(members)}"
    )
    present = {row["value"] for row in known}
    none = {name: 0 for fate in FATES for name in (fate, f"{fate}_bytes")}
    return known + [{"value": value, **none} for value in dict.fromkeys(members) if value not in present]


def _values(rows: FilterRows, column: str) -> list[dict[str, Any]]:
    """The most frequent values, with samples by fate."""
    counts = ", ".join(f"coalesce(sum(_n) FILTER (fate = {lit(fate)}), 0) AS {fate}" for fate in FATES)
    return rows.rows(
        f"SELECT left(CAST({ident(column)} AS VARCHAR), 200) AS value, sum(_n) AS samples, {counts} FROM ({_BY_FATE}) "
        f"GROUP BY 1 ORDER BY samples DESC, value LIMIT {_VALUES}"
    )
