"""Differences word by word: their pieces are both texts, and changes are small."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.inspect.browse import word_diff as module
from refinery.inspect.browse.word_diff import Piece, folded, word_diff

TEXTS = st.text(alphabet="ab \n.ü\u00a0漢", max_size=60)


def sides(pieces: list[Piece]) -> tuple[str, str]:
    """Both texts of a difference."""
    left = "".join(piece.text for piece in pieces if piece.kind != "+")
    return left, "".join(piece.text for piece in pieces if piece.kind != "-")


def test_a_removed_word() -> None:
    assert word_diff("write to me@x.org  now", "write to  now") == [
        ("=", "write to "),
        ("-", "me@x.org "),
        ("=", " now"),
    ]


def test_a_replaced_word_is_removed_before_it_is_added() -> None:
    assert word_diff("one two three", "one 2 three") == [("=", "one "), ("-", "two"), ("+", "2"), ("=", " three")]


@pytest.mark.parametrize(("before", "after"), [("", ""), ("a", ""), ("", "a"), ("same", "same")])
def test_empty_and_equal_texts(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert sides(pieces) == (before, after) and all(piece.text for piece in pieces)


@given(TEXTS, TEXTS)
def test_pieces_are_both_texts_in_turn(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert sides(pieces) == (before, after)
    kinds = [piece.kind for piece in pieces]
    assert all(one != other and (one, other) != ("+", "-") for one, other in zip(kinds, kinds[1:], strict=False))


@given(TEXTS, TEXTS)
def test_anchors_change_nothing_of_that(before: str, after: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_PAIRS", 3)
        assert sides(word_diff(before, after)) == (before, after)


@pytest.mark.parametrize("different_words", [100, 4000])
def test_few_changes_of_a_long_text_stay_few(different_words: int) -> None:
    """Also where no word stands once, so that runs of words are the anchors."""
    source = random.Random(4)
    words = [f"w{source.randrange(different_words)}" for _ in range(8000)]
    kept = [word for at, word in enumerate(words) if at % 500]
    before, after = " ".join(words), " ".join(kept)
    pieces = word_diff(before, after)
    assert sides(pieces) == (before, after)
    assert sum(len(piece.text) for piece in pieces if piece.kind != "=") < 3 * (len(before) - len(after))


def test_very_long_texts_are_compared_by_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONG", 20)
    assert word_diff("one two\nthree four\nlast", "one two\nthree 4\nlast") == [
        ("=", "one two\n"), ("-", "three four\n"), ("+", "three 4\n"), ("=", "last"),
    ]  # fmt: skip


def test_the_middle_of_an_equal_piece_is_folded() -> None:
    pieces = [Piece("=", "abcdefghij"), Piece("-", "0123456789"), Piece("=", "abcd")]
    assert folded(pieces, 4) == [("=", "ab"), ("…", "6"), ("=", "ij"), ("-", "0123456789"), ("=", "abcd")]
