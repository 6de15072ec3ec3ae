"""Repetition of units and their n-grams, against plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text import unit_repetition
from refinery.kernels.text.units import KINDS
from refinery.kernels.unicode import word_break
from tests.examples import share_of

uniseg = pytest.importorskip("uniseg.wordbreak")


def unicode_words(text: str) -> list[str]:
    table = word_break.properties()
    return [word for word in uniseg.words(text) if any(table[ord(char)] & word_break.ALNUM for char in word)]


SPLIT: dict[str, Callable[[str], list[str]]] = {
    "lines": lambda text: [line.strip() for line in text.split("\n")],
    "paragraphs": lambda text: [piece.strip() for piece in text.split("\n\n")],
    "raw_lines": lambda text: text.split("\n"),
    "raw_paragraphs": lambda text: text.split("\n\n"),
    "unicode_words": unicode_words,
    "alnum_words": lambda text: [word for word in uniseg.words(text) if word[0].isalnum()],
}


def repetition_of(text: str, units: str, sizes: Sequence[int], in_bytes: bool) -> dict[str, Any]:
    """The meaning of `repetition`."""
    found = [unit for unit in SPLIT[units](text) if unit]

    def size_of(pieces: Sequence[str]) -> int:
        return sum(len(piece.encode()) if in_bytes else len(piece) for piece in pieces)

    result: dict[str, Any] = {"units": len(found), "size": size_of(found)}
    result |= {name: [] for name in unit_repetition.FIELDS}
    for n in sizes:
        grams = [tuple(found[i : i + n]) for i in range(len(found) - n + 1)]
        counts = Counter(grams)
        best = max(counts, key=lambda gram: (counts[gram], size_of(gram)), default=())
        if counts[best] < 2:
            best = ()
        inside = {i + k for i, gram in enumerate(grams) if counts[gram] > 1 for k in range(n)}
        within = {i + k for i, gram in enumerate(grams) if gram == best for k in range(n)}
        result["top"].append(counts[best] * size_of(best))
        result["covered_top"].append(size_of([found[i] for i in within]))
        result["repeated"].append(size_of([found[i] for i in inside]))
        result["repeated_units"].append(len(inside))
    return result


def compare(texts: Sequence[str | None], units: str, sizes: Sequence[int], in_bytes: bool) -> None:
    expected = [None if text is None else repetition_of(text, units, sizes, in_bytes) for text in texts]
    column = pa.array(["a a", *texts, "b"], pa.large_string()).slice(1, len(texts))
    assert unit_repetition.repetition(column, units, sizes, in_bytes).to_pylist() == expected


PIECES = [
    "a",
    "b",
    "Bb",
    "é",
    "\u0301",
    "漢",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\x1c",
    "\u00a0",
    "a b a b",
    "-",
    "'",
    "1,5",
    "_",
    "# ",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(max_examples=share_of(600))
@given(
    st.lists(st.none() | TEXT, max_size=3),
    st.sampled_from(KINDS),
    st.lists(st.integers(1, 6), min_size=1, unique=True).map(sorted),
    st.booleans(),
)
def test_repetition(texts: Sequence[str | None], units: str, sizes: Sequence[int], in_bytes: bool) -> None:
    compare(texts, units, sizes, in_bytes)


@pytest.mark.parametrize("units", KINDS)
def test_long_texts_make_room_grow(units: str) -> None:
    rng = random.Random(7)
    separator = "\n\n" if "line" in units or "paragraph" in units else " "
    texts = [separator.join(rng.choice("abcdefgh") for _ in range(count)) for count in (3, 3000, 1, 9000)]
    compare(texts, units, [1, 2, 5, 10], True)


def test_no_texts() -> None:
    assert unit_repetition.repetition(pa.array([], pa.string()), "lines", [1], True).to_pylist() == []
