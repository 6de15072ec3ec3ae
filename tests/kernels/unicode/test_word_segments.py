"""Word segments against the package uniseg, and words against what Rust's `unicode_words` is defined to be."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import numbers, texts
from refinery.kernels.unicode import word_break, word_segments
from tests.characters import by_planes, characters
from tests.examples import share_of

uniseg = pytest.importorskip("uniseg.wordbreak")
emoji = pytest.importorskip("uniseg.emoji")
VERSION = pytest.importorskip("uniseg").unidata_version
pytestmark = pytest.mark.skipif(VERSION != "16.0.0", reason=f"the table is of Unicode 16, uniseg's of {VERSION}")

VALUES = {number: name for name, number in word_break._VALUES.items()} | {word_break.OTHER: "Other"}

# Two characters of each value of Word_Break, more of those that rules name, pictographs that are letters, and vowel signs.
NASTY = (
    "aZéжאה0٣९カｱ_‿🇦🇧🇨  \u3000:·,;٬.’‘'\"\r\n\v\u2028\u0085\u0308\u0301\u200d\u200c\u00ad\u200e\u0600"
    "Ⓜ☺👩👨🏽❤\ufe0f漢ひ한ก\u0e31ा्क་\t\u00a0-#–¸˂²½ªⅷ\x1c\x1f"
)
TEXT = st.text(st.sampled_from(NASTY), max_size=30) | st.text(max_size=20)


def segments(values: Sequence[str | None]) -> list[list[str]]:
    """The segments of each text, by the kernel; none for None."""
    view = texts(pa.array(["x é", *values], pa.large_string()).slice(1))
    ends, counts = word_segments.segment_ends(view)
    found, at = [], 0
    for row, count in enumerate(counts.tolist()):
        bounds = [int(view.offsets[row]), *ends[at : at + count].tolist()]
        found.append([bytes(view.data[a:b]).decode() for a, b in zip(bounds, bounds[1:], strict=False)])
        at += count
    return found


def of_uniseg(text: str | None) -> list[str]:
    return list(uniseg.words(text or ""))


def counts_of(text: str | None) -> dict[str, int] | None:
    """The meaning of `segment_counts` in plain Python."""
    if text is None:
        return None
    found = of_uniseg(text)
    table = word_break.properties()

    def holding(bits: int) -> int:
        return sum(any(table[ord(char)] & bits for char in segment) for segment in found)

    return {
        "segments": len(found),
        "words": holding(word_break.ALNUM),
        "ink": holding(word_break.INK),
        "python_ink": sum(bool(segment.strip()) for segment in found),
        "alnum_first": sum(segment[0].isalnum() for segment in found),
        "space_first": sum(segment[0].isspace() for segment in found),
    }


@by_planes
def test_every_character(planes: range) -> None:
    table = word_break.properties()
    for char in characters(planes):
        bits = int(table[ord(char)])
        assert VALUES[bits & word_break.VALUE] == uniseg.word_break(char).value
        assert bool(bits & word_break.PICTOGRAPH) == bool(emoji.extended_pictographic(char))
        assert bool(bits & word_break.PYTHON_ALNUM) == char.isalnum()
        assert bool(bits & word_break.PYTHON_INK) != char.isspace()


def test_letters_of_rust_are_those_of_unicode() -> None:
    table = word_break.properties()
    ink = [int(table[ord(char)]) & word_break.INK for char in "\x1c\x1f\t \u0085\u00a0\u2028\u3000\u200b"]
    assert [bool(bit) for bit in ink] == [True, True, *[False] * 6, True]
    alnum = [int(table[ord(char)]) & word_break.ALNUM for char in "aé٣²½ⅷ漢\u0e31\u093eⓜ_#'\u0301"]
    assert [bool(bit) for bit in alnum] == [True] * 10 + [False] * 4
    assert [bool(int(table[ord(char)]) & word_break.UPPERCASE) for char in "AÉⓂⅧaǅª1"] == [True] * 4 + [False] * 4


@settings(max_examples=share_of(1500))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_segments_are_those_of_uniseg(values: Sequence[str | None]) -> None:
    assert segments(values) == [of_uniseg(text) for text in values]


@settings(max_examples=share_of(600))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_counts(values: Sequence[str | None]) -> None:
    column = pa.array(values, pa.string())
    expected = [counts_of(text) for text in values]
    assert word_segments.segment_counts(column).to_pylist() == expected
    words = [counts and counts["words"] for counts in expected]
    assert word_segments.word_counts(column).to_pylist() == words
    shifted = pa.array(["a’b\u0308", *values, " "], pa.large_string()).slice(1, len(values))
    assert word_segments.segment_counts(shifted).to_pylist() == expected


def test_every_pair_and_triple_of_values() -> None:
    kinds = "aא0カ_🇦 :,.'\"\r\n\v\u0308\u00ad\u200dⓂ☺#"
    values = [a + b + c for a in kinds for b in kinds for c in kinds]
    assert segments(values) == [of_uniseg(text) for text in values]


def test_long_texts() -> None:
    rng = random.Random(4)
    values = ["".join(rng.choices(NASTY + "abcdefg      ", k=4000)) for _ in range(3)] + ["", "a" * 5000, "🇦" * 501]
    assert segments(values) == [of_uniseg(text) for text in values]


def test_examples_of_rust() -> None:
    text = "The quick (“brown”) fox can't jump 32.3 feet, right? don’t नमस्ते สวัสดี 漢字 #"
    assert numbers(word_segments.word_counts(pa.array([text]))).tolist() == [10 + 1 + 4 + 2]
    assert np.array_equal(numbers(word_segments.word_counts(pa.array([], pa.string()))), [])
