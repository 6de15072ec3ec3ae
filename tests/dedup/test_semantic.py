"""`semantic_deduplicator`: against all pairs, in any cut of the input, with an index, explained."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refinery
from refinery import kernels
from refinery.dedup.matchers.cosine import _Search
from refinery.dedup.matchers.hyperplanes import bands, recall
from refinery.errors import OperatorError
from refinery.inspect.why.query import RowHistories
from refinery.kernels.dedup.cosines import squares
from refinery.kernels.dedup.unionfind import components
from tests.examples import share_of
from tests.runs import content, exported, refine, rows
from tests.runs import settings as recipe_of


def vectors(count: int, size: int, seed: int, spread: float = 0.15) -> np.ndarray:
    """Groups of vectors around random directions, with copies; lengths differ."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((max(1, count // 4), size))
    found = centres[generator.integers(0, len(centres), count)]
    found = found + spread * generator.standard_normal(found.shape) * generator.random((count, 1))
    found[::7] = found[0]
    return (found * generator.uniform(0.1, 9, (count, 1))).astype(np.float32)


def exact_cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosines of pairs of vectors, each sum in the order of the numbers."""
    product, left, right = (np.zeros(len(a), np.float64) for _ in range(3))
    for x, y in zip(a.T.astype(np.float64), b.T.astype(np.float64), strict=True):
        product += x * y
        left += x * x
        right += y * y
    return product / np.sqrt(left * right)


@pytest.mark.parametrize("size", [1, 2, 17, 256])
def test_cosines_of_a_kernel_have_the_bits_of_the_formula(size: int) -> None:
    found = vectors(200, size, size)
    one, other = np.random.default_rng(size).integers(0, 200, (2, 1000))
    expected = exact_cosines(found[one], found[other])
    assert (kernels.dedup.cosines.cosines(found, squares(found), one, other) == expected).all()


def test_pairs_do_not_depend_on_other_values_of_a_band() -> None:
    """Shares of the values of a band have the pairs of the whole band, with vectors of their own samples alone."""
    found, values = vectors(300, 8, 3), np.sort(np.random.default_rng(4).integers(0, 5, 300)).astype(np.uint64)

    def pairs(chosen: np.ndarray) -> set[tuple[int, int, int]]:
        search = _Search(chosen, found[chosen], 0.8)
        every = [*search.copies(), *search.band(values[chosen], np.arange(len(chosen)))]
        return {row for each in every for row in zip(*map(np.ndarray.tolist, each[:3]), strict=True)}

    found[::7] = found[values.searchsorted(values[::7])]  # copies are equal in every band
    apart = [pairs(np.flatnonzero(values == value)) for value in range(5)]
    assert set.union(*apart) == pairs(np.arange(300)) and all(len(each) > 5 for each in apart)


def groups(pairs: Iterable[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    a, b = (np.concatenate([each[side] for each in pairs] or [np.zeros(0, np.int64)]) for side in (0, 1))
    return components(a, b, count)


def all_pairs(found: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.triu_indices(len(found), 1)
    alike = exact_cosines(found[a], found[b]) >= threshold
    return b[alike], a[alike]


@settings(max_examples=share_of(200, 20), deadline=None)
@given(st.integers(1, 60), st.integers(2, 40), st.integers(0, 1 << 30), st.sampled_from([0.8, 0.9, 0.99, 1.0]))
def test_one_bucket_has_the_groups_of_all_pairs(count: int, size: int, seed: int, threshold: float) -> None:
    found = vectors(count, size, seed)
    search = _Search(np.arange(count), found, threshold)
    pairs = [*search.copies()]
    members = np.flatnonzero(search._first == np.arange(count))
    pairs += [*(search.bucket(members) if seed % 2 else search.band(np.zeros(count, np.uint64), np.arange(count)))]
    for pair in pairs:
        assert (pair.row > pair.via).all() and (exact_cosines(found[pair.row], found[pair.via]) >= threshold).all()
    assert sum(len(pair.row) for pair in pairs) < count
    expected = groups([all_pairs(found, threshold)], count)
    copies = np.unique(found, axis=0, return_inverse=True)[1]
    firsts = {int(copy): number for number, copy in reversed(list(enumerate(copies)))}
    joined = (
        np.arange(count),
        np.array([firsts[int(copy)] for copy in copies]),
    )  # also where rounding puts a cosine below 1
    assert (
        groups([(p.row, p.via) for p in pairs], count) == groups([(np.arange(count), expected), joined], count)
    ).all()


@pytest.mark.parametrize(("cosine", "num_bands", "band_bits"), [(0.95, 32, 16), (0.9, 32, 16), (0.8, 16, 8)])
def test_the_share_of_pairs_that_are_candidates(cosine: float, num_bands: int, band_bits: int) -> None:
    generator = np.random.default_rng(5)
    one, other = generator.standard_normal((2, 4000, 64))
    one /= np.linalg.norm(one, axis=1)[:, None]
    other -= (one * other).sum(axis=1)[:, None] * one
    other /= np.linalg.norm(other, axis=1)[:, None]
    pairs = one, cosine * one + np.sqrt(1 - cosine**2) * other
    here, there = (bands(each, num_bands, band_bits) for each in pairs)
    share, expected = (here == there).any(axis=1).mean(), recall(cosine, num_bands, band_bits)
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000) + 1e-3


def test_the_documented_shares() -> None:
    assert [round(recall(cosine, 32, 16), 4) for cosine in (0.9, 0.95, 0.98)] == [0.9392, 0.9984, 1.0]


def test_bands_do_not_depend_on_the_batch() -> None:
    found = np.random.default_rng(1).uniform(-1, 1, (300, 50))
    whole = bands(found, 8, 64)
    assert (whole == np.concatenate([bands(found[i : i + 1], 8, 64) for i in range(300)])).all()
    assert len(np.unique(whole)) == whole.size


def samples(count: int = 120) -> list[dict[str, Any]]:
    found = vectors(count, 16, 7)
    return [{"id": n, "text": f"text {n}", "embedding": each.tolist()} for n, each in enumerate(found)]


STEP: dict[str, Any] = {"semantic_deduplicator": {"cosine_threshold": 0.97}}


def test_a_run_finds_the_groups_of_all_pairs_in_any_cut(tmp_path: Path) -> None:
    given = samples()
    run = refine(tmp_path, given, [STEP])
    found = np.array([sample["embedding"] for sample in given], np.float32)
    expected = groups([all_pairs(found, 0.97)], len(found))
    assert [sample["id"] for sample in exported(run)] == np.unique(expected).tolist()
    clusters = dict(rows(run, "clusters", "_row, min(_row) OVER (PARTITION BY cluster)"))
    assert clusters == {n: int(root) for n, root in enumerate(expected) if (expected == root).sum() > 1}
    keys = {"shard_size": 4_000, "np": 2, "export_path": tmp_path / "cut" / "out.jsonl", "work_dir": tmp_path / "cut"}
    cut = refinery.run(recipe_of(tmp_path, [STEP], **keys))
    assert rows(cut, "shards", "count(*)")[0][0] > 3
    ours, theirs = content(run, "shards"), content(cut, "shards")
    assert {name: table for name, table in ours.items() if theirs[name] != table} == {}
    for row, via, matched in rows(run, "duplicates", "_row, coalesce(via, kept), matched"):
        [cosine] = exact_cosines(found[[row]], found[[via]])
        assert matched == f"cosine {cosine:.6f}" and cosine >= 0.97


def test_why_limits_and_script(tmp_path: Path) -> None:
    run = refine(tmp_path, samples(), [STEP])
    [(row, kept), *_] = rows(run, "duplicates", "_row, kept")
    with RowHistories(run.work_dir) as histories:
        [event] = histories.of(row).events
    assert event.duplicate is not None and event.duplicate.kept is not None and event.duplicate.kept.row == kept
    limited = {"semantic_deduplicator": {"cosine_threshold": 0.97, "max_cluster_size": 3}}
    with pytest.raises(OperatorError, match="found a cluster of .* samples, more than max_cluster_size"):
        refine(tmp_path / "limited", samples(), [limited])
    script = refinery.compile(recipe_of(tmp_path, [STEP], export_path=tmp_path / "script.jsonl"))
    with duckdb.connect() as con:
        refinery.register(con)
        con.execute(script).fetchall()
        found = con.execute("SELECT _row, kept FROM duplicates ORDER BY 1").fetchall()
    assert found == rows(run, "duplicates", "_row, kept")


def test_an_index_finds_what_an_earlier_run_kept(tmp_path: Path) -> None:
    step = {"semantic_deduplicator": {"cosine_threshold": 0.97, "index": str(tmp_path / "index")}}
    whole = exported(refine(tmp_path / "whole", samples(), [STEP]))
    first = exported(refine(tmp_path / "one", samples()[:60], [step]))
    second = exported(refine(tmp_path / "two", samples()[60:], [step]))
    assert [sample["id"] for sample in first] == [sample["id"] for sample in whole if sample["id"] < 60]
    assert {sample["id"] for sample in whole} - {sample["id"] for sample in first} <= {s["id"] for s in second}


def test_samples_without_an_embedding_and_other_lengths(tmp_path: Path) -> None:
    given: list[Any] = [{"text": "a"}, {"text": "b", "embedding": None}, {"text": "c", "embedding": []}]
    run = refine(tmp_path / "one", given, [STEP])
    assert len(exported(run)) == 3 and any("no sample has an embedding" in note for note in run.warnings)
    with pytest.raises(OperatorError, match="embeddings have 2 and 3 numbers; they must come from one model"):
        refine(tmp_path / "two", [{"text": "a", "embedding": [1, 2]}, {"text": "b", "embedding": [1, 2, 3]}], [STEP])


def test_nested_embeddings_are_compared(tmp_path: Path) -> None:
    """A field whose name has a dot goes before a nested one."""
    samples = [{"text": "a", "meta": {"e": [1, 0], "x": None}}, {"text": "b", "meta": {"e": [1, 0.0]}, "u": 1}]
    more = [{"text": "c", "meta": {"e": None}}, {"text": "d", "meta": "none"}]
    for used, kept in (
        (samples, ["a"]),
        (samples + more, ["a", "c", "d"]),
        ([{**samples[0], "meta.e": [0, 1]}, samples[1]], ["a", "b"]),
    ):
        source, out = tmp_path / "in.jsonl", tmp_path / f"out{len(kept)}.jsonl"
        source.write_text("".join(json.dumps(sample) + "\n" for sample in used))
        step = {"semantic_deduplicator": {"embedding_key": "meta.e"}}
        refinery.run({"dataset_path": str(source), "export_path": str(out), "process": [step]}, overwrite=True)
        assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == kept
