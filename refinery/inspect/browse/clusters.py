"""Clusters of a deduplicator, largest first, and two members of one side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.lazy import duckdb
from refinery.dedup.audit.measure import jaccard
from refinery.dedup.audit.parts import TextParts
from refinery.dedup.matchers.model import SharedShingles
from refinery.errors import DataError
from refinery.inspect.browse.shared_shingles import MarkedText, marked_texts
from refinery.inspect.why.query import RowHistories
from refinery.inspect.why.row_replay import RowInStage
from refinery.operators import Operator

# Members of a cluster on one page, and clusters on one page.
MEMBERS, CLUSTERS = 100, 50


@dataclass(frozen=True)
class ClusterPage:
    """Clusters, by size. next: cursor of the next page, if there is one."""

    clusters: list[dict[str, Any]]
    total: int
    next: str | None


@dataclass(frozen=True)
class SideBySide:
    """The texts of two members as their deduplicator compared them, with what they share.

    shared: the name of shared parts. counts: shingles that both have, that each has, and their Jaccard similarity; None for operators without
    shingles.
    """

    left: MarkedText
    right: MarkedText
    shared: str
    counts: SharedShingles | None


def clusters(con: duckdb.DuckDBPyConnection, step: int | None = None, after: str | None = None) -> ClusterPage:
    """One page of clusters. step: of this deduplicator only."""
    of_step = "TRUE" if step is None else f"step = {int(step)}"
    grouped = f"SELECT step, cluster, any_value(operator) AS operator, any_value(size) AS size, count(*) AS members, min(_row) FILTER (survivor) AS survivor, min(_row) AS first FROM clusters WHERE {of_step} GROUP BY step, cluster"
    [(total,)] = con.execute(f"SELECT count(*) FROM ({grouped})").fetchall()
    where, values = "TRUE", list[Any]()
    if after is not None:
        size, first_and_step = _place(after)
        where, values = "(size < ? OR (size = ? AND (step, cluster) > (?, ?)))", [size, size, *first_and_step]
    rows = con.execute(
        f"SELECT * FROM ({grouped}) WHERE {where} ORDER BY size DESC, step, cluster LIMIT {CLUSTERS + 1}", values
    )
    names = [column[0] for column in rows.description or ()]
    listed = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
    last = listed[CLUSTERS - 1] if len(listed) > CLUSTERS else None
    cursor = None if last is None else json.dumps([last["size"], last["step"], last["cluster"]])
    return ClusterPage(listed[:CLUSTERS], int(total), cursor)


def _place(after: str) -> tuple[int, tuple[int, int]]:
    try:
        size, step, cluster = (int(value) for value in json.loads(after))
    except (ValueError, TypeError) as error:
        raise DataError(f"{after!r} is no place in the list of clusters; start at its first page") from error
    return size, (step, cluster)


def members(con: duckdb.DuckDBPyConnection, step: int, cluster: int, after: int = -1) -> list[dict[str, Any]]:
    """Members of a cluster, the one that stays first, then by row, each with the match that joined it.

    after: row of the last member of the page before; -1 for the first page.
    """
    rows = con.execute(_MEMBERS, [step, cluster, after < 0, after, MEMBERS + 1])
    names = [column[0] for column in rows.description or ()]
    return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


_MEMBERS = """
SELECT _row AS row, * EXCLUDE (_row) FROM cluster_members
WHERE step = ? AND cluster = ? AND (? OR (NOT survivor AND _row > ?))
ORDER BY survivor DESC, _row
LIMIT ?
"""


def side_by_side(histories: RowHistories, step: int, left: int, right: int) -> SideBySide:
    """Two samples as a deduplicator compared them. Raises DataError if one of them did not reach it."""
    known = next((known for known in histories.prepared.recipe.steps if known.index == step), None)
    if known is None or not _compares_samples(histories.prepared.library.operators[known.name]):
        raise DataError(f"step {step} compares no samples")
    here, there = (_text(histories, known, row) for row in (left, right))
    one, other, name = marked_texts(here, there, known.params)
    matcher = histories.prepared.library.operators[known.name].sample_matcher
    return SideBySide(one, other, name, matcher.shared(here, there, None, known.params))


def part_side_by_side(histories: RowHistories, step: int, row: int, unit: int) -> SideBySide:
    """A part that a deduplicator took out of a sample (right), and what is most like it in the sample that keeps one.

    Raises DataError if the step has not taken this part out, or if the kept part is not known.
    """
    known = next((known for known in histories.prepared.recipe.steps if known.index == step), None)
    parts = None if known is None else TextParts.of(histories.prepared.library.operators[known.name], known.params)
    rows = histories.con.execute(_PART, [step, row, unit]).fetchall()
    if known is None or parts is None or not rows:
        raise DataError(f"step {step} took no part {unit} out of row {row} for another one")
    kept, length, copy_at = rows[0]
    place = unit if length is None else [unit, length]
    [removed] = parts.at(_text(histories, known, row), [place])
    there = _text(histories, known, kept)
    if parts.are_passages:
        [stays] = parts.at(there, [[copy_at, length]])
    else:
        stays = most_like(removed or "", parts.every(there)[: unit if kept == row else None], parts, known)
    one, other, name = marked_texts(stays or "", removed or "", {})
    return SideBySide(one, other, name, None)


_PART = """
SELECT coalesce(kept, via), length, copy_at FROM duplicates
WHERE step = ? AND _row = ? AND unit = ? AND coalesce(kept, via) IS NOT NULL
"""


def most_like(part: str, others: Sequence[str], parts: TextParts, step: Any) -> str:
    """The text among others that is most like a part, as an audit compares them; "" without others."""
    texts = list(parts.measure((), step.params).of_texts([part, *others]))
    likeness = [jaccard(texts[0], other) for other in texts[1:]]
    return others[likeness.index(max(likeness))] if likeness else ""


def _compares_samples(operator: Operator) -> bool:
    return operator.kind == "deduplicator" and not operator.matcher.takes_units


def _text(histories: RowHistories, step: Any, row: int) -> str:
    for seen in histories.replay.walk(histories.replay.place(row)):
        if _compares(seen, step.index):
            return seen.text_given_to(step) or ""
    raise DataError(f"row {row} did not reach step {step.index}, so that step did not compare it")


def _compares(seen: RowInStage, step: int) -> bool:
    after = seen.planned.stage.after
    return after is not None and after.index == step
