"""`cluster: star` and `verify: kept`: a sample goes only if it is itself like one that stays. Compared with definitions in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refinery
from refinery.api import Run
from refinery.errors import DataError, RecipeError
from refinery.operators import Library
from tests.dedup.test_options import jaccard
from tests.execution.ray.in_process import tasks_in_process
from tests.runs import exported, refine, rows, settings, write_lines
from tests.sampling import sampled

MINHASH = "document_minhash_deduplicator"
# A chain: each text shares most words with its neighbours, few with those beyond.
CHAIN = [{"text": " ".join(f"w{k}" for k in range(start, start + 20)), "n": start % 7} for start in range(0, 80, 2)]
BANDS = {"window_size": 1, "hash": "fast", "bands": 24, "rows": 2, "jaccard_threshold": 0.6}


def greedy(samples: list[dict[str, Any]], order: Callable[[int], Any], alike: Callable[[int, int], bool]) -> list[int]:
    """Numbers of the samples that stay, by definition."""
    kept: list[int] = []
    for row in sorted(range(len(samples)), key=order):
        if not any(alike(row, other) for other in kept):
            kept.append(row)
    return sorted(kept)


def bands_of(samples: list[dict[str, Any]], count: int, rows: int) -> list[list[int]]:
    functions = {f.name: f for f in Library().operators[MINHASH].functions}
    column = pa.array([sample["text"] for sample in samples])
    shingles = ("none", "space", True, None, None, 1)
    marks = functions["minhash_marks"].resolve()(column, *shingles, "fast", count * rows, 0.6, count, rows, "compare")
    return [mark["bands"] for mark in marks.to_pylist()]


def shuffled(seed: int) -> list[dict[str, Any]]:
    """The chain in another order, with copies and texts that are like nothing."""
    dice = random.Random(seed)
    alone = [
        {"text": f"alone {k} " + " ".join(f"x{dice.randrange(10**6)}" for _ in range(15)), "n": k} for k in range(5)
    ]
    samples = [*CHAIN, *dice.sample(CHAIN, 8), *alone]
    return [dict(sample, id=at) for at, sample in enumerate(dice.sample(samples, len(samples)))]


def kept_ids(run: Run) -> list[int]:
    return sorted(sample["id"] for sample in exported(run))


def check_tables(run: Run, count: int) -> None:
    """Hold the tables to the rule: a sample is kept in place of those that name it, and every removed one names one that stays."""
    kept = set(kept_ids(run))
    pairs = rows(run, "duplicates", "_row, kept, via")
    assert {row for row, *_ in pairs} == set(range(count)) - kept
    assert all(one == via and one in kept for _, one, via in pairs)
    members = rows(run, "clusters", "_row, survivor, size")
    assert {row for row, survivor, _ in members if survivor} == {one for _, one, _ in pairs}
    assert all(size > 1 for *_, size in members) and len(members) == len(pairs) + len({one for _, one, _ in pairs})


@pytest.mark.parametrize("seed", sampled([1, 2, 3]))
@pytest.mark.parametrize("keep", ["first", "n, id desc"])
def test_star_clusters_are_those_of_the_definition(tmp_path: Path, seed: int, keep: str) -> None:
    samples = shuffled(seed)
    bands = bands_of(samples, 24, 2)
    order = (lambda row: row) if keep == "first" else (lambda row: (samples[row]["n"], -row))
    expected = greedy(samples, order, lambda a, b: any(x == y for x, y in zip(bands[a], bands[b], strict=True)))
    step = {MINHASH: {**BANDS, "cluster": "star", "keep": keep}}
    run = refine(tmp_path, samples, [step], shard_size=1500, np=1 + seed % 2)
    assert kept_ids(run) == expected
    check_tables(run, len(samples))
    connected = refine(tmp_path / "connected", samples, [{MINHASH: {**BANDS, "keep": keep}}])
    assert len(kept_ids(connected)) < len(expected)


@pytest.mark.parametrize("seed", sampled([1, 2]))
@pytest.mark.parametrize("keep", sampled(["n, id desc", "first"]))
def test_no_text_goes_that_is_unlike_all_that_stay(tmp_path: Path, seed: int, keep: str) -> None:
    samples = shuffled(seed)
    run = refine(tmp_path, samples, [{MINHASH: {**BANDS, "verify": "kept", "keep": keep}}], shard_size=1500, np=2)
    check_tables(run, len(samples))
    texts = [sample["text"] for sample in samples]
    for row, kept, similarity in rows(run, "duplicates", "_row, kept, jaccard"):
        assert similarity == pytest.approx(jaccard(texts[row], texts[kept], 1)) and similarity >= 0.6
    bands = bands_of(samples, 24, 2)

    def alike(a: int, b: int) -> bool:
        return any(x == y for x, y in zip(bands[a], bands[b], strict=True)) and jaccard(texts[a], texts[b], 1) >= 0.6

    order = (lambda row: row) if keep == "first" else (lambda row: (samples[row]["n"], -row))
    assert kept_ids(run) == greedy(samples, order, alike)
    again = refine(tmp_path / "again", samples, [{MINHASH: {**BANDS, "verify": "kept", "keep": keep}}])
    assert kept_ids(again) == kept_ids(run)
    columns = "_row, kept, via, matched, jaccard"
    assert rows(again, "duplicates", columns) == rows(run, "duplicates", columns)


def test_simhash_compares_with_those_that_stay(tmp_path: Path) -> None:
    samples = shuffled(4)
    name = "document_simhash_deduplicator"
    params = {"window_size": 1, "hamming_distance": 14, "num_blocks": 16}
    functions = {f.name: f for f in Library().operators[name].functions}
    column = pa.array([sample["text"] for sample in samples])
    hashes = functions["text_simhash"].resolve()(column, "space", 1, True, None, False).to_pylist()
    expected = greedy(samples, lambda row: row, lambda a, b: (hashes[a] ^ hashes[b]).bit_count() <= 14)
    run = refine(tmp_path, samples, [{name: {**params, "cluster": "star"}}], shard_size=1500)
    assert kept_ids(run) == expected and len(expected) < len(samples) - 8
    check_tables(run, len(samples))
    assert all(0 <= distance <= 14 for (distance,) in rows(run, "duplicates", "distance"))


def test_embeddings_are_compared_with_those_that_stay(tmp_path: Path) -> None:
    """Vectors on a circle, a few degrees apart."""
    angles = np.deg2rad(np.arange(0, 60, 4))
    samples = [
        {"text": str(at), "id": at, "embedding": [float(np.cos(angle)), float(np.sin(angle))]}
        for at, angle in enumerate(angles)
    ]
    params = {"cosine_threshold": float(np.cos(np.deg2rad(9))), "cluster": "star", "num_bands": 64, "band_bits": 4}
    run = refine(tmp_path, samples, [{"semantic_deduplicator": params}])
    assert kept_ids(run) == list(range(0, 15, 3))
    check_tables(run, len(samples))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param(  # tests/execution/ray/test_stars.py has it
            MINHASH, {**BANDS, "verify": "kept", "keep": "n", "save_cluster_size": True}, marks=pytest.mark.long
        ),
        pytest.param(MINHASH, {**BANDS, "cluster": "star"}, marks=pytest.mark.long),
        (
            "document_simhash_deduplicator",
            {"window_size": 1, "hamming_distance": 14, "num_blocks": 16, "cluster": "star"},
        ),
    ],
)
def test_partitions_change_nothing(
    tmp_path: Path, name: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks as on a cluster: samples of a cluster are in several partitions, and every task runs twice."""
    samples = shuffled(8)
    other = [
        dict(sample, text=sample["text"].replace("w", "v"), id=len(samples) + at) for at, sample in enumerate(CHAIN)
    ]
    samples += other
    alone = refine(tmp_path / "alone", samples, [{name: params}])
    calls = tasks_in_process(monkeypatch, twice=True, size=8)
    parts = refine(tmp_path / "parts", samples, [{name: params}], shard_size=600)
    assert calls["settle"] > 1 and (calls["shingles"] > 1) is (params.get("verify") == "kept")
    assert exported(parts) == exported(alone)
    for table, columns in (
        ("duplicates", "_row, kept, via, matched, distance, jaccard"),
        ("clusters", "_row, cluster, survivor, size"),
    ):
        assert rows(parts, table, columns) == rows(alone, table, columns)


