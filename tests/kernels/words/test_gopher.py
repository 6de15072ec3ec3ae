"""Measures of Gopher's filters, and the words that they count, against plain Python and spaCy."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup.sentence_units import MARKS
from refinery.kernels.text.gopher_text import gopher_text
from refinery.kernels.words import language_words, word_rules
from refinery.kernels.words.gopher_words import gopher_words
from refinery.kernels.words.mark_characters import END_MARKS
from tests.characters import by_planes, characters
from tests.examples import share_of
from tests.kernels.text.test_statistics import column, columns, hostile

STOPS = ["the", "be", "n't", ",", "中", "x" * 70, "be"]
LINES = ["\n", "\r\n", "\r", "\x1c", "\x85", "\u2028", " ", "\x1f", "#", ".", "...", "…", "-", "•", "a", "é", "x" * 62]


def words(text: str) -> dict[str, int]:
    found = word_rules.words(text)
    inked = [word for word in found if any(char not in MARKS and char not in END_MARKS for char in word)]
    return {
        "words": len(found),
        "inked": len(inked),
        "inked_chars": sum(map(len, inked)),
        "alphas": sum(any(map(str.isalpha, word)) for word in found),
        "stops": len({*STOPS} & {*found}),
    }


def marks(text: str) -> dict[str, int]:
    lines = text.splitlines()
    return {
        "hashes": text.count("#"),
        "ellipses": text.count("...") + text.count("…"),
        "lines": len(lines),
        "bullets": sum(line.lstrip().startswith(("•", "-")) for line in lines),
        "ended": sum(line.rstrip().endswith(("...", "…")) for line in lines),
    }


def expected(values: list[str | None], plain: Any) -> list[Any]:
    return [None if value is None else plain(value) for value in values]


BEFORE_MARKS = [
    "the",
    "cannot",
    "Im",
    "youre",
    "etc",
    "e.g",
    "A",
    "I",
    "x",
    "7",
    "2nd",
    "8MB",
    "5",
    "b4",
    "c4t",
    "_x",
    "x_",
    "x_1",
    "a-b",
    "é",
]


def test_words_of_every_place_in_a_block() -> None:
    """Pieces with each mark begin at each place of a block of 64 bytes, and more bytes follow."""
    pieces = [word + mark for mark in ("", *',.:;!?"', ").", "..") for word in BEFORE_MARKS]
    values = [" " * (k % 3) + "x" * k + " " + " ".join(pieces[k:] + pieces[:k]) + "\n" * 130 for k in range(64)]
    found = language_words.english(column(values)).to_pylist()
    assert [one["joined"].split("\n") for one in found] == [word_rules.words(value) for value in values]
    assert language_words.english_count(column(values)).to_pylist() == [one["n"] for one in found]


@given(columns)
@settings(max_examples=share_of(300))
def test_words(values: list[str | None]) -> None:
    found = language_words.english(column(values))
    assert found.to_pylist() == expected(
        values, lambda text: {"n": len(word_rules.words(text)), "joined": "\n".join(word_rules.words(text))}
    )
    assert gopher_words(found.field("joined"), STOPS).to_pylist() == expected(values, words)


@given(
    st.lists(
        st.lists(
            st.sampled_from([*STOPS, ".", "(", "a1", "é", "…", "-" * 30, "y" * 62, "y" * 63]), min_size=1, max_size=60
        )
    )
)
@settings(max_examples=share_of(300))
def test_words_at_every_place_in_blocks(texts: list[list[str]]) -> None:
    found = gopher_words(pa.array(["\n".join(text) for text in texts], pa.string()), STOPS).to_pylist()
    for measures, text in zip(found, texts, strict=True):
        inked = [word for word in text if any(char not in MARKS and char not in END_MARKS for char in word)]
        assert measures == {
            "words": len(text), "inked": len(inked), "inked_chars": sum(map(len, inked)),
            "alphas": sum(any(map(str.isalpha, word)) for word in text), "stops": len({*STOPS} & {*text}),
        }  # fmt: skip


@given(st.lists(st.none() | st.lists(st.sampled_from(LINES), max_size=30).map("".join), max_size=5))
@settings(max_examples=share_of(300))
def test_lines_and_marks(values: list[str | None]) -> None:
    assert gopher_text(column(values)).to_pylist() == expected(values, marks)


@pytest.mark.parametrize("char", ["é", "漢", "😀", "\x85", "\u2028"])
def test_characters_at_every_place_in_blocks(char: str) -> None:
    """Also in the last text of a column, behind which there is no block."""
    for size in range(130):
        text = f"{'x' * size}{char}\n\n- {char}..."
        assert gopher_text(column([text])).to_pylist() == [marks(text)]


@by_planes
def test_every_character(planes: range) -> None:
    chars = [char for char in characters(planes) if char.strip()]
    joined = pa.array(chars, pa.string())
    for found, char in zip(gopher_words(joined, STOPS).to_pylist(), chars, strict=True):
        inked = char not in MARKS and char not in END_MARKS
        assert found == {
            "words": 1, "inked": inked, "inked_chars": inked, "alphas": char.isalpha(), "stops": char in STOPS,
        }, hex(ord(char))  # fmt: skip


@pytest.mark.parametrize("text", ["1" * 5000, "a-" * 5000, "word " * 5000, "é" * 9000, "'" * 4000])
def test_long_pieces(text: str) -> None:
    found = language_words.english(column(["short one", text, "short one"])).to_pylist()
    tokens = pytest.importorskip("spacy").blank("en").tokenizer(text)
    assert [row["joined"].split("\n") for row in found] == [
        ["short", "one"], [token.text for token in tokens], ["short", "one"],
    ]  # fmt: skip


@given(hostile)
@settings(max_examples=share_of(1000), deadline=None)
def test_words_are_those_of_spacy(text: str) -> None:
    """English has no other words than the kernel's: `words: spacy` gives the same."""
    tokenizer = _tokenizer()
    assert word_rules.words(text) == [token.text.strip() for token in tokenizer(text) if token.text.strip()]


def _tokenizer() -> Any:
    if not _SPACY:
        _SPACY.append(pytest.importorskip("spacy").blank("en").tokenizer)
    return _SPACY[0]


_SPACY: list[Any] = []
