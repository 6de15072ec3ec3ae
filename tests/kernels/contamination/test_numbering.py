"""Numbers of keys against a dict, and grouping against plain loops."""

from __future__ import annotations

import numpy as np

from refinery.kernels.contamination.numbering import grouped, numbered, texts_with


def _keys(seed: int, count: int, most: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, most, count).astype(np.uint64)


def _by_dict(keys: np.ndarray) -> tuple[list[int], list[int]]:
    known: dict[int, int] = {}
    return [known.setdefault(key, len(known)) if key else -1 for key in keys.tolist()], list(known)


def test_keys_get_numbers_in_the_order_of_their_first_occurrence_also_when_the_table_grows() -> None:
    for keys in (_keys(1, 0, 9), _keys(2, 500, 9), _keys(3, 9_000, 7_000)):
        numbers, distinct = numbered(keys)
        assert (numbers.tolist(), distinct.tolist()) == _by_dict(keys)


def test_texts_are_counted_once_for_a_number_and_values_keep_their_order() -> None:
    keys, offsets = _keys(4, 300, 40), np.array([0, 0, 120, 125, 300], np.int64)
    numbers, distinct = numbered(keys)
    parts = [set(numbers[a:b].tolist()) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    expected = [sum(number in part for part in parts) for number in range(len(distinct))]
    assert texts_with(numbers, offsets, len(distinct)).tolist() == expected
    values = np.arange(300, dtype=np.int64)
    by_number = [values[numbers == number] for number in range(len(distinct))]
    starts = np.concatenate([[0], np.cumsum([len(group) for group in by_number])]).astype(np.int64)
    assert grouped(numbers, values, starts).tolist() == np.concatenate(by_number).tolist()
