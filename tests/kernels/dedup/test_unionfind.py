"""Connected components against sets that are merged one pair at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import unionfind
from refinery.kernels.dedup.unionfind import Components, components
from tests.examples import share_of

dense = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40)
sparse = st.lists(st.tuples(*[st.sampled_from([-5, 0, 3, 2**31, 2**32 + 3, 2**62, 2**63 - 1])] * 2), max_size=12)


def merged(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """The smallest row of the component of every row that occurs."""
    groups: dict[int, set[int]] = {}
    for pair in pairs:
        group = set().union(*(groups.get(row, {row}) for row in pair))
        groups.update(dict.fromkeys(group, group))
    return {row: min(group) for row, group in groups.items()}


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@settings(max_examples=share_of(200))
@given(dense)
def test_labels_are_the_smallest_rows(pairs: list[tuple[int, int]]) -> None:
    expected = merged(pairs)
    assert components(*columns(pairs), 20).tolist() == [expected.get(row, row) for row in range(20)]


@settings(max_examples=share_of(200))
@given(sparse | dense, st.integers(1, 5), st.sampled_from([2, 4, 16]), st.randoms(use_true_random=False))
def test_blocks_and_their_order_change_nothing(
    pairs: list[tuple[int, int]], size: int, fewest: int, chance: random.Random
) -> None:
    expected = merged(pairs)
    mixed = [pair[::-1] if chance.random() < 0.5 else pair for pair in chance.sample(pairs, len(pairs))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unionfind, "FEWEST", fewest)  # so that there is no room soon
        found = Components()
        for at in range(0, len(mixed), size):
            found.add(*columns(mixed[at : at + size]))
        rows, roots, _ = found.labels()
    assert rows.tolist() == sorted(expected)
    assert dict(zip(rows.tolist(), roots.tolist(), strict=True)) == expected


def test_labels_may_be_asked_for_between_blocks() -> None:
    found = Components()
    assert [column.tolist() for column in found.labels()[:2]] == [[], []]
    found.add(np.array([7]), np.array([9]))
    assert [column.tolist() for column in found.labels()[:2]] == [[7, 9], [7, 7]]
    found.add(np.array([9, 1]), np.array([3, 2]))
    assert [column.tolist() for column in found.labels()[:2]] == [[1, 2, 3, 7, 9], [1, 1, 3, 3, 3]]


def test_a_block_may_be_used_again_by_its_owner() -> None:
    found, block = Components(), np.array([1, 2])
    found.add(block, block + 10)
    block += 100
    assert found.labels()[0].tolist() == [1, 2, 11, 12]


@pytest.mark.parametrize("order", ["up", "down", "shuffled"])
def test_a_long_chain_is_no_deep_tree(order: str) -> None:
    rows = np.arange(300_000)
    if order == "shuffled":
        np.random.default_rng(0).shuffle(rows)
    first, second = (rows[1:], rows[:-1]) if order == "down" else (rows[:-1], rows[1:])
    assert not components(first, second, len(rows)).any()


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="outside of 0"):
        components(np.array([0]), np.array([3]), 3)
    with pytest.raises(ValueError, match="one length"):
        Components().add(np.array([0, 1]), np.array([3]))
