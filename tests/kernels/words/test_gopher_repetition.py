"""Repetition of lines, paragraphs and n-grams of words, against plain Python."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import ints
from refinery.kernels.text.gopher_copies import gopher_copies
from refinery.kernels.words.gopher_repetition import gopher_repetition
from tests.examples import share_of
from tests.kernels.text.test_statistics import column

TOPS, DUPLICATES = [1, 2, 3, 4], [2, 1, 5, 3]

# Equal texts that are cut in several ways, words of many lengths, words with blanks.
WORDS = ["a", "aa", "ab", "b", "aab", "é", "中文", "x" * 16, "x" * 17, "abcdefgh" * 9, ",", "."]
LINES = ["\n", "\n\n", "\n\n\n", " ", "\t", "\u2028", "a", "bb", "é", "z" * 70]


def copies(pieces: Sequence[str]) -> list[int]:
    repeated = [piece for at, piece in enumerate(pieces) if piece in pieces[:at]]
    return [len(pieces), len(repeated), sum(map(len, repeated))]


def top(words: Sequence[str], n: int) -> int:
    grams = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    if not grams:
        return 0
    counts = Counter(grams)
    first = next(gram for gram in grams if counts[gram] == max(counts.values()))
    return len(first) * counts[first]


def duplicates(words: Sequence[str], n: int) -> int:
    known: list[str] = []
    chars, rest = 0, list(words)
    while len(rest) >= n:
        gram = "".join(rest[:n])
        if gram in known:
            chars += len(gram)
            rest = rest[n:]
        else:
            known.append(gram)
            rest = rest[1:]
    return chars


def check(texts: Sequence[Sequence[str] | None]) -> None:
    joined = column([None if words is None else "\n".join(words) for words in texts])
    sizes = ints(np.array([len(words or ()) for words in texts], np.int64))
    found = gopher_repetition(joined, sizes, TOPS, DUPLICATES).to_pylist()
    for row, words in zip(found, texts, strict=True):
        expected = words and {
            "top": [top(words, n) for n in TOPS],
            "duplicates": [duplicates(words, n) for n in DUPLICATES],
        }
        assert row == (expected if words else None if words is None else {"top": [0] * 4, "duplicates": [0] * 4}), words


@given(st.lists(st.none() | st.lists(st.sampled_from(WORDS), max_size=60), max_size=4))
@settings(max_examples=share_of(500))
def test_n_grams(texts: list[list[str] | None]) -> None:
    check(texts)


@given(st.lists(st.sampled_from(["a", "b", "a b", "b a", " a", "é é"]), max_size=40))
@settings(max_examples=share_of(200))
def test_words_with_blanks(words: list[str]) -> None:
    check([["a", "b", "a", "b"], words])


@pytest.mark.parametrize("seed", range(4))
def test_long_texts(seed: int) -> None:
    """Prose of few words and of many, with passages that come again."""
    numbers = random.Random(seed)
    known = [f"word{number}" for number in range([3, 50, 500, 2000][seed])]
    words = [numbers.choice(known) for _ in range(1500)]
    check([words[:300], words + words[100:900], [], words])


@given(st.lists(st.none() | st.lists(st.sampled_from(LINES), max_size=30).map("".join), max_size=5))
@settings(max_examples=share_of(500))
def test_lines_and_paragraphs(texts: list[str | None]) -> None:
    found = gopher_copies(column(texts)).to_pylist()
    for row, text in zip(found, texts, strict=True):
        if text is None:
            assert row is None
            continue
        paragraphs: Any = copies(re.split(r"\n{2,}", text.strip()))
        assert [*row.values()] == [*copies(re.split(r"\n+", text)), *paragraphs], text


def test_many_lines_make_the_table_grow() -> None:
    text = "\n\n".join(str(number % 5000) for number in range(9000))
    assert gopher_copies(pa.array(["a\na", text])).to_pylist()[1]["line_copies"] == 4000
