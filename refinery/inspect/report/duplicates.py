"""Findings of a run's deduplicators: clusters, their sizes, the largest clusters, and removed text units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from refinery.inspect.report.audit import StepAudit, read_audit
from refinery.inspect.report.facts import ReportStep
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.tables import Row, RunTables

# Clusters to list, rows to list of each, and clusters whose text is recomputed.
_LARGEST = 10
ROWS = 10
_TEXTS = 3
# Sizes up to this have a column each; larger sizes share columns up to the sizes below.
_ALONE = 10
_UP_TO = (20, 50, 100, 1000, 10_000)


@dataclass(frozen=True)
class ClusterExample:
    """Samples that are alike. survivor: the kept row, None if it is in an index. text: of the survivor."""

    size: int
    survivor: int | None
    rows: list[int]
    text: str | None


@dataclass
class DeduplicatorFindings:
    """Findings of one deduplicator. sizes: (label, clusters). units: for a deduplicator of text units. audit: None if it was not audited."""

    step: ReportStep
    sizes: list[tuple[str, int]] = field(default_factory=list)
    samples: int = 0
    clusters: int = 0
    largest: list[ClusterExample] = field(default_factory=list)
    units: Row | None = None
    audit: StepAudit | None = None


def read_duplicates(tables: RunTables, steps: Sequence[ReportStep], again: Replay) -> list[DeduplicatorFindings]:
    """Read the findings of every deduplicator, in the order of the steps."""
    findings = {step.step: DeduplicatorFindings(step) for step in steps if step.kind == "deduplicator"}
    if not findings:
        return []
    sizes: dict[int, list[Row]] = {}
    for row in tables.query("cluster_sizes"):
        sizes.setdefault(row["step"], []).append(row)
    for step, rows in sizes.items():
        findings[step].sizes = _columns(rows)
        findings[step].clusters = sum(row["clusters"] for row in rows)
        findings[step].samples = sum(row["clusters"] * row["size"] for row in rows)
    texts = _traced(tables)
    for row in tables.query("largest_clusters", limit=_LARGEST, rows=ROWS):
        into = findings[row["step"]].largest
        text = _text(row, len(into), texts, again)
        into.append(ClusterExample(row["size"], row["survivor"], row["rows"], text))
    for row in tables.query("units"):
        findings[row["step"]].units = row
    for number, audit in read_audit(tables).items():
        findings[number].audit = audit
    return list(findings.values())


def _columns(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Clusters by size; large sizes in ranges."""
    counts: dict[str, int] = {}
    for row in rows:
        label = _label(row["size"])
        counts[label] = counts.get(label, 0) + row["clusters"]
    return list(counts.items())


def _label(size: int) -> str:
    if size <= _ALONE:
        return str(size)
    low = _ALONE
    for high in _UP_TO:
        if size <= high:
            return f"{low + 1:,} to {high:,}"
        low = high
    return f"over {low:,}"


def _traced(tables: RunTables) -> dict[tuple[int, int], str]:
    """Texts of kept samples that the trace has beside a removed sample."""
    rows = tables.rows(
        "SELECT t.step, l.kept_instead, any_value(left(t.processed_text, 10000)) AS text "
        "FROM trace AS t JOIN ledger AS l ON l._row = t._row AND l.step = t.step "
        "WHERE l.kept_instead IS NOT NULL AND t.processed_text IS NOT NULL GROUP BY ALL"
    )
    return {(row["step"], row["kept_instead"]): row["text"] for row in rows}


def _text(row: Row, listed: int, texts: dict[tuple[int, int], str], again: Replay) -> str | None:
    survivor = row["survivor"] if row["survivor"] is not None else row["rows"][0]
    known = texts.get((row["step"], survivor))
    if known is None and listed < _TEXTS and again.possible:
        return again.text_at(survivor, row["step"])
    return known
