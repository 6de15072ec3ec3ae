"""Measures of white space words against what plain Python says of the same texts."""

from __future__ import annotations

import re
from statistics import median
from typing import Any

import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.words.split_words import split_words
from tests.characters import by_planes, characters
from tests.examples import share_of

STOPS = {"the", "be", "to", "of", "and", "that", "have", "with"}
SYMBOLS = {"...", "[...]", "(...)", "…", "[…]", "-»"}
PIECES = [
    *" \t\n\r\x0b\x1c\x1f\x7f\x85\xa0\u2003\u3000", *" " * 8, "the", "The", "THAT", "with", "be", "ox", "of", "k", "K", "#", "##", "a",
    "...", "[...]", "(...)", "(…)", "[…]", "…", "-»", "-", "x" * 63, "x" * 64, "x" * 255, "é" * 256, "ि", "Ⅷ", "1", "，", "\U0001f600",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def measures(text: str, rust: bool) -> dict[str, Any]:
    words = [word for word in regex.split(r"\p{White_Space}+", text) if word] if rust else text.split()
    lower = [word.lower() for word in words]
    return {
        "words": len(words),
        "chars": sum(map(len, words)),
        "bytes": sum(len(word.encode()) for word in words),
        "longest": max(map(len, words), default=0),
        "alpha": sum(bool(regex.search(r"\p{Alphabetic}", w)) if rust else any(map(str.isalpha, w)) for w in words),
        "stops": sum(word in STOPS for word in words),
        "lower_stops": sum(word in STOPS for word in lower),
        "different_stops": len(STOPS & set(lower)),
        "marked_words": sum("#" in word or "…" in word for word in words),
        "symbol_words": sum(word in SYMBOLS or 2 * len(re.findall("#+", word)) > len(word) for word in words),
        "lettered": sum(bool(regex.search(r"\p{Alphabetic}", word)) for word in words),
        "median": float(median(map(len, words))) if words else 0.0,
    }


@pytest.mark.parametrize("rust", [False, True])
@settings(max_examples=share_of(500))
@given(texts=st.lists(st.none() | TEXT, max_size=5))
def test_measures(rust: bool, texts: list[str | None]) -> None:
    expected = [None if text is None else measures(text, rust) for text in texts]
    assert split_words(pa.array(texts, pa.string()), rust).to_pylist() == expected
    shifted = pa.array(["é ", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert split_words(shifted, rust).to_pylist() == expected


@by_planes
def test_every_character(planes: range) -> None:
    chars = characters(planes)
    for rust in (False, True):
        assert split_words(pa.array(chars), rust).to_pylist() == [measures(char, rust) for char in chars]
