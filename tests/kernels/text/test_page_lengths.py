"""Lengths of pages against plain Python."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.page_lengths import KINDS, page_lengths
from refinery.kernels.unicode import word_break
from tests.examples import share_of

uniseg = pytest.importorskip("uniseg.wordbreak")

TEXT = st.text(st.sampled_from("ab Z9_-!?.,'\"\n\n\n\r\t\x1c\x7f\u00a0éकि漢\u3000’…"), max_size=30) | st.text(
    max_size=12
)


def length_of(text: str, kind: str, ignore_punctuation: bool) -> int:
    """The meaning of `page_lengths`."""
    table = word_break.properties()

    def has(piece: str, bits: int) -> bool:
        return any(table[ord(char)] & bits for char in piece)

    if kind == "word" and text.isascii():
        return len(re.findall(r"[0-9A-Za-z]+" if ignore_punctuation else r"[0-9A-Za-z]+|[!-/:-@\[-`{-~]", text))
    if kind == "word":
        bits = word_break.ALNUM if ignore_punctuation else word_break.INK
        return sum(has(segment, bits) for segment in uniseg.words(text))
    if kind == "sentence":
        return max(1, len(re.findall(r"[.!?]", text)))
    if kind == "line":
        return len(text.removesuffix("\n").split("\n")) if text else 0
    if kind == "paragraph":
        return max(1, sum(has(piece, word_break.INK) for piece in text.split("\n\n")))
    return sum(has(char, word_break.ALNUM) for char in text) if ignore_punctuation else len(text)


@settings(max_examples=share_of(800))
@given(st.lists(st.none() | TEXT, max_size=4), st.sampled_from(KINDS), st.booleans())
def test_lengths(texts: Sequence[str | None], kind: str, ignore_punctuation: bool) -> None:
    expected = [None if text is None else length_of(text, kind, ignore_punctuation) for text in texts]
    column = pa.array(["é\n\n", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert page_lengths(column, kind, ignore_punctuation).to_pylist() == expected
