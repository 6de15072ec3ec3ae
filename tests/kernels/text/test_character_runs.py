"""Repeated groups and runs of characters against the regular expressions that define them."""

from __future__ import annotations

import re

import pyarrow as pa
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.character_runs import count_runs, repeated_groups
from tests.characters import by_planes, characters
from tests.examples import share_of

GROUP = re.compile(r"(.+?)(\s?\1){3,}")
FEW = st.text(st.sampled_from("ab \n"), max_size=60) | st.text(st.sampled_from("aé \t\n\x1c\u3000👍"), max_size=40)
TEXT = st.text(st.sampled_from("aZ5_٣½-.,!\n\t \x1c\x85\xa0éिⅧ一👍\u200d"), max_size=60)


def groups(text: str) -> list[tuple[int, int, int]]:
    return [(match.start(), match.end(), len(match[1])) for match in GROUP.finditer(text)]


@settings(max_examples=share_of(1500))
@given(FEW, st.integers(1, 6))
def test_repeated_groups(text: str, times: int) -> None:
    text = text[:30] * times + text[30:]
    assert repeated_groups(text, False) == groups(text)


@settings(max_examples=share_of(500))
@given(FEW, st.integers(1, 6))
def test_repeated_groups_of_lines(text: str, times: int) -> None:
    text = text[:30] * times + text[30:]
    expected, at = [], 0
    for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
        expected += [(at + start, at + end, size) for start, end, size in groups(line)]
        at += len(line)
    assert repeated_groups(text, True) == expected


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_runs(texts: list[str | None]) -> None:
    expected = [None if text is None else len(regex.findall(r"\w+|[^\w\s]+", text)) for text in texts]
    assert count_runs(pa.array(texts, pa.string())).to_pylist() == expected
    shifted = pa.array(["é ", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert count_runs(shifted).to_pylist() == expected


@by_planes
def test_every_character(planes: range) -> None:
    chars = [f"a{char}-" for char in characters(planes)]
    expected = [len(regex.findall(r"\w+|[^\w\s]+", text)) for text in chars]
    assert count_runs(pa.array(chars)).to_pylist() == expected
