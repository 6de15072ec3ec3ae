"""Mappers that replace character by character, against the same table in plain Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.blocks import BLOCK
from refinery.kernels.core.charmap import char_map
from refinery.operators import Library, load_module
from tests.characters import by_planes, characters
from tests.examples import share_of

OPERATORS = Library().operators
punctuation = load_module(OPERATORS["punctuation_normalization_mapper"].path)
whitespace = load_module(OPERATORS["whitespace_normalization_mapper"].path)

PUNCTUATION = {char: piece for piece, chars in punctuation.TABLE.items() for char in chars}
SPACES = [
    *(9, 32, 132, 160, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8204, 8205, 8239, 8287),
    *(8288, 12288, 65532),
]

# Mapped characters, neighbours of mapped ones (same first byte), white space of every kind, and one of each length.
NASTY = (
    "".join(PUNCTUATION)
    + "".join(map(chr, SPACES))
    + "\n\r\v\f\x1c\x1f\x83\x85\x86\u1680\u180e\u200e\u2028\u2029\ufeff\ufffb\ufffd‘『』｡ａ２ab é日👍\0\U0010ffff"
)
RUN = st.tuples(st.sampled_from(["x", " ", "\t", "é", "日", "。"]), st.integers(0, 70)).map(lambda t: t[0] * t[1])
TEXT = st.lists(st.text(st.sampled_from(NASTY), max_size=8) | RUN, max_size=5).map("".join) | st.text(max_size=40)


def mapped_punctuation(text: str) -> str:
    return "".join(PUNCTUATION.get(char, char) for char in text)


def mapped_whitespace(text: str) -> str:
    return "".join(" " if ord(char) in SPACES else char for char in text.strip())


def new_texts(function: Any, texts: Sequence[str | None]) -> list[str | None]:
    """The function's values, which must not depend on where in which array the texts lie."""
    whole = function(pa.array(texts, pa.string())).to_pylist()
    shifted = pa.array(["—\t", *texts, " "], pa.large_string()).slice(1, len(texts))
    assert function(shifted).to_pylist() == whole
    return whole


def differing(expected: Any, texts: Sequence[str | None]) -> list[str | None]:
    return [None if text is None or expected(text) == text else expected(text) for text in texts]


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=6))
def test_punctuation(texts: Sequence[str | None]) -> None:
    assert new_texts(punctuation.normalize_punctuation, texts) == differing(mapped_punctuation, texts)


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=6))
def test_whitespace(texts: Sequence[str | None]) -> None:
    assert new_texts(whitespace.normalize_whitespace, texts) == differing(mapped_whitespace, texts)


@by_planes
def test_every_character(planes: range) -> None:
    chars = characters(planes)
    inside = [f"a{char}b" for char in chars]
    at_ends = [f"{char}a{char}" for char in chars]
    for texts in (chars, inside, at_ends):
        assert punctuation.normalize_punctuation(pa.array(texts)).to_pylist() == differing(mapped_punctuation, texts)
        assert whitespace.normalize_whitespace(pa.array(texts)).to_pylist() == differing(mapped_whitespace, texts)


@pytest.mark.parametrize("char", ["\t", "\u00a0", "—", "１"])
def test_every_place_in_blocks(char: str) -> None:
    lengths = range(2 * BLOCK + 3)
    texts: list[str | None] = ["z" * i + char + "z" * (2 * BLOCK + 2 - i) for i in lengths]
    texts += ["z" * i + char for i in lengths]
    assert new_texts(punctuation.normalize_punctuation, texts) == differing(mapped_punctuation, texts)
    assert new_texts(whitespace.normalize_whitespace, texts) == differing(mapped_whitespace, texts)


def test_the_peer_has_34_and_23_characters() -> None:
    assert len(PUNCTUATION) == 34
    assert sorted(map(ord, whitespace.CHARS + " ")) == SPACES


def test_long_texts() -> None:
    chance = random.Random(1)
    pieces = [*NASTY, "plain words ", "x" * 61, "日本語", "Жук ", "\n"]
    texts = ["".join(chance.choices(pieces, k=chance.randrange(60))) for _ in range(2000)]
    assert new_texts(punctuation.normalize_punctuation, texts) == differing(mapped_punctuation, texts)
    assert new_texts(whitespace.normalize_whitespace, texts) == differing(mapped_whitespace, texts)


def test_tables_of_too_many_first_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="6 first bytes"):
        char_map(dict.fromkeys("abcdef", "x"))
    with pytest.raises(ValueError, match="0 first bytes"):
        char_map({})


def test_replacements_that_need_more_room_are_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        char_map({"é": "xyz"})
