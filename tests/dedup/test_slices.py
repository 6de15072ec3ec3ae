"""A cluster of any size is settled, described and put in order by slices; the results are those of one slice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.dedup import barrier, exchange, slices
from refinery.dedup.linked import gathered, links, star_links
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.slices import Slices, counted
from refinery.dedup.tasks import clusters, hubs, star_clusters
from refinery.dedup.tasks.hubs import largest_hub
from refinery.execution.ray.executor import RayExecutor
from refinery.storage.local import LocalStore
from refinery.workers.executor import TaskPlace, ThreadExecutor, rows_within
from tests.execution.ray.runs import assert_same, local
from tests.runs import rows, write_lines


def by_slices(patch: pytest.MonkeyPatch) -> None:
    """Let tasks of threads have room for 20 samples, and slices have few rows."""
    patch.setattr(ThreadExecutor, "most", 20)
    patch.setattr(slices, "_BYTES", 4_000)
    patch.setattr(exchange, "_ROWS", 5)
    patch.setattr(exchange, "_BYTES", 3_000)
    patch.setattr(exchange, "_FEW", 3)
    patch.setattr(clusters, "_MATCHES", 7)
    patch.setattr(clusters, "_DESCRIBED", 3)
    patch.setattr(hubs, "_SLICE", 7)
    patch.setattr(star_clusters, "_MEMBERS", 12)
    patch.setattr(star_clusters, "_BATCH", 5)


def samples(count: int) -> list[dict[str, Any]]:
    """Most samples have one of two keys; others have keys of their own, or share one with another."""
    return [{"id": n, "text": str(n % 2 if n % 5 else n // 10 * 10), "n": n * 37 % 101} for n in range(count)]


@pytest.mark.parametrize(
    "own", [{}, {"keep": "n desc", "save_cluster_size": True, "max_cluster_size": 9, "on_excess": "warn"}], ids=str
)
def test_a_large_cluster_by_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    steps = [{"document_deduplicator": own}]
    keys: dict[str, Any] = {"shard_size": 900, "np": 2}
    one = local(tmp_path, steps, **keys)
    calls, map = list[tuple[str, int]](), ThreadExecutor.map

    def counting(executor: ThreadExecutor, work: Any, given: Any, *arguments: Any, **named: Any) -> list[str]:
        calls.append((work.__name__, len(given)))
        return map(executor, work, given, *arguments, **named)

    with monkeypatch.context() as patch:
        by_slices(patch)
        patch.setattr(ThreadExecutor, "map", counting)
        other = local(tmp_path, steps, "slices", **keys)
    assert {name for name, count in calls if count > 3} >= {"equal", "gather", "spread", "settle", "describe", "remove"}
    assert rows(other, "clusters", "max(size)") == [(122,)]
    assert_same(one, other)
    assert one.warnings == other.warnings and bool(one.warnings) == bool(own)


@pytest.mark.parametrize("own", [{"verify": "kept", "keep": "n desc"}, {"cluster": "star"}], ids=str)
def test_star_clusters_by_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]) -> None:
    words = [f"w{n % 5}-{k}" for n in range(50) for k in range(n // 5, n // 5 + 20)]
    texts = [" ".join(words[at : at + 20]) for at in range(0, len(words), 20)]
    write_lines(tmp_path / "in.jsonl", [{"text": text, "n": n * 37 % 101} for n, text in enumerate(texts)])
    bands = {"window_size": 1, "hash": "fast", "bands": 24, "rows": 2, "jaccard_threshold": 0.6}
    steps, keys = [{"document_minhash_deduplicator": {**bands, **own}}], {"shard_size": 900, "np": 2}
    one = local(tmp_path, steps, **keys)
    with monkeypatch.context() as patch:
        by_slices(patch)
        other = local(tmp_path, steps, "slices", **keys)
    assert rows(one, "clusters", "count(DISTINCT cluster) >= 5") == [(True,)]
    assert_same(one, other)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_stars_of_equal_keys_are_the_links_of_a_union_find(size: int) -> None:
    """However the pairs are cut."""
    keys = np.random.default_rng(size).integers(0, 20, 100)
    row = np.arange(100)
    via = np.array([int(np.argmax(keys == key)) for key in keys])
    row, via = row[row != via], via[row != via]
    found = [
        Pairs(row[at : at + size], via[at : at + size], np.full(len(row[at : at + size]), 3, np.int32), np.zeros(0))
        for at in range(0, len(row), size)
    ]
    jaccard = np.full(len(row), np.nan)
    expected = links([Pairs(row, via, np.full(len(row), 3, np.int32), jaccard)])
    one, equal = gathered(pa.concat_tables(map(star_links, found)))
    assert one.equals(expected) and not len(equal)


def test_slices_have_one_schema_and_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [pa.table({"n": [1, 2]}), pa.table({"n": [3], "more": ["text"]})]
    with exchange.PartFile(tmp_path / "a.parts") as file:
        for table in tables:
            file.add_groups(table, "n", [0, 9])
    shares = [("a.parts", first, size) for _, first, size in file.places]
    whole = Slices(LocalStore(tmp_path), shares)
    monkeypatch.setattr(slices, "_BYTES", 1)
    few = Slices(LocalStore(tmp_path), shares)
    assert whole.table is not None and few.table is None
    for rows_of in (whole, few):
        assert pa.Table.from_batches(rows_of.of_one_schema()).to_pylist() == [
            {"n": 1, "more": None}, {"n": 2, "more": None}, {"n": 3, "more": "text"},
        ]  # fmt: skip
    assert [len(table) for table in few] == [2, 1] == [len(table) for table in few]


def test_values_are_counted_by_slices() -> None:
    values = np.random.default_rng(1).integers(0, 50, 1000)
    for size in (1, 7, 1000):
        found = counted(values[at : at + size] for at in range(0, 1000, size))
        for one, other in zip(found, np.unique(values, return_counts=True), strict=True):
            np.testing.assert_array_equal(one, other)
    assert not len(counted([])[0])


def test_the_largest_hub_does_not_depend_on_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    via = np.random.default_rng(2).choice([-5, 3, 3, 3, 8], 200)
    pq.write_table(pa.table({"_row": np.arange(10, 210), "via": via}), tmp_path / "matches.parquet")
    place, found = TaskPlace(LocalStore(tmp_path).url, None, str(tmp_path)), []
    for size in (1 << 20, 7):
        monkeypatch.setattr(hubs, "_SLICE", size)
        found.append(largest_hub(place, [0], "matches.parquet"))
    assert found[0] == found[1] and json.loads(found[0])[:2] == [int((via == 3).sum()), 3]


def test_a_task_has_room_for_rows_by_its_part_of_the_memory() -> None:
    one, four = (ThreadExecutor("", workers, 4 << 30, "").most for workers in (1, 4))
    assert one == 4 * four == rows_within(4 << 30) and rows_within(1) == rows_within(1 << 20) > 100_000
    assert ThreadExecutor("", 2, None, "").most > 0 and barrier._MOST > one
    assert isinstance(RayExecutor.most, property)
