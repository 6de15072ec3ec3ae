"""Clusters by partitions are those of one union-find over all pairs, with the same explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.dedup.clusters import cluster
from refinery.dedup.linked import gathered, links, renamed, resolved
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.row_groups import read_groups, shares_of, write_groups
from refinery.execution.ray.cluster_tasks import Partitions
from refinery.storage.local import LocalStore
from tests.examples import share_of

EDGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40)


def pairs_of(edges: list[tuple[int, int]], how: int) -> Pairs:
    """Pairs of unequal samples, the greater one first."""
    found = np.array([(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]], np.int64).reshape(-1, 2)
    return Pairs(found[:, 0], found[:, 1], np.full(len(found), how, np.int32), np.full(len(found), np.nan))


@settings(max_examples=share_of(200), deadline=None)
@given(st.lists(EDGES, min_size=1, max_size=6), st.integers(1, 7))
def test_partitions_give_the_clusters_of_all_pairs(tables: list[list[tuple[int, int]]], parts: int) -> None:
    found = [pairs_of(edges, how) for how, edges in enumerate(tables)]
    expected = cluster(found, None, ())  # type: ignore[arg-type]
    linked = [links([pairs]) for pairs in found]
    bounds = np.linspace(0, 61, parts + 1).astype(np.int64)
    each = []
    for low, high in zip(bounds, bounds[1:], strict=False):
        rows = [table.filter((pa.compute.field("_row") >= low) & (pa.compute.field("_row") < high)) for table in linked]
        each.append(gathered(pa.concat_tables(rows)))
    roots = resolved(equal for _, equal in each)
    whole = pa.concat_tables([renamed(table, roots) for table, _ in each])
    for name, column in (("_row", expected.row), ("root", expected.root), ("via", expected.via), ("how", expected.how)):
        assert whole[name].to_pylist() == column.tolist(), name


def test_a_chain_over_all_tables_is_one_cluster() -> None:
    count = 1000
    tables = [links([pairs_of([(at, at + 1) for at in range(start, count, 7)], 0)]) for start in range(7)]
    one, equal = gathered(pa.concat_tables(tables))
    assert set(renamed(one, resolved([equal]))["root"].to_pylist()) == {0}


def test_row_groups_are_partitions(tmp_path: Path) -> None:
    store, names = LocalStore(tmp_path), ["a.parquet", "b.parquet"]
    values = [[7, 3, 30, 9], [1, 31]]
    bounds = [0, 5, 10, 20, 40]
    parts = [
        write_groups(pa.table({"key": own, "n": list(range(len(own)))}), "key", bounds, tmp_path / name)
        for own, name in zip(values, names, strict=True)
    ]
    assert parts == [[0, 1, 3], [0, 3]]
    shares = shares_of(names, parts, 4)
    assert [read_groups(store, own)["key"].to_pylist() if own else [] for own in shares] == [
        [3, 1],
        [7, 9],
        [],
        [30, 31],
    ]
    with pytest.raises(ValueError, match=r"key: values outside of 0 \.\. 5"):
        write_groups(pa.table({"key": [5]}), "key", [0, 5], tmp_path / "c.parquet")


@pytest.mark.parametrize(("alive", "count"), [([5, 5, 5, 5], 2), ([0, 0, 9], 3), ([1], 5), ([3, 0, 0, 3], 4)])
def test_partitions_are_ranges_of_shards(alive: list[int], count: int) -> None:
    class Input:
        pass

    given: Any = Input()
    given.alive = alive
    found = Partitions.of(given, count)
    assert found.starts[0] == 0 and found.starts[-1] == len(alive) and 1 <= len(found) <= count
    assert list(found.starts) == sorted(set(found.starts))
    names = [f"stage_1/{shard:05d}.marks.parquet" for shard in range(len(alive))]
    assert [name for part in found.files(names) for name in part] == names
