"""Groups of any size give as many pairs as they have members, and the clusters are those of a plain union-find."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from refinery.compiler.model import OrderTerm
from refinery.dedup import match_keys
from refinery.dedup.clusters import Clusters
from refinery.dedup.match_keys import MatchKeys, SqlLimits
from refinery.dedup.matchers import MATCHERS, MatchColumn, SampleMatcher
from refinery.dedup.matchers.model import Pairs
from refinery.kernels.dedup import unionfind
from tests.dedup.clustered import cluster
from tests.examples import share_of
from tests.runs import exported, refine, rows

LARGE = 200_000
ROOM = SqlLimits(2, "1GB", tempfile.gettempdir())


def holds_any(form: MatchColumn, names: Iterable[str]) -> bool:
    return not form.form == "rows" and any(map(form.holds, names))


def pairs_by(
    match: str, keys: MatchKeys, params: dict[str, Any], compare: Any = None, notes: Any = None
) -> Iterator[Pairs]:
    """Pairs that a matcher finds."""
    return cast(SampleMatcher, MATCHERS[match]).pairs(keys, params, compare, notes)


@pytest.fixture
def marks_of(tmp_path: Path) -> Callable[..., MatchKeys]:
    """The marks of samples 0 and on, as shards leave them."""

    def make(**columns: Any) -> MatchKeys:
        size = len(next(iter(columns.values())))
        pq.write_table(pa.table({"_row": np.arange(size, dtype=np.int64), **columns}), tmp_path / "marks.parquet")
        form = [form for matcher in MATCHERS.values() for form in matcher.columns if holds_any(form, columns)]
        return MatchKeys([str(tmp_path / "marks.parquet")], form, ROOM)

    return make


class Counted:
    """Pairs on their way to the clusters, counted."""

    def __init__(self, found: Iterator[Pairs]) -> None:
        self.found, self.count = found, 0

    def __iter__(self) -> Iterator[Pairs]:
        for block in self.found:
            self.count += len(block.row)
            yield block


def check(found: Clusters, size: int) -> None:
    """One cluster of all."""
    assert len(found.row) == size and not found.root.any() and not found.kept.any()
    assert len(found.removed) == size and found.removed.sum() == size - 1 and (found.sizes() == size).all()


# Large groups


@pytest.mark.parametrize("name", ["key", "simhash"])
def test_a_value_that_all_share_gives_a_pair_each(marks_of: Callable[..., MatchKeys], name: str) -> None:
    with marks_of(**{name: np.full(LARGE, 7, np.uint64)}) as marks:
        params = {"num_blocks": 6, "hamming_distance": 4}
        given_pairs = Counted(pairs_by("keys" if name == "key" else "hamming", marks, params))
        found = cluster(given_pairs, marks, [])
    assert given_pairs.count == LARGE - 1
    check(found, LARGE)
    assert not found.via[1:].any() and not found.how.any()


def test_bands_that_all_share_give_a_pair_each(marks_of: Callable[..., MatchKeys]) -> None:
    with marks_of(**{f"band_{band}": np.full(LARGE, band, np.uint64) for band in range(3)}) as marks:
        given_pairs = Counted(pairs_by("bands", marks, {}))
        found = cluster(given_pairs, marks, [])
    assert given_pairs.count == LARGE - 1  # the other bands have the same pairs
    check(found, LARGE)
    assert not found.via[1:].any() and not found.how.any()


def test_a_chain_through_two_bands_is_one_cluster(marks_of: Callable[..., MatchKeys]) -> None:
    """Every sample shares one band with the one before and the other with the one behind."""
    rows = np.arange(LARGE, dtype=np.uint64)
    with marks_of(band_0=rows // 2, band_1=(rows + 1) // 2) as marks:
        given_pairs = Counted(pairs_by("bands", marks, {}))
        found = cluster(given_pairs, marks, [])
    assert given_pairs.count == LARGE - 1
    check(found, LARGE)
    assert (found.via[1:] == found.row[:-1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_bands_in_memory_give_the_pairs_of_sql(
    marks_of: Callable[..., MatchKeys], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """But for those of the band before; clusters are the same. With NULLs, too, which are equal to nothing."""
    rng, found, clusters = np.random.default_rng(seed), [], []
    bands = {f"band_{band}": rng.integers(0, 1 << (4 * band + 2), 500).astype(np.uint64) for band in range(3)}
    bands["band_1"][::2] = bands["band_0"][::2]
    bands["band_3"] = pa.array(bands["band_0"], mask=rng.random(500) < 0.5)  # type: ignore[assignment]
    for most in (1 << 20, 0):
        monkeypatch.setattr(match_keys, "_IN_MEMORY", most)
        with marks_of(**bands) as marks:
            assert marks.small == (most > 0)
            blocks = list(pairs_by("bands", marks, {}))
            clusters.append(cluster(iter(blocks), marks, []))
        found.append({pair for pairs in blocks for pair in zip(*(c.tolist() for c in pairs[:3]), strict=True)})
    assert len({how for _, _, how in found[0]}) == 4
    left_out = found[1] - found[0]
    assert left_out and found[0] <= found[1]
    assert all((row, via, how - 1) in found[1] for row, via, how in left_out)
    for name in ("row", "root", "kept", "via", "how", "jaccard"):
        np.testing.assert_array_equal(*(getattr(one, name) for one in clusters))


def test_a_large_group_in_an_order_keeps_the_best(marks_of: Callable[..., MatchKeys]) -> None:
    order = np.random.default_rng(1).permutation(LARGE)
    with marks_of(key=np.arange(LARGE) % 2, order_0=order) as marks:
        found = cluster(pairs_by("keys", marks, {}), marks, [OrderTerm("order_0", "DESC NULLS LAST")])
    for half in (0, 1):
        kept = found.kept[found.row % 2 == half]
        assert (kept == np.argmax(np.where(np.arange(LARGE) % 2 == half, order, -1))).all()


def test_a_large_group_goes_through_a_whole_run(tmp_path: Path) -> None:
    samples = [json.dumps({"text": "same" if k % 10 else f"own {k}", "k": k % 7}) for k in range(LARGE // 10)]
    run = refine(tmp_path, samples, [{"document_deduplicator": None}, {"key_deduplicator": {"key": "k"}}], np=2)
    assert [row["text"] for row in exported(run)] == ["own 0", "same", *(f"own {k}" for k in (10, 20, 30, 40, 60))]
    assert rows(run, "clusters", "step, max(size), count(*) FILTER (WHERE survivor)", "TRUE GROUP BY step ORDER BY step")[0] == (
        1, LARGE // 10 * 9 // 10, 1,
    )  # fmt: skip


# Any pairs


def union_find(found: list[list[int]]) -> list[int]:
    """The first of each one's component; found: lists of ones that belong together."""
    size = max((max(group) for group in found), default=-1) + 1
    parent = list(range(size))

    def root(one: int) -> int:
        while parent[one] != one:
            one = parent[one]
        return one

    for group in found:
        for one in group[1:]:
            low, high = sorted((root(group[0]), root(one)))
            parent[high] = low
    return [root(one) for one in range(size)]


