"""Groups of samples with equal keys, made by SQL: the same clusters as from pairs, in little memory."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.compiler.deduplicators import matched, statement
from refinery.compiler.model import OrderTerm
from refinery.dedup import groups
from refinery.dedup.barrier import write_clusters
from refinery.dedup.clusters import cluster
from refinery.dedup.match_keys import MatchKeys, SqlLimits
from refinery.dedup.matchers import MATCHERS
from refinery.operators import Library
from tests.runs import exported, refine, rows

SQL = statement("duplicates", **matched(Library().operators["key_deduplicator"]))
OWN = groups.duplicates(Library().operators["key_deduplicator"].sample_matcher.match)
FORM = MATCHERS["keys"].columns


def opened(path: Path, memory: str = "1GB", **columns: Any) -> MatchKeys:
    size = len(columns["key"])
    table = pa.table({"_row": columns.pop("_row", np.arange(size, dtype=np.int64)), **columns})
    pq.write_table(table, path / "marks.parquet", compression="none")
    return MatchKeys([str(path / "marks.parquet")], FORM, SqlLimits(2, memory, tempfile.gettempdir()))


def made(keys: MatchKeys, folder: Path, order: Sequence[OrderTerm]) -> tuple[list[Any], ...]:
    """Rows of duplicates and of members, and the removed samples, by SQL and from pairs: twice the same."""
    names = [[folder / f"{how}-{kind}.parquet" for kind in ("duplicates", "members")] for how in ("sql", "pairs")]
    largest = groups.make(keys, ("key", 0), order)
    removed = groups.write(keys, ("key", 0), OWN, *names[0])
    keys.run("DROP VIEW found")
    found = cluster(MATCHERS["keys"].pairs(keys, {}, None, []), keys, order)  # type: ignore[union-attr,arg-type]
    write_clusters(keys, found, SQL, *names[1])
    assert removed.tolist() == found.row[found.removed].tolist() and largest == found.sizes().max(initial=0)
    one, other = ([pq.read_table(name).to_pylist() for name in names] for names in names)
    assert one == other
    return (*one, removed.tolist())


ORDERS: dict[str, list[OrderTerm]] = {
    "first": [],
    "one": [OrderTerm("_mark_order_0", "DESC NULLS LAST")],
    "two": [OrderTerm("_mark_order_1", "ASC NULLS FIRST"), OrderTerm("_mark_order_0", "DESC NULLS LAST")],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("index", [False, True], ids=["alone", "with an index"])
def test_groups_are_the_clusters_of_pairs(tmp_path: Path, order: str, index: bool) -> None:
    rng = np.random.default_rng(len(order))
    values = rng.integers(0, 300, 1000)
    scores = pa.array(rng.integers(0, 5, 1000).astype(float), mask=rng.random(1000) < 0.2)
    rows = np.arange(1000, dtype=np.int64) - (200 if index else 0)
    if index:  # samples of an index are unlike each other
        values[:200] = np.arange(200)
    keys = pa.array([f"key {value}" for value in values], mask=rng.random(1000) < 0.1)
    with opened(tmp_path, _row=rows, key=keys, order_0=scores, order_1=rng.random(1000).round(1)) as marks:
        duplicates, members, removed = made(marks, tmp_path, ORDERS[order])
    assert len(removed) > 300 and len(members) > len(duplicates) == len(removed)


def test_no_groups(tmp_path: Path) -> None:
    with opened(tmp_path, key=[1, 2, None, None]) as marks:
        assert groups.make(marks, ("key", 0), []) == 0


def test_more_samples_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held for each pair: a million samples of two keys, with 96 MB for DuckDB and no union-find."""
    monkeypatch.setattr("refinery.kernels.dedup.unionfind.Components.__init__", lambda self: 1 / 0)
    with opened(tmp_path, "96MB", key=np.arange(1_000_000) % 2) as marks:
        assert groups.make(marks, ("key", 0), []) == 500_000
        removed = groups.write(marks, ("key", 0), OWN, tmp_path / "duplicates.parquet", tmp_path / "members.parquet")
    assert len(removed) == 999_998 and (np.diff(removed) > 0).all()


def test_exact_deduplicators_of_a_run_make_no_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.dedup.clusters.explained", lambda found: 1 / 0)
    samples = ['{"text": "same"}', '{"text": "other"}', '{"text": "same "}', '{"text": "same"}']
    run = refine(tmp_path, samples, ["document_deduplicator"])
    assert [row["text"] for row in exported(run)] == ["same", "other"]
    assert rows(run, "duplicates", "_row, kept, via") == [(2, 0, 0), (3, 0, 0)]
    assert rows(run, "clusters", "cluster, _row, survivor, size") == [
        (0, 0, True, 3),
        (0, 2, False, 3),
        (0, 3, False, 3),
    ]
