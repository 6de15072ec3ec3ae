"""Clusters by partitions are those of one union-find over all pairs, with the same explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.dedup import exchange
from refinery.dedup.exchange import Exchange, divided, read_shares, write_groups, write_parts
from refinery.dedup.linked import gathered, links, renamed
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.partitions import Partitions
from refinery.dedup.stars import both_ways, components, large_star, one_way, small_star
from refinery.storage.local import LocalStore
from refinery.workers.executor import ThreadExecutor
from tests.dedup.clustered import cluster
from tests.examples import share_of

EDGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40)


def pairs_of(edges: list[tuple[int, int]], how: int) -> Pairs:
    """Pairs of unequal samples, the greater one first."""
    found = np.array([(max(edge), min(edge)) for edge in edges if edge[0] != edge[1]], np.int64).reshape(-1, 2)
    return Pairs(found[:, 0], found[:, 1], np.full(len(found), how, np.int32), np.full(len(found), np.nan))


def resolved(tables: list[pa.Table]) -> pa.Table:
    """First roots (`root`) of roots (`_row`) that are equal to others."""
    equal = pa.concat_tables(tables)
    first, root = components(equal["a"].to_numpy(), equal["b"].to_numpy())
    return pa.table({"_row": root, "root": first}).sort_by("_row")


@settings(max_examples=share_of(200), deadline=None)
@given(st.lists(EDGES, min_size=1, max_size=6), st.integers(1, 7))
def test_partitions_give_the_clusters_of_all_pairs(tables: list[list[tuple[int, int]]], parts: int) -> None:
    found = [pairs_of(edges, how) for how, edges in enumerate(tables)]
    expected = cluster(found, None, ())  # type: ignore[arg-type]
    linked = [links([pairs]) for pairs in found]
    bounds = np.linspace(0, 61, parts + 1).astype(np.int64)
    each = []
    for low, high in zip(bounds, bounds[1:], strict=False):
        rows = [table.filter((pc.field("_row") >= low) & (pc.field("_row") < high)) for table in linked]
        each.append(gathered(pa.concat_tables(rows)))
    roots = resolved([equal for _, equal in each])
    whole = pa.concat_tables([renamed(table, roots) for table, _ in each])
    for name, column in (("_row", expected.row), ("root", expected.root), ("via", expected.via), ("how", expected.how)):
        assert whole[name].to_pylist() == column.tolist(), name


def test_a_chain_over_all_tables_is_one_cluster() -> None:
    count = 1000
    tables = [links([pairs_of([(at, at + 1) for at in range(start, count, 7)], 0)]) for start in range(7)]
    one, equal = gathered(pa.concat_tables(tables))
    assert set(renamed(one, resolved([equal]))["root"].to_pylist()) == {0}


def in_rounds(edges: list[tuple[int, int]], parts: int) -> tuple[list[tuple[int, int]], int]:
    """Equalities after all rounds, of roots below 100 in so many partitions, and the number of rounds."""
    table = both_ways(tuple(np.array(edges, np.int64).reshape(-1, 2).T))  # type: ignore[arg-type]
    for rounds in range(1, 100):
        changes = 0
        for larger in (True, False):
            found = []
            for part in range(parts):
                own = table.filter(pa.array(table["one"].to_numpy() * parts // 100 == part))
                star = (
                    large_star(own["one"].to_numpy(), own["other"].to_numpy()) if larger else small_star(*one_way(own))
                )
                found.append(both_ways(star[0]))
                changes += star[1]
            table = pa.concat_tables(found)
        if not changes:
            return sorted(zip(*map(np.ndarray.tolist, one_way(table)), strict=True)), rounds
    raise AssertionError("no end")


@settings(max_examples=share_of(200), deadline=None)
@given(st.sets(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=60), st.integers(1, 5))
def test_rounds_of_stars_are_components(edges: set[tuple[int, int]], parts: int) -> None:
    equal = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    if equal:
        a, b = components(*map(np.array, zip(*equal, strict=True)))
        assert in_rounds(equal, parts)[0] == sorted(zip(a.tolist(), b.tolist(), strict=True))


def test_a_long_chain_takes_few_rounds() -> None:
    equal, rounds = in_rounds([(at, at + 1) for at in range(99)], 4)
    assert equal == [(0, at) for at in range(1, 100)] and rounds <= 8


@pytest.mark.parametrize("few", [1, 9], ids=["merged", "as they are"])
def test_a_task_reads_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(exchange, "_FEW", few)
    store, names = LocalStore(tmp_path), ["a.parts", "b.parts", "c.parts"]
    bounds, keys = [0, 5, 10, 20, 40], ([7, 3, 30, 9], [1, 31])
    tables = [pa.table({"key": own, "n": range(len(own))}) for own in keys] + [pa.table({"key": [2], "more": ["text"]})]
    places = [write_groups(own, "key", bounds, tmp_path / name) for own, name in zip(tables, names, strict=True)]
    assert [[number for number, *_ in own] for own in places] == [[0, 1, 3], [0, 3], [0]]
    between = Exchange(ThreadExecutor(store.url, 1, None, str(tmp_path)), "joined")
    shares = between.shares(names, places, 4)
    assert len(shares[0]) == (3 if few > 1 else 2) and not shares[2]
    found = [read_shares(store, own)["key"].to_pylist() if own else [] for own in shares]
    assert found == [[3, 1, 2], [7, 9], [], [30, 31]]
    several = read_shares(store, [share for own in between.shares(names[2:], places[2:], 4) for share in own])
    assert several["more"].to_pylist() == ["text"]
    with pytest.raises(ValueError, match=r"key: values outside of 0 \.\. 5"):
        write_groups(pa.table({"key": [5]}), "key", [0, 5], tmp_path / "d.parts")


def test_parts_that_follow_each_other_are_one_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = write_groups(pa.table({"key": range(40)}), "key", [0, 5, 10, 20, 40], tmp_path / "a")
    store, asked = LocalStore(tmp_path), list[tuple[Any, ...]]()
    read = store.bytes_at
    monkeypatch.setattr(store, "bytes_at", lambda *one: asked.append(one) or read(*one))
    found = read_shares(store, [("a", start, size) for _, start, size in places[1:]])
    assert found["key"].to_pylist() == list(range(5, 40)) and len(asked) == 1


@pytest.mark.parametrize("count", [3, 70_000])
def test_tables_are_written_by_parts(tmp_path: Path, count: int) -> None:
    one, cuts = divided(pa.table({"n": [1, 2, 3, 4]}), np.array([2, 0, 2, 1]), count)
    nothing = pa.table({"other": ["x"]}).slice(0, 0), np.zeros(2, np.int64)
    places = write_parts([(one, cuts), nothing, (pa.table({"n": [5]}), np.array([0, 1]))], tmp_path / "a")
    assert [number for number, *_ in places] == [0, 1, 2, count + 1]
    whole = read_shares(LocalStore(tmp_path), [("a", start, size) for _, start, size in places])
    assert whole["n"].to_pylist() == [2, 4, 1, 3, 5]


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
