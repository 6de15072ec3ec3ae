"""Removal of lines by characters per byte and by Unicode words, against plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.line_rules import ASCII_DIGIT, BYTE_RATIO, UNICODE_WORDS, UPPER, lines_by_rule
from refinery.kernels.unicode import word_break
from tests.examples import share_of

uniseg = pytest.importorskip("uniseg.wordbreak")

TEXT = st.text(st.sampled_from("Aa1 \n\n\nÉé٣漢Ⅷ'-’\r\x1c"), max_size=40)


def counted(line: str, bit: int) -> int:
    return sum(char in "0123456789" if bit == ASCII_DIGIT else char.isupper() for char in line)


def words(line: str) -> int:
    table = word_break.properties()
    return sum(any(table[ord(char)] & word_break.ALNUM for char in one) for one in uniseg.words(line))


def results(texts: Sequence[str | None], rule: int, low: float, high: float) -> list[str | None]:
    column = pa.array(["A\nb", *texts, "c"], pa.large_string()).slice(1, len(texts))
    found = lines_by_rule(column, rule, low, high, False).to_pylist()
    return [text if new is None else new for text, new in zip(texts, found, strict=True)]


@settings(max_examples=share_of(300))
@given(
    st.lists(st.none() | TEXT, max_size=4), st.sampled_from([UPPER, ASCII_DIGIT]), st.sampled_from([0, 0.25, 0.5, 1])
)
def test_characters_per_byte(texts: Sequence[str | None], bit: int, most: float) -> None:
    def kept(line: str) -> bool:
        return not line or counted(line, bit) / len(line.encode()) <= most

    expected = [text and "\n".join(filter(kept, text.split("\n"))) for text in texts]
    assert results(texts, BYTE_RATIO, bit, most) == expected


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=4), st.integers(0, 4))
def test_unicode_words(texts: Sequence[str | None], fewest: int) -> None:
    expected = [
        text and "\n".join(line for line in text.split("\n") if not line or words(line) >= fewest) for text in texts
    ]
    assert results(texts, UNICODE_WORDS, fewest, float("inf")) == expected
