"""The first things to look at in a report: alarms, and unusual figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.numbers import number
from refinery.inspect.report.duplicates import DeduplicatorFindings
from refinery.inspect.report.facts import Facts, ReportStep
from refinery.inspect.report.sources import Sources
from refinery.inspect.report.tables import Row, RunTables
from refinery.results.alarms import UNFINISHED
from refinery.results.delivery import not_as_left

# A step that removes more than this share of its rows is unusual; a source that keeps less than this share of what all
# sources together keep; a cluster with more than this share of all rows.
_REMOVED, _SOURCE, _CLUSTER = 0.5, 0.5, 0.1
# Fewest rows of a source, and of a run for large clusters; most sources, and most idle steps, to name.
_FEWEST, _MOST = 20, 5


@dataclass(frozen=True)
class Alert:
    """Something to look at. alarm: results are missing or wrong; else they are unusual. section: of the page, with more."""

    alarm: bool
    title: str
    text: str
    section: str


def read_alerts(
    tables: RunTables,
    facts: Facts,
    steps: Sequence[ReportStep],
    sources: Sources,
    duplicates: Sequence[DeduplicatorFindings],
) -> list[Alert]:
    """Alarms first, then what is unusual."""
    alerts = [
        *_rows(facts),
        *_files(tables),
        *_changed_exports(tables),
        *_unlike(duplicates),
        *_steps(facts, steps),
        *_idle(facts, steps),
        *_nulls(tables),
        *_sources(sources),
        *_clusters(facts, duplicates),
    ]
    return sorted(alerts, key=lambda alert: not alert.alarm)


def _rows(facts: Facts) -> Iterator[Alert]:
    read, kept, broken = (facts.run[f"rows_{name}"] for name in ("read", "kept", "quarantined"))
    if not read:
        yield Alert(True, "No samples.", "The input holds no sample, so nothing was done.", "ran")
    elif not kept:
        yield Alert(True, "Nothing is kept.", f"No row is left of {number(read)}.", "waterfall")
    if 2 * broken > read:
        text = f"{number(broken)} of {number(read)} rows could not be read or processed."
        yield Alert(True, "Most rows are in quarantine.", text, "quarantine")
    elif broken:
        text = f"{number(broken)} of {number(read)} rows could not be read or processed."
        yield Alert(False, "Rows are in quarantine.", text, "quarantine")


def _files(tables: RunTables) -> Iterator[Alert]:
    for row in tables.rows(UNFINISHED):
        text = f"{row['file']} could not be read to its end: {row['error']}. Samples after that are missing and not counted."
        yield Alert(True, "A file is cut short.", text, "quarantine")


def _changed_exports(tables: RunTables) -> Iterator[Alert]:
    try:
        manifest: Any = json.loads(tables.run_dir.manifest.read_text(encoding="utf-8"))
        lines = not_as_left(manifest)
    except (OSError, ValueError, KeyError, TypeError):
        return
    for line in lines[:_MOST]:
        yield Alert(True, "The export has changed.", f"{line}.", "ran")


def _unlike(duplicates: Sequence[DeduplicatorFindings]) -> Iterator[Alert]:
    """Deduplicators of which fewer than half of what they removed is like what stays."""
    for duplicate in duplicates:
        row = duplicate.audit.unlike if duplicate.audit is not None else None
        if row is None:
            continue
        of = (
            "samples are like those that stay" if row["basis"] == "texts" else f"{row['basis']} are like ones that stay"
        )
        what = f"at most {100 * row['high']:.1f} % of the removed {of}"
        how = f"{row['measure']} of at least {row['threshold']:g}, {number(row['n'])} sampled"
        text = f"Step {duplicate.step.step}, {duplicate.step.label}: {what} ({how})."
        hubs = [hub for hub in duplicate.audit.hubs if not hub["alike"]] if duplicate.audit is not None else []
        if hubs:
            text += f" One sample connects {number(hubs[0]['connected'])} others: {hubs[0]['reason']}."
        yield Alert(True, "Unlike samples were removed as duplicates.", text, "duplicates")


def _steps(facts: Facts, steps: Sequence[ReportStep]) -> Iterator[Alert]:
    for step in steps:
        if step.rows_in and step.removed > _REMOVED * step.rows_in and facts.run["rows_kept"]:
            share = f"{100 * step.removed / step.rows_in:.1f} %"
            text = (
                f"Step {step.step}, {step.label}, removes {share} of the rows that reach it ({number(step.removed)})."
            )
            yield Alert(False, "A step removes most.", text, "removed")
        if step.quarantined:
            text = f"Step {step.step}, {step.label}, failed on {number(step.quarantined)} rows."
            yield Alert(False, "A step fails.", text, "quarantine")


def _idle(facts: Facts, steps: Sequence[ReportStep]) -> Iterator[Alert]:
    idle = [
        f"{step.step} {step.label}"
        for step in steps
        if step.rows_in and step.kind != "stats" and not (step.removed or step.changed or step.quarantined)
    ]
    if idle and not facts.measured_only:
        more = f" and {len(idle) - _MOST} more" if len(idle) > _MOST else ""
        text = f"No sample was changed or removed by {', '.join(idle[:_MOST])}{more}."
        yield Alert(False, "Steps without effect.", text, "waterfall")


def _nulls(tables: RunTables) -> Iterator[Alert]:
    query = f"""
        SELECT step, operator, reason, count(*) AS rows FROM ledger WHERE contains(reason, ' is NULL')
        GROUP BY ALL ORDER BY rows DESC, step, reason LIMIT {_MOST}"""
    for row in tables.rows(query):
        text = f"Step {row['step']}, {row['operator']}, removed {number(row['rows'])} rows: {row['reason']}."
        yield Alert(False, "Missing values.", text, "removed")


def _sources(sources: Sources) -> Iterator[Alert]:
    """Sources that keep much less than all together; files only where no column of sources was counted."""
    rows: Sequence[Row] = sources.column if sources.column is not None else sources.files
    large = [row for row in rows if row["rows_read"] >= _FEWEST]
    if len(rows) < 2 or not large:
        return
    whole = sum(map(_kept, rows)) / max(1, sum(row["rows_read"] for row in rows))
    poor = [row for row in large if _kept(row) < _SOURCE * whole * row["rows_read"]]
    for row in sorted(poor, key=lambda row: _kept(row) / row["rows_read"])[:_MOST]:
        share, name = 100 * _kept(row) / row["rows_read"], "no source" if row["source"] is None else row["source"]
        text = f"{name}: {share:.1f} % of {number(row['rows_read'])} rows are kept, {100 * whole:.1f} % of all."
        yield Alert(False, "A source loses most.", text, "sources")


def _kept(row: Row) -> int:
    return int(row["rows_read"] - row["removed"] - row["quarantined"])


def _clusters(facts: Facts, duplicates: Sequence[DeduplicatorFindings]) -> Iterator[Alert]:
    for duplicate in duplicates:
        largest = max((cluster.size for cluster in duplicate.largest), default=0)
        if largest >= _FEWEST and largest > _CLUSTER * facts.run["rows_read"]:
            text = (
                f"Step {duplicate.step.step}, {duplicate.step.label}, put {number(largest)} samples into one cluster."
            )
            yield Alert(False, "A very large cluster.", text, "duplicates")
