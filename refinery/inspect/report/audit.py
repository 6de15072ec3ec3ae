"""Audits of a run's deduplicators: how like removed samples are to those that stay, hubs, chains."""

from __future__ import annotations

from dataclasses import dataclass, field

from refinery.inspect.report.tables import Row, RunTables
from refinery.results.audit.record import UNLIKE

# Chains of a step to list.
_CHAINS = 5


@dataclass(frozen=True)
class StepAudit:
    """The audit of one step. shares: rows of `audit_summary`, all sources first. unlike: the row that is alarming, if one is."""

    shares: list[Row] = field(default_factory=list)
    hubs: list[Row] = field(default_factory=list)
    chains: list[Row] = field(default_factory=list)
    unlike: Row | None = None


def read_audit(tables: RunTables) -> dict[int, StepAudit]:
    """The audits by step; none of a run of an earlier version."""
    if not tables.rows("SELECT 1 FROM information_schema.tables WHERE table_name = 'audit_summary'"):
        return {}
    audits: dict[int, StepAudit] = {}
    for row in tables.rows("SELECT * FROM audit_summary ORDER BY step, source NULLS FIRST, measure DESC, threshold"):
        audits.setdefault(row["step"], StepAudit()).shares.append(row)
    for table, order in (("hubs", "connected DESC, via"), ("chains", "cluster_size DESC, similarity, _row")):
        for row in tables.rows(f"SELECT * FROM {table} ORDER BY step, {order}"):
            rows = getattr(audits.setdefault(row["step"], StepAudit()), table)
            if table == "hubs" or len(rows) < _CHAINS:
                rows.append(row)
    unlike = {row["step"]: row for row in tables.rows(f"{UNLIKE} ORDER BY step")}
    return {step: StepAudit(audit.shares, audit.hubs, audit.chains, unlike.get(step)) for step, audit in audits.items()}