def test_keys_are_stars_anyway(tmp_path: Path) -> None:
    samples = shuffled(5)
    plain, star = (
        refine(tmp_path / name, samples, [{"document_deduplicator": {"cluster": name, "keep": "n desc"}}])
        for name in ("connected", "star")
    )
    assert kept_ids(plain) == kept_ids(star) and len(kept_ids(star)) == 45
    assert rows(plain, "clusters", "_row, survivor, size") == rows(star, "clusters", "_row, survivor, size")
    check_tables(star, len(samples))


def test_sizes_are_those_of_the_stars(tmp_path: Path) -> None:
    samples = shuffled(6)
    run = refine(tmp_path, samples, [{MINHASH: {**BANDS, "cluster": "star", "save_cluster_size": True}}])
    assert sum(sample["cluster_size"] for sample in exported(run)) == len(samples)


def test_an_index_comes_first(tmp_path: Path) -> None:
    samples, step = shuffled(7), {MINHASH: {**BANDS, "cluster": "star", "index": str(tmp_path / "seen")}}
    bands = bands_of(samples, 24, 2)
    expected = greedy(
        samples, lambda row: row, lambda a, b: any(x == y for x, y in zip(bands[a], bands[b], strict=True))
    )
    found = kept_ids(refine(tmp_path / "one", samples[:20], [step]))
    write_lines(tmp_path / "in.jsonl", samples[20:])
    later = refinery.run(settings(tmp_path / "two", [step], dataset_path=str(tmp_path / "in.jsonl")))
    assert sorted(found + kept_ids(later)) == expected


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"verify": "kept", "index": "seen"}, "an index has none, so they cannot be used together"),
        ({"verify": True, "cluster": "star", "index": "seen"}, "cannot be used together"),
        ({"verify": "some"}, "verify is 'some'; set it to true, false or kept"),
        ({"cluster": "stars"}, "cluster"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, params: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match=said):
        refine(tmp_path, CHAIN, [{MINHASH: {**BANDS, **params}}])


def test_there_is_no_script(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", CHAIN)
    steps = [{MINHASH: {**BANDS, "cluster": "star"}}]
    with pytest.raises(DataError, match="there is no script of cluster: star"):
        refinery.compile(settings(tmp_path, steps, dataset_path=str(tmp_path / "in.jsonl")))
