"""Repeated substrings: items and groups against windows in a dictionary, and a suffix array."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import substring_cells, substring_groups, substrings
from refinery.kernels.dedup.substring_groups import Passages
from tests.examples import share_of

EMPTY = np.zeros(0, np.int64)


def found(
    texts: list[str], length: int, every: bool = False, tokens: bool = False, items: list[int] | None = None
) -> Passages:
    """The rounds of the tasks, in memory. items: gets the number of items of each round."""
    counts = [] if items is None else items
    column = pa.array(texts, pa.string())
    lists = substrings.anchors(column, length, tokens)
    own = np.asarray(lists.values.to_numpy(), np.uint64).reshape(-1, 4)
    rows = np.repeat(np.arange(len(texts)), np.diff(lists.offsets.to_numpy()) // 4)
    again = own[:, 1] == substrings.REPEATED
    parts = [substring_groups.repetitions(rows[again], own[again], every)]
    rows, own = rows[~again], own[~again]
    for width in [None, *substring_cells.widths(length)]:
        if width is not None:
            firsts, places = np.searchsorted(rows, np.arange(len(texts) + 1)), np.ascontiguousarray(own[:, 0])
            if len(counts) == 1:
                excerpts = substring_cells.excerpts(column, lists_of(firsts, places), length, tokens)
            own, ends = substring_cells.cells(excerpts, places, firsts, length, width, tokens)
            rows = np.repeat(np.arange(len(texts)), np.diff(ends))
        counts.append(len(own))
        order = np.lexsort((own[:, 0], rows, own[:, 3], own[:, 2], own[:, 1]))
        rows, own = rows[order], own[order]
        keys = [np.ascontiguousarray(own[:, at]) for at in (1, 2, 3)]
        copies, opened = substring_groups.resolve(*keys, every, width == 1)
        at = np.flatnonzero(copies >= 0)
        first, end = substrings.first_of(own[:, 0]), substrings.last_of(own[:, 0]) + length
        parts.append(Passages(rows[at], first[at], end[at], rows[copies[at]], first[copies[at]]))
        rows, own = rows[opened], own[opened]
        order = np.lexsort((own[:, 0], rows))
        rows, own = rows[order], own[order]
    assert not len(rows) or length == 1
    return substring_groups.covering(Passages(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))


def lists_of(firsts: np.ndarray, places: np.ndarray) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(firsts), pa.array(places.astype(np.int64)))


def expected(texts: list, length: int, every: bool = False) -> list[set[int]]:
    """The definition: places in windows that an earlier one equals; with `every`, in windows that any other one equals."""
    windows: dict = {}
    for row, text in enumerate(texts):
        for start in range(len(text) - length + 1):
            windows.setdefault(tuple(text[start : start + length]), []).append((row, start))
    places: list[set[int]] = [set() for _ in texts]
    for there in windows.values():
        for row, start in there if every and len(there) > 1 else there[1:]:
            places[row].update(range(start, start + length))
    return places


def places_of(passages: Passages, count: int) -> list[set[int]]:
    places: list[set[int]] = [set() for _ in range(count)]
    for row, start, end in zip(*passages[:3], strict=True):
        assert not places[row] & set(range(start, end))
        places[row].update(range(start, end))
    return places


def check(texts: list[str], length: int, every: bool = False, tokens: bool = False) -> None:
    symbols = [text.split() if tokens else text.encode() for text in texts]
    passages = found(texts, length, every, tokens)
    assert places_of(passages, len(texts)) == expected(symbols, length, every)
    for row, start, end, kept, at in zip(*passages, strict=True):
        assert symbols[row][start:end] == symbols[kept][at : at + end - start]
        assert (kept, at) != (row, start) if every else (kept, at) < (row, start)


SEEDS = st.integers(0, 1 << 30)
texts = st.one_of(
    st.lists(st.text("ab", max_size=80), max_size=6),
    st.lists(st.text("abc é漢😀\n", max_size=60), max_size=6),
    st.builds(lambda part, times, tail: [part * times + tail, tail + part * 3, part * 2], st.text("abc", max_size=7),
              st.integers(0, 30), st.text("abcd", max_size=30)),
)  # fmt: skip
lengths = st.sampled_from([1, 2, 3, 5, 8, 11, 16, 23])


@settings(max_examples=share_of(2000), deadline=None)
@given(texts, lengths, st.booleans())
def test_windows_are_those_of_the_definition(texts, length, every):
    check(texts, length, every)


@settings(max_examples=share_of(500), deadline=None)
@given(st.lists(st.text("ab é\u3000\n", max_size=80), max_size=6), lengths, st.booleans())
def test_windows_of_tokens(texts, length, every):
    check(texts, length, every, tokens=True)


@pytest.mark.parametrize("length", [50, 97, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("every", [False, True])
def test_edited_copies(length, every):
    """Passages of one text in another, with edits at distances around the length of a window."""
    chance = random.Random(length)
    passages = ["".join(chance.choices("abcdefgh ", k=chance.randrange(3 * length))) for _ in range(6)]
    texts = []
    for _ in range(20):
        text = "".join(chance.choices(passages, k=4))
        at = chance.randrange(len(text) + 1)
        texts.append(text[:at] + "".join(chance.choices("xyz", k=chance.randrange(3))) + text[at:])
    check(texts, length, every)


@pytest.mark.parametrize("period", ["a", "ab", "abc" * 7 + "d", "x" * 60 + "y"])
def test_periods(period):
    check([period * 40, "z" + period * 20 + "z", period * 45], 50)
    check([period * 40, "z" + period * 20 + "z", period * 45], 50, every=True)


@pytest.mark.parametrize("extra", [-1, 0, 5_000])
def test_the_longest_windows(extra):
    """Distances of 16 bits, in a copy that is shorter than, as long as and longer than a window."""
    part = "".join(random.Random(2).choices("abcdefgh", k=substrings.LONGEST + extra))
    found_here = found([f"x{part}y", f"zz{part}"], substrings.LONGEST)
    expected_here = [] if extra < 0 else [(1, 2, 2 + len(part), 0, 1)]
    assert [tuple(map(int, passage)) for passage in zip(*found_here, strict=True)] == expected_here


def test_a_footer_costs_the_same_in_each_of_many_texts():
    """Texts that share 700 bytes have few items in each round, however many they are."""
    dice = random.Random(3)
    footer = "".join(dice.choices("abcdefghij ", k=700))
    given = [
        "".join(dice.choices("klmnopqrst ", k=300)) + footer + "".join(dice.choices("klmno", k=60)) for _ in range(400)
    ]
    for texts in (given[:20], given):
        rounds: list[int] = []
        passages = found(texts, 500, items=rounds)
        assert max(rounds) <= 40 * len(texts) and len(passages.row) <= 3 * len(texts)


def test_a_period_has_few_items():
    [items] = substrings.anchors(pa.array([" " * 100_000]), 500, False).to_pylist()
    assert len(items) // 4 == 2


def test_few_texts():
    given = [
        "the red fox runs and the red fox sleeps",
        "a red fox runs",
        "ababababababababab",
        "",
        "x the red fox runs",
    ]
    for every in (False, True):
        check(given, 5, every)
        check(given, 2, every, tokens=True)
