"""The draw of an audit: pairs of removed and kept samples, the samples that connect most others, some of those they connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.templates import template
from refinery.dedup.audit.hub import MEMBERS
from refinery.kernels.core.arrow import ints, of_texts
from refinery.operators import read_sql

# Input files that are sources of their own, those with the most removed samples; the others are one source.
SOURCES = 20
# Pairs of a step, if the recipe does not say.
MOST = 1000
# Rows of `duplicates` by what an audit compares: the texts of samples, parts of texts, or signatures of samples whose kept one is in
# an index, which has no texts.
SAMPLES = "d.unit IS NULL AND d.kept IS NOT NULL"
PARTS = "d.unit IS NOT NULL AND coalesce(d.kept, d.via) IS NOT NULL"
INDEXED = "d.unit IS NULL AND d.kept_in_index IS NOT NULL AND d.estimated_jaccard IS NOT NULL"
# Samples of a step that are few. Shares of its samples that are suspicious if it removes them, or if one sample connects them.
FEW, LARGE_SHARE, _CONNECTED = 50_000, 0.3, 0.01
# Hubs of a step, and the least number of samples that one connects.
_HUBS, _LEAST = 5, 3


@dataclass(frozen=True)
class AuditedPair:
    """A removed sample, or part of one, and the sample that stays. removed: samples or parts that the step has removed of the source.

    kept: None if it is in an index. unit, length, copy_at: of a part, as in the table `duplicates`.
    """

    step: int
    operator: str
    row: int
    kept: int | None
    via: int | None
    source: str
    cluster_size: int | None
    matched: str | None
    estimated_jaccard: float | None
    removed: int
    unit: int | None = None
    length: int | None = None
    copy_at: int | None = None


@dataclass(frozen=True)
class HubRows:
    """A sample with which others were matched. connected: their number. members: some of them."""

    step: int
    operator: str
    row: int
    connected: int
    matched: str | None
    members: tuple[int, ...]


def to_audit(con: duckdb.DuckDBPyConnection, few: int = FEW) -> set[int]:
    """Steps that are audited if the recipe does not say: at most `few` samples reach them, or their result is suspicious."""
    sql = template(read_sql("tables/_audit_suspicious.sql")).render(few=few, removed=LARGE_SHARE, connected=_CONNECTED)
    return {step for (step,) in con.execute(sql).fetchall()}


def pairs_of(con: duckdb.DuckDBPyConnection, steps: Sequence[int], most: int, of: str = SAMPLES) -> list[AuditedPair]:
    """At most about `most` pairs of each deduplicator: half of them in equal parts by source, half in proportion.

    of: the rows of `duplicates` that are drawn from.
    """
    if not steps:
        return []
    counts = con.execute(template(read_sql("tables/_audit_removed.sql")).render(steps=steps, of=of)).fetchall()
    allotted = [row for _, of_step in groupby(counts, itemgetter(0)) for row in _allotted(list(of_step), most)]
    if not allotted:
        return []
    columns = list(zip(*allotted, strict=True))
    steps, wanted, removed = (ints(np.array(columns[at], np.int64)) for at in (0, 3, 4))
    names = {"step": steps, "file": of_texts(columns[1]), "source": of_texts(columns[2])}
    con.register("_allotted", pa.table({**names, "wanted": wanted, "removed": removed}))
    try:
        query = template(read_sql("tables/_audit_pairs.sql")).render(of=of)
        return [AuditedPair(*row) for row in con.execute(query).fetchall()]
    finally:
        con.unregister("_allotted")


def _allotted(counts: Sequence[tuple[int, str, int]], most: int) -> list[tuple[int, str, str, int, int]]:
    """Step, file, source, wanted and removed samples of the source, for the files of one step. counts: largest first."""
    rest = counts[SOURCES:] if len(counts) > SOURCES + 1 else ()
    other = f"{len(rest)} other files"
    of_source: dict[str, int] = {}
    for at, (_, file, count) in enumerate(counts):
        name = file if at < len(counts) - len(rest) else other
        of_source[name] = of_source.get(name, 0) + count
    total = sum(of_source.values())
    wanted = {name: min(count, share(count, total, len(of_source), most)) for name, count in of_source.items()}
    placed = [(row, row[1] if row[1] in of_source else other) for row in counts]
    return [(step, file, name, wanted[name], of_source[name]) for (step, file, _), name in placed]


def share(count: int, total: int, sources: int, most: int) -> int:
    """Pairs to audit of a source that has `count` of all `total` removed samples."""
    if total <= most:
        return count
    return max(1, most // (2 * sources) + round(most * count / (2 * total)))


def hubs_of(con: duckdb.DuckDBPyConnection, steps: Sequence[int]) -> list[HubRows]:
    """The samples with which most others were matched, by step."""
    sql = template(read_sql("tables/_audit_hubs.sql")).render(most=_HUBS, least=_LEAST, steps=steps)
    found = con.execute(sql).fetchall()
    if not found:
        return []
    keys = {name: ints(np.array([row[at] for row in found], np.int64)) for name, at in (("step", 0), ("via", 2))}
    con.register("_hubs", pa.table(keys))
    try:
        sql = template(read_sql("tables/_audit_members.sql")).render(members=MEMBERS)
        members = _by_hub(con.execute(sql).fetchall())
    finally:
        con.unregister("_hubs")
    return [
        HubRows(step, operator, row, connected, matched, tuple(members[step, row]))
        for step, operator, row, connected, matched in found
    ]


def _by_hub(rows: Sequence[tuple[int, int, int]]) -> dict[tuple[int, int], list[int]]:
    members: dict[tuple[int, int], list[int]] = {}
    for step, via, row in rows:
        members.setdefault((step, via), []).append(row)
    return members


def paths_of(
    con: duckdb.DuckDBPyConnection, step: int, ends: Sequence[tuple[int, int]], most: int = 64
) -> list[list[int]]:
    """Paths of matches from removed samples towards the kept ones (`ends`: both), each sample once, at most `most` links."""
    paths = [[row] for row, _ in ends]
    open_ = set(range(len(paths)))
    for _ in range(most):
        last = sorted({paths[at][-1] for at in open_})
        if not last:
            break
        rows: Any = con.execute(
            "SELECT _row, via FROM duplicates WHERE step = ? AND unit IS NULL AND _row IN (SELECT unnest(?::BIGINT[]))",
            [step, last],
        ).fetchall()
        via = dict(rows)
        for at in sorted(open_):
            after = via.get(paths[at][-1])
            if after is None or after in paths[at]:
                open_.discard(at)
                continue
            paths[at].append(after)
            if after == ends[at][1]:
                open_.discard(at)
    return paths
