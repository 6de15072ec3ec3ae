"""Near pairs of 64-bit values against comparing all with all: the same components, and no pair that is not near."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import hamming
from refinery.kernels.dedup.hamming import best_blocks, check, pairs
from refinery.kernels.dedup.unionfind import components
from tests.examples import share_of

# Values that agree in much and differ in few places, so that many are near each other.
bits = st.sampled_from([1 << i for i in (0, 1, 2, 7, 8, 30, 31, 32, 33, 47, 62, 63)])
values = st.sets(
    st.lists(bits, max_size=5).map(sum).map(lambda x: x & (2**64 - 1)) | st.integers(0, 2**64 - 1) | st.integers(0, 63),
    max_size=60,
)


def brute(sample: np.ndarray, distance: int) -> np.ndarray:
    i, j = np.triu_indices(len(sample), 1)
    near = np.bitwise_count(sample[i] ^ sample[j]) <= distance
    return components(i[near], j[near], len(sample))


def compare(sample: np.ndarray, distance: int) -> None:
    a, b = pairs(sample, distance + 1, distance)
    assert (np.bitwise_count(sample[a] ^ sample[b]) <= distance).all()
    assert components(a, b, len(sample)).tolist() == brute(sample, distance).tolist()
    assert len(a) <= max(len(sample) - 1, 0)


def near(chance: np.random.Generator, count: int, flips: int) -> np.ndarray:
    sample = chance.choice(chance.integers(0, 2**64, max(count // 10, 1), np.uint64), count)
    for _ in range(flips):
        sample ^= np.uint64(1) << chance.integers(0, 64, count).astype(np.uint64)
    return np.unique(sample)


@settings(max_examples=share_of(100))
@given(values, st.integers(0, 9))
def test_same_components(sample: set[int], distance: int) -> None:
    compare(np.array(sorted(sample), np.uint64), distance)


@settings(max_examples=share_of(60))
@given(values, st.integers(0, 3), st.sampled_from([2, 5, 2048]))
def test_same_components_by_keys(sample: set[int], distance: int, longest: int) -> None:
    """As for many values: by keys, and by further keys where runs are long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hamming, "LONG_RUN", longest)
        patch.setattr(hamming, "best_blocks", lambda count, free, d: d + 2 if count > 2 and free > d + 1 else None)
        compare(np.array(sorted(sample), np.uint64), distance)


@pytest.mark.parametrize("distance", [1, 3, 4, 7])
@pytest.mark.parametrize("longest", [2, 20, 2048])
def test_clusters_among_random_values(distance: int, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hamming, "LONG_RUN", longest)
    monkeypatch.setattr(hamming, "COMPARED", 20.0)  # keys even for few values
    chance = np.random.default_rng(distance)
    for flips in (1, 2, 4):
        compare(near(chance, 1200, flips), distance)


@pytest.mark.parametrize("distance", [0, 20, 63])
def test_extreme_distances(distance: int) -> None:
    compare(near(np.random.default_rng(1), 300, 2), distance)


def test_few_values() -> None:
    for count in range(4):
        compare(np.arange(count, dtype=np.uint64), 1)
    compare(np.array([0, 2**64 - 1], np.uint64), 4)


def test_long_runs_of_one_key_stay_cheap() -> None:
    """Comparing these with all that share a block would take 10 ** 10 comparisons and as many pairs."""
    low = np.arange(2**17, dtype=np.uint64)
    ball = low & np.uint64(0xFF) | low >> np.uint64(8) << np.uint64(40)
    pairs(ball[:5000], 6, 4)
    begin = time.thread_time()
    a, b = pairs(ball, 6, 4)
    far = np.unique(np.random.default_rng(2).integers(0, 2**44, 100_000, np.uint64)) << np.uint64(20)
    c, _ = pairs(far, 6, 4)
    assert time.thread_time() - begin < 5
    assert len(a) == len(ball) - 1 and (np.bitwise_count(ball[a] ^ ball[b]) <= 4).all()
    assert len(c) < 1000


def test_blocks_grow_with_the_values() -> None:
    assert best_blocks(10, 64, 4) is None
    sizes = [best_blocks(10**exponent, 64, 4) or 0 for exponent in range(4, 10)]
    assert sizes == sorted(sizes) and sizes[0] >= 5 and sizes[-1] >= 7
    assert best_blocks(5000, 3, 4) is None  # all are within the distance of each other


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="must be greater"):
        pairs(np.zeros(0, np.uint64), 4, 4)
    with pytest.raises(ValueError, match="at most 64 blocks"):
        pairs(np.zeros(0, np.uint64), 65, 4)
    with pytest.raises(ValueError, match="ascending and distinct"):
        pairs(np.array([1, 1], np.uint64), 6, 4)
    assert check(6, 4) == []
