"""Pairs of equal values against a dictionary of groups."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.dedup.clusters import explained
from refinery.dedup.matchers.model import Pairs
from refinery.kernels.dedup.equal import equal_pairs, new_pairs
from tests.examples import share_of

# Zero, neighbours, both ends of the range, and values whose lower halves are equal.
VALUES = st.sampled_from([0, 1, 2, 2**63, 2**64 - 1, 7 << 32, 8 << 32, (7 << 32) + 1]) | st.integers(0, 2**64 - 1)
ROWS = st.integers(-5, 5) | st.sampled_from([-(2**63), 2**63 - 1, 3 << 32])


def expected(samples: dict[int, int]) -> set[tuple[int, int]]:
    groups = defaultdict(list)
    for row, value in samples.items():
        groups[value].append(row)
    firsts = [(min(group), group) for group in groups.values()]
    return {(row, first) for first, group in firsts for row in group if row != first}


def found(samples: dict[int, int]) -> set[tuple[int, int]]:
    rows = np.array(list(samples), np.int64)
    place, via = equal_pairs(rows, np.array(list(samples.values()), np.uint64))
    assert (np.diff(place) > 0).all()
    pairs = list(zip(rows[place].tolist(), via.tolist(), strict=True))
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


@settings(max_examples=share_of(200))
@given(
    st.lists(ROWS, unique=True, max_size=12), st.integers(1, 4), st.integers(1, 6), st.randoms(use_true_random=False)
)
def test_pairs_of_the_column_before_explain_nothing_more(rows: list[int], most: int, columns: int, chance: Any) -> None:
    numbers, known = np.array(rows, np.int64), np.array(rows, np.int64)
    every, new = [], []
    for how in range(columns):
        values = np.array([chance.randrange(most) for _ in rows], np.uint64)
        place, via = equal_pairs(numbers, values)
        every.append((numbers[place], via))
        new.append(new_pairs(place, via, numbers, known))
        before = set(zip(*map(np.ndarray.tolist, every[how - 1]), strict=True)) if how else set()
        assert not before & set(zip(*map(np.ndarray.tolist, new[how]), strict=True))
    for with_all, with_new in zip(_explained(every), _explained(new), strict=True):
        np.testing.assert_array_equal(with_all, with_new)


def _explained(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
    """The components of pairs, and the match that explains each sample."""
    return explained(
        Pairs(row, via, np.full(len(row), how, np.int32), np.full(len(row), np.nan))
        for how, (row, via) in enumerate(found)
    )
