"""The audit of a run for the page: the stored one, or one that is made on request, with the clusters that its rows lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.paths import shorter
from refinery.explore.rows import dicts
from refinery.explore.run import ExploredRun
from refinery.inspect.audit.audit import RunAudit, audit_of, stored_audit

Row = dict[str, Any]

# Pairs on one page.
PAIRS = 50
_CLUSTERS = "SELECT step, _row, cluster FROM clusters WHERE _row IN (SELECT unnest(?::BIGINT[])) ORDER BY step, _row"


@dataclass(frozen=True)
class PairPage:
    """Audited pairs of a step, the least alike first. next: place of the next page, if there is one."""

    pairs: list[Row]
    total: int
    next: int | None


def audit_for(run: ExploredRun, made: bool) -> RunAudit | None:
    """The stored audit; None without one. made: without one, recompute texts and compare them, once for the page.

    Raises DataError if the texts cannot be recomputed.
    """
    with run.stored() as own:
        audit: RunAudit | None = run.remember("stored audit", lambda: stored_audit(own.con, run.folder))
    if audit is None and made:
        audit = run.remember("made audit", lambda: audit_of(run.folder))
    return audit


def of_step(rows: Iterable[Row], step: int | None) -> list[Row]:
    """The rows of one step, or of all steps; input files are relative to the current folder, as everywhere on the page."""
    chosen = [row for row in rows if step is None or row["step"] == step]
    return [row | {"source": shorter(row["source"])} if row.get("source") else row for row in chosen]


def with_clusters(run: ExploredRun, rows: Sequence[Row], sample: str) -> list[Row]:
    """The rows, each with the number of its sample's cluster. sample: the column that names the sample."""
    with run.con() as con:
        clusters = dicts(con, _CLUSTERS, [[row[sample] for row in rows]])
    known = {(row["step"], row["_row"]): row["cluster"] for row in clusters}
    return [row | {"cluster": known.get((row["step"], row[sample]))} for row in rows]


def pairs_of(audit: RunAudit, step: int | None, after: int) -> PairPage:
    """A page of pairs. after: pairs before the page."""
    pairs = sorted(of_step(audit.pairs, step), key=_least_alike)
    end = after + PAIRS
    return PairPage(pairs[after:end], len(pairs), end if end < len(pairs) else None)


def _least_alike(pair: Mapping[str, Any]) -> tuple[float, int, int, int]:
    measured = (pair[name] for name in ("cosine", "jaccard", "estimated_jaccard"))
    likeness = next(float(value) for value in measured if value is not None)
    return likeness, pair["step"], pair["_row"], pair["unit"] or 0
