"""Pairs of equal values against a dictionary of groups."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup.equal import equal_pairs
from tests.examples import share_of

# Zero, neighbours, both ends of the range, and values whose lower halves are equal.
VALUES = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1, 7 << 32, 8 << 32, (7 << 32) + 1]) | st.integers(0, 2**64 - 1)
ROWS = st.integers(-5, 5) | st.sampled_from([-(2**63), 2**63 - 1, 3 << 32])


def expected(samples: dict[int, int]) -> set[tuple[int, int]]:
    groups = defaultdict(list)
    for row, value in samples.items():
        groups[value].append(row)
    return {(row, min(group)) for group in groups.values() for row in group if row != min(group)}


def found(samples: dict[int, int]) -> set[tuple[int, int]]:
    row, via = equal_pairs(np.array(list(samples), np.int64), np.array(list(samples.values()), np.uint64))
    pairs = list(zip(row.tolist(), via.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


@settings(max_examples=share_of(200))
@given(st.dictionaries(ROWS, VALUES, max_size=40))
def test_each_sample_is_paired_with_the_first_of_its_group(samples: dict[int, int]) -> None:
    assert found(samples) == expected(samples)


def test_many_samples_in_any_order() -> None:
    rng = np.random.default_rng(3)
    for different in (1, 50, 20_000):
        samples = dict(zip(rng.permutation(20_000).tolist(), rng.integers(0, different, 20_000).tolist(), strict=True))
        assert found(samples) == expected(samples)