BLOCKS = st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12), max_size=8)


@given(BLOCKS, st.sampled_from([2, 8, 64]))
@examples(max_examples=share_of(150))
def test_clusters_are_those_of_a_union_find(blocks: list[list[tuple[int, int]]], fewest: int) -> None:
    blocks = [[pair for pair in block if pair[0] != pair[1]] for block in blocks]
    both = [pair for block in blocks for pair in block]
    given_pairs = []
    for how, block in enumerate(blocks):
        a, b = (np.array(ends, np.int64) for ends in (zip(*block, strict=True) if block else ((), ())))
        given_pairs.append(Pairs(a, b, np.full(len(a), how, np.int32), np.full(len(a), how / 10)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unionfind, "FEWEST", fewest)  # so that there is no room soon
        found = cluster(given_pairs, SimpleNamespace(), [])  # type: ignore[arg-type]
        again = cluster(given_pairs[::-1], SimpleNamespace(), [])  # type: ignore[arg-type]
    parents = union_find([list(pair) for pair in both])
    members = sorted({one for pair in both for one in pair})
    assert found.row.tolist() == members and found.root.tolist() == [parents[one] for one in members]
    assert (found.kept == found.root).all()
    for row, via, how, jaccard in zip(
        *(c.tolist() for c in (found.row, found.via, found.how, found.jaccard)), strict=True
    ):
        # An earlier sample before a later one, then the first block, then the first sample.
        matches = [
            (other > row, at, other)
            for at, block in enumerate(blocks)
            for pair in block
            for one, other in (pair, pair[::-1])
            if one == row
        ]
        assert (via > row, how, via) == min(matches) and jaccard == how / 10
    for name in ("row", "root", "via", "how", "jaccard"):
        assert (getattr(found, name) == getattr(again, name)).all()


KEYS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), max_size=25)


@given(st.lists(KEYS, min_size=1, max_size=9), st.sampled_from([900, 10_000]))
@examples(max_examples=3)
def test_operators_find_the_clusters_of_a_union_find(worlds: list[list[tuple[int, int, int]]], shard_size: int) -> None:
    """Texts of two words share a band with every text that has one of them in the same place; each world has its own."""
    given_rows = [
        (f"{world}_{a}" if a else "", f"{world}_{b}", n) for world, keys in enumerate(worlds) for a, b, n in keys
    ]
    samples = [{"text": f"a{a} b{b}", "a": a or None, "n": n} for a, b, n in given_rows]
    minhash = {"window_size": 1, "num_permutations": 64, "num_bands": 64, "num_rows_per_band": 1}
    steps = [
        {"key_deduplicator": {"key": "a", "keep": "n desc"}},
        {"document_minhash_deduplicator": {**minhash, "keep": "n"}},
    ]
    with tempfile.TemporaryDirectory() as folder:
        run = refine(Path(folder), samples, steps, shard_size=shard_size)
        left = list(range(len(samples)))
        for step, words, best in (
            (1, lambda row: [samples[row]["a"]], -1),
            (2, lambda row: samples[row]["text"].split(), 1),
        ):
            groups: dict[str, list[int]] = {}
            for row in left:
                for word in words(row):
                    if word is not None:
                        groups.setdefault(word, []).append(row)
            parents = union_find(list(groups.values()))
            components: dict[int, list[int]] = {}
            for row in {row for group in groups.values() for row in group}:
                components.setdefault(parents[row], []).append(row)
            kept = {}
            for members in components.values():
                stays = min(members, key=lambda row: (best * samples[row]["n"], row))
                kept |= {row: stays for row in members if row != stays}
            assert dict(rows(run, "ledger", "_row, kept_instead", f"step = {step}")) == kept
            left = [row for row in left if row not in kept]
        assert [row["text"] for row in exported(run)] == [samples[row]["text"] for row in left]
