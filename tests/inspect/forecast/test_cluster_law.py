"""The law of duplicates, on clusters of known sizes of which each row is sampled with one probability."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from refinery.inspect.forecast.cluster_law import all_beyond, removed_rows

ROWS, SHARE, TIMES = 60_000, 0.05, 20


def sizes_of(kind: str) -> np.ndarray:
    """Sizes of the clusters of a corpus; 1 for a row without a copy."""
    random = np.random.default_rng(3)
    if kind == "pairs":
        return np.repeat([2, 1], [ROWS // 8, ROWS - 2 * (ROWS // 8)])
    if kind == "tens":
        return np.repeat([10, 1], [ROWS // 50, ROWS - 10 * (ROWS // 50)])
    if kind == "huge":
        return np.repeat([ROWS // 3, 1], [1, ROWS - ROWS // 3])
    if kind == "zipf":
        sizes = random.zipf(2.3, ROWS)
        sizes = sizes[sizes < ROWS / 10]
        return sizes[np.cumsum(sizes) <= ROWS]
    return np.ones(ROWS, np.int64)


def sampled(sizes: np.ndarray, seed: int) -> Counter[int]:
    seen = np.random.default_rng(seed).binomial(sizes, SHARE)
    return Counter(seen[seen > 1].tolist())


@pytest.mark.parametrize(
    ("kind", "error"), [("none", 0.001), ("pairs", 0.05), ("tens", 0.1), ("huge", 0.05), ("zipf", 0.25)]
)
def test_rows_of_known_clusters_are_within_the_bounds(kind: str, error: float) -> None:
    sizes = sizes_of(kind)
    rows, removed = int(sizes.sum()), int((sizes - 1).sum())
    found = [removed_rows(sampled(sizes, seed), SHARE, rows) for seed in range(TIMES)]
    assert sum(one.low <= removed <= one.high for one in found) >= TIMES - 2
    kept = [(rows - one.rows) / (rows - removed) for one in found]
    assert abs(float(np.mean(kept)) - 1) < error


def test_bounds_narrow_with_the_sample() -> None:
    sizes = sizes_of("pairs")
    small, large = (
        removed_rows(Counter({2: int(share**2 * ROWS / 8)}), share, float(sizes.sum())) for share in (0.02, 0.2)
    )
    assert large.high - large.low < (small.high - small.low) / 2


def test_no_copy_in_the_sample_leaves_an_upper_bound() -> None:
    found = removed_rows({}, 0.01, 1e6)
    assert found.rows == found.low == 0 and found.law == "no duplicates"
    assert 3 / 0.01**2 * 0.9 < found.high < 1e6


def test_duplicates_are_not_scaled_as_rows() -> None:
    found = removed_rows({2: 40}, 0.02, 1e6)
    assert found.rows > 20 * 40 / 0.02  # pairs are seen with the square of the share


def test_parts_in_more_than_some_rows_go_everywhere() -> None:
    few, many = removed_rows({20: 3}, 0.1, 1e5, all_beyond(500)), removed_rows({20: 3}, 0.1, 1e5, all_beyond(100))
    assert few.rows == 0 and many.rows == pytest.approx(600)


@pytest.mark.parametrize("clusters", [{}, {2: 1}, {400: 1}, {2: 5, 50: 2}])
def test_removed_rows_are_fewer_than_all(clusters: dict[int, int]) -> None:
    found = removed_rows(clusters, 0.25, 500.0)
    assert 0 <= found.low <= found.rows <= found.high < 500
