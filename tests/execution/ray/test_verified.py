"""`verify` on a cluster: tasks compare the candidates, and leave what one machine leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.api import Run
from refinery.dedup import barrier
from tests.dedup.test_options import FAMILIES, MINHASH
from tests.execution.ray.in_process import tasks_in_process
from tests.execution.ray.runs import assert_same, in_partitions, local, on_ray, samples
from tests.runs import exported, rows, texts, write_lines

FEW = {"num_permutations": 6, "num_bands": 6}
KEYS = {"shard_size": 20_000, "np": 2}


def both(folder: Path, patch: pytest.MonkeyPatch, given: list[Any], steps: list[Any], **keys: Any) -> Run:
    """The run by one process, which leaves what tasks leave, although every task runs twice."""
    write_lines(folder / "in.jsonl", given)
    one = local(folder, steps, **keys)
    with patch.context() as patched:
        calls = tasks_in_process(patched, twice=True)
        other = local(folder, steps, "tasks", **keys)
    assert calls["compare"] > 1
    assert_same(one, other)
    assert one.warnings == other.warnings
    return one


@pytest.mark.parametrize(
    "most", [40, pytest.param(50_000_000, marks=pytest.mark.long)], ids=["shares of bands", "bands"]
)
def test_families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(barrier, "_MOST", most)
    steps: list[Any] = [
        {"sql_mapper": {"text": "upper(text)"}},
        {"document_minhash_deduplicator": {**MINHASH, **FEW, "verify": True, "keep": "length(text) desc"}},
        "clean_email_mapper",
    ]
    one = both(tmp_path, monkeypatch, texts(FAMILIES[:24]), steps, np=1, shard_size=2_500)
    assert rows(one, "shards", "count(*) > 4") == [(True,)] and rows(one, "duplicates", "count(*) > 3") == [(True,)]


def test_samples_that_are_left_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlike samples in large buckets of each band: more are left than eight rounds can compare."""
    words = [" ".join([f"a{k % 2}", *(f"w{k}_{n}" for n in range(4))]) for k in range(60)]
    few = {"window_size": 1, "num_permutations": 4, "num_bands": 4, "num_rows_per_band": 1, "jaccard_threshold": 0.9}
    steps: list[Any] = [{"document_minhash_deduplicator": {**few, "hash": "fast", "verify": True}}]
    one = both(tmp_path, monkeypatch, texts([*words, *words[:9]]), steps, np=1, shard_size=700)
    assert [note for note in one.warnings if "verify has compared" in note]


def test_copies_of_many_unlike_texts_of_one_group_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of fewer tokens than a shingle are one group; more of them are unlike than eight rounds compare."""
    short = [f"word{k} and more" for k in range(40)]
    steps: list[Any] = [{"document_minhash_deduplicator": {**FEW, "verify": True}}]
    one = both(tmp_path, monkeypatch, texts([*short, *short]), steps, np=1, shard_size=500)
    assert [row["text"] for row in exported(one)] == short
    assert rows(one, "shards", "count(*) > 2") == [(True,)]


def test_on_a_cluster(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(300))
    minhash = {"jaccard_threshold": 0.6, "hash": "fast", "verify": True, "keep": "length(text) desc"}
    steps = ["clean_email_mapper", {"document_minhash_deduplicator": minhash}, "clean_links_mapper"]
    one, other = local(tmp_path, steps, **KEYS), on_ray(tmp_path, steps, **KEYS)
    assert rows(one, "duplicates", "count(*) > 10, min(jaccard) >= 0.6")[0] == (True, True)
    assert_same(one, other)
