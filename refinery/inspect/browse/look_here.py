"""Fields and sources of an input that are unlike the others, each with the rows that show it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery.common.lazy import duckdb
from refinery.inspect.browse.field_summary import Categories, FieldSummary

# A field is skewed if one value has more than this share; missing is listed from this share on.
_SKEWED, _MISSING = 0.9, 0.01
# A source is listed if it has so many rows, lost more than half of them, and more than chance explains: so many standard
# deviations more than the whole input. Sources of one field that are listed.
_SOURCE_ROWS, _LOST, _DEVIATIONS, _SOURCES = 20, 0.5, 4, 10
# Lengths are outliers if they are this many times the range between the quartiles away from these, in logarithms.
_FAR = 3


@dataclass(frozen=True)
class LookHere:
    """A remark on a field, or on a source. kind: constant, missing, mixed, skewed, lost, short or long. rows: filter that lists its rows."""

    kind: str
    subject: str
    remark: str
    rows: dict[str, Any] = field(default_factory=dict)


def look_here(con: duckdb.DuckDBPyConnection, summaries: Sequence[FieldSummary], lost: float = 0) -> list[LookHere]:
    """Remarks on the fields that were read, and on all files and lengths of texts in the run's tables.

    lost: share of the rows read that were not kept.
    """
    of_fields = [remark for summary in summaries for remark in _of_field(summary, lost)]
    return [*_files(con), *_lengths(con), *of_fields]


def _of_field(summary: FieldSummary, lost: float) -> Iterator[LookHere]:
    name, seen = summary.name, f"of {summary.rows:,} rows read"
    if summary.nulls >= max(1, _MISSING * summary.rows):
        share = 100 * summary.nulls / summary.rows
        yield LookHere(
            "missing", name, f"missing in {summary.nulls:,} {seen} ({share:.0f} %)", {"field": name, "how": "missing"}
        )
    if len(summary.kinds) > 1:
        kinds = ", ".join(f"{kind} in {rows:,}" for kind, rows in summary.kinds.most_common())
        yield LookHere("mixed", name, f"values of several kinds: {kinds} {seen}")
    yield from _one_value(summary)
    if summary.comparable:
        yield from _lost(name, summary.categories, "is", lost)
    yield from _lost(name, summary.hosts, "host", lost)


def _one_value(summary: FieldSummary) -> Iterator[LookHere]:
    """A field that has one value, or nearly so."""
    categories = summary.categories
    if not categories.values or summary.present < 2:
        return
    value, counted = categories.most(1)[0]
    shown = value if len(value) <= 40 else f"{value[:40]}…"
    if len(categories.values) == 1:
        yield LookHere("constant", summary.name, f"is {shown!r} wherever it has a value ({counted.rows:,} rows)")
    elif counted.rows > _SKEWED * summary.present:
        share = 100 * counted.rows / summary.present
        others = f"{summary.present - counted.rows:,} rows have one of {len(categories.values) - 1:,} other values"
        remark = f"is {shown!r} in {share:.0f} % of {summary.present:,} rows; {others}"
        rows = {"field": summary.name, "how": "is", "what": value} if summary.comparable else {}
        yield LookHere("skewed", summary.name, remark, rows)


def _is_lost(rows: int, lost: int, whole: float) -> bool:
    """Return whether a source lost more than half, and more than the whole did by chance."""
    by_chance = whole * rows + _DEVIATIONS * math.sqrt(whole * (1 - whole) * rows)
    return rows >= _SOURCE_ROWS and lost > max(_LOST * rows, by_chance)


def _lost(name: str, categories: Categories, how: str, whole: float) -> Iterator[LookHere]:
    """Values of a field whose rows were mostly not kept, if the field has several."""
    if len(categories.values) < 2:
        return
    worst = sorted(categories.values.items(), key=lambda item: -item[1].lost)
    listed = [one for one in worst if _is_lost(one[1].rows, one[1].lost, whole)]
    for value, counted in listed[:_SOURCES]:
        share = 100 * counted.lost / counted.rows
        remark = f"lost {share:.0f} %: {counted.lost:,} of {counted.rows:,} rows read were not kept"
        yield LookHere("lost", f"{name}: {value}", remark, {"field": name, "how": how, "what": value})


def _files(con: duckdb.DuckDBPyConnection) -> Iterator[LookHere]:
    """Files that lost more than half of their rows, if there are several."""
    files = con.execute(_FILES).fetchall()
    whole = sum(lost for _, _, lost in files) / max(1, sum(rows for _, rows, _ in files))
    listed = [one for one in files if len(files) > 1 and _is_lost(one[1], one[2], whole)]
    for file, rows, lost in listed[:_SOURCES]:
        remark = f"lost {100 * lost / rows:.0f} %: {lost:,} of {rows:,} rows were not kept"
        yield LookHere("lost", file, remark, {"file": file})


_FILES = """
SELECT file, rows, rows - count(_row) AS lost
FROM (SELECT file, first_row, rows FROM files WHERE rows > 0)
LEFT JOIN (SELECT _row FROM row_outcomes WHERE _dropped IS NULL) ON _row >= first_row AND _row < first_row + rows
GROUP BY file, first_row, rows
ORDER BY lost DESC, file
"""


def _lengths(con: duckdb.DuckDBPyConnection) -> Iterator[LookHere]:
    """Texts that are far shorter or longer than most."""
    [(low, high)] = con.execute(_BOUNDS, [_FAR]).fetchall()
    if low is None:
        return
    [(short, long, rows)] = con.execute(_OUTLIERS, [low, high]).fetchall()
    if short:
        remark = f"{short:,} of {rows:,} texts are shorter than {low:,.0f} bytes, far from most"
        yield LookHere("short", "text", remark, {"sort": "bytes", "order": "up"})
    if long:
        remark = f"{long:,} of {rows:,} texts are longer than {high:,.0f} bytes, far from most"
        yield LookHere("long", "text", remark, {"sort": "bytes", "order": "down"})


_BOUNDS = """
SELECT exp(q[1] - distance) AS low, exp(q[2] + distance) AS high
FROM (
  SELECT q, ? * greatest(q[2] - q[1], 0.1) AS distance
  FROM (SELECT approx_quantile(ln(_bytes_0 + 1), [0.25, 0.75]) AS q FROM row_outcomes)
)
"""
_OUTLIERS = """
SELECT count(*) FILTER (_bytes_0 < ?), count(*) FILTER (_bytes_0 > ?), count(*) FROM row_outcomes
"""
