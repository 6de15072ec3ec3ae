"""Counts of characters by class against what regular expressions say of the same texts."""

from __future__ import annotations

import pyarrow as pa
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.character_counts import CLASSES, COUNTER, character_counts
from tests.characters import by_planes, characters
from tests.examples import share_of

TEXT = st.text(st.sampled_from("aZ5٣½²\n\t\r\b \v\xa0?!,.;{}⟨⟩[]()éिⅧ一👍")) | st.text()


def counts(text: str) -> dict[str, int]:
    return {"chars": len(text), **{name: len(regex.findall(pattern, text)) for name, pattern in CLASSES.items()}}


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_counts(texts: list[str | None]) -> None:
    expected = [None if text is None else counts(text) for text in texts]
    assert character_counts(pa.array(texts, pa.string())).to_pylist() == expected
    shifted = pa.array(["é ", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert character_counts(shifted).to_pylist() == expected


@by_planes
def test_every_character(planes: range) -> None:
    chars = characters(planes)
    assert character_counts(pa.array(chars)).to_pylist() == [counts(char) for char in chars]


def test_more_characters_than_a_counter_holds() -> None:
    for pad in range(5):
        text = "x" * pad + "[1" * COUNTER + "𝟘" * COUNTER
        assert character_counts(pa.array([text])).to_pylist() == [counts(text)]
