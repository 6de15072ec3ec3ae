"""Statistics of a tokenizer's pieces are those of plain Python, whatever the pieces hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models import piece_words
from refinery.kernels.models.pieces import cut, of_lists
from refinery.kernels.words import subwords
from tests.examples import share_of

NASTY = "aABbΣσς1.-▁\n\tİßØπé数🎉\u2028"
PIECE = st.text(NASTY, min_size=1, max_size=4) | st.sampled_from(
    ["", " ", "a b", "\n", "a\nb", "ab", "ΑΣ", "the", "of"]
)
ROWS = st.lists(
    st.none() | st.lists(PIECE, max_size=9) | st.lists(st.sampled_from(["a", "B", "."]), max_size=9), max_size=5
)


def refined(rows: list[list[str] | None]) -> pa.Array:
    pieces = of_lists(rows)
    return piece_words.refined_pieces(pieces.field("joined"), pieces.field("ends"))


@settings(max_examples=share_of(200))
@given(ROWS)
def test_boundaries(rows: list[list[str] | None]) -> None:
    found = of_lists(rows).to_pylist()
    assert [row and cut(row["joined"], row["ends"]) for row in found] == rows
    assert [row and row["n"] for row in found] == [row if row is None else len(row) for row in rows]


@settings(max_examples=share_of(400))
@given(ROWS)
def test_refined(rows: list[list[str] | None]) -> None:
    found = refined(rows).to_pylist()
    for row, got in zip(rows, found, strict=True):
        if row is None:
            assert got is None
            continue
        assert got["n"] == len(subwords.refined(row, lower=False))
        assert cut(got["lower"], got["ends"]) == subwords.refined(row, lower=True)


@settings(max_examples=share_of(400))
@given(ROWS, st.integers(1, 3))
def test_repetition(rows: list[list[str] | None], size: int) -> None:
    def ratio(row: list[str]) -> float:
        words = subwords.refined(row, lower=True)
        counts = Counter(" ".join(words[i : i + size]) for i in range(len(words) - size + 1)).values()
        return sum(count for count in counts if count > 1) / sum(counts) if counts else 0.0

    words = refined(rows)
    found = piece_words.repetition(words.field("lower"), words.field("ends"), size).to_pylist()
    assert found == [None if row is None else ratio(row) for row in rows]


@settings(max_examples=share_of(200))
@given(ROWS, st.sampled_from([(), (2,), (2, 3)]), st.sampled_from(["", " "]))
def test_listed(rows: list[list[str] | None], sizes: tuple[int, ...], join: str) -> None:
    folder, listed = str(Path(__file__).parent / "words"), frozenset({"the", "a", "a b", "ab", "aa", "a\nb"})

    def ratio(row: list[str]) -> float:
        words = subwords.refined(row, lower=True)
        return subwords.listed_share(subwords.augmented(words, sizes, join), listed)

    words = refined(rows)
    share = piece_words.listed_share(words.field("lower"), words.field("ends"), folder, "stopwords", "en", sizes, join)
    assert share.to_pylist() == [None if row is None else ratio(row) for row in rows]
