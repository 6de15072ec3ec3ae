"""n-grams of words that a line feed divides, against Python's lists."""

from __future__ import annotations

import numpy as np
import pytest

from refinery.kernels.contamination.gram_table import gram_table
from refinery.kernels.contamination.joined_grams import first_grams, gram_keys
from refinery.kernels.core.arrow import of_texts

TEXTS = ["a\nbb\na\nbb\nc", "", "c\nbb\na\nbb", "ü"]


def grams(text: str, n: int) -> list[str]:
    words = text.split("\n") if text else []
    return [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_keys_are_one_for_each_n_gram(n: int) -> None:
    keys, counts = gram_keys(of_texts(TEXTS), n)
    expected = [gram for text in TEXTS for gram in grams(text, n)]
    assert counts.tolist() == [len(grams(text, n)) for text in TEXTS]
    by_gram = dict(zip(expected, keys.tolist(), strict=True))
    assert [by_gram[gram] for gram in expected] == keys.tolist() and len(set(by_gram.values())) == len(by_gram)


def test_the_first_n_gram_of_a_table() -> None:
    keys, _ = gram_keys(of_texts(["bb\na", "bb\nc"]), 2)
    values, found = first_grams(of_texts([*TEXTS, None]), 2, gram_table(keys, np.array([7, 8])))
    assert values.tolist() == [7, -1, 7, -1, -1] and found == ["bb a", None, "bb a", None, None]
