"""Similarity of texts as the audit measures it, against sets of Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.dedup.audit import measure as measures
from refinery.dedup.audit.measure import ComparedText, Measure, cosine, jaccard

MINHASH = {
    "tokenization": "space",
    "window_size": 2,
    "lowercase": True,
    "ignore_pattern": None,
    "jaccard_threshold": 0.7,
}


def measure(**params: Any) -> Measure:
    return Measure.of(SimpleNamespace(params=params), ("text",))


def compared(texts: list[str], **params: Any) -> list[ComparedText]:
    return list(measure(**params).compared([{"text": text} for text in texts]))


@given(st.lists(st.sampled_from("abc"), min_size=2), st.lists(st.sampled_from("abc"), min_size=2))
def test_jaccard_is_that_of_sets_of_shingles(one: list[str], other: list[str]) -> None:
    sets = [set(zip(words, words[1:], strict=False)) for words in (one, other)]
    expected = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    assert jaccard(*compared([" ".join(one), " ".join(other)], **MINHASH)) == pytest.approx(expected)


def test_shingles_are_those_of_the_step() -> None:
    texts = ["A b c d", "a B c e"]
    assert jaccard(*compared(texts, **MINHASH)) == pytest.approx(2 / 4)
    assert jaccard(*compared(texts, **{**MINHASH, "lowercase": False})) == 0
    assert jaccard(*compared(texts, **{**MINHASH, "tokenization": "character", "window_size": 1})) > 0.6


def test_texts_without_shingles_are_alike_only_if_they_are_equal() -> None:
    empty, blank, dots = compared(["", "  ", "..."], key="1")
    assert jaccard(empty, blank) == 1 and jaccard(empty, dots) == 0


def test_short_texts_that_differ_are_unlike() -> None:
    assert jaccard(*compared(["one two", "three"], **{**MINHASH, "window_size": 5})) == 0


def test_ignored_characters_are_ignored() -> None:
    texts = ["Chapter 12: The End", "chapter 13 - the end!"]
    assert jaccard(*compared(texts, ignore_non_character=True)) == 1
    assert jaccard(*compared(texts, lowercase=True)) < 1


def test_many_shingles_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST", 4000)
    words = [str(number) for number in range(30_000)]
    texts = [" ".join(words[:20_000]), " ".join(words[10_000:])]
    one, other = compared(texts, **{**MINHASH, "window_size": 1})
    assert len(one.shingles) == 4000
    assert jaccard(one, other) == pytest.approx(1 / 3, abs=0.04)  # five standard errors


def test_cosine() -> None:
    step = measure(embedding_key="meta.e", cosine_threshold=0.9)
    rows = [{"text": "", "meta": {"e": e}} for e in ([1.0, 0.0], [1, 1], None)]
    one, other, none = step.compared(rows)
    assert cosine(one, other) == pytest.approx(np.sqrt(0.5)) and cosine(one, none) is None
    assert step.name == "cosine" and step.alike == 0.9


def test_a_measure_is_plain_data() -> None:
    import json

    step = measure(embedding_key="e", cosine_threshold=0.9, text_key="meta.body")
    assert Measure.from_plain(json.loads(json.dumps(step.plain()))) == step and step.text_key == ("meta", "body")


def test_odd_texts() -> None:
    step = measure(key="1")
    texts = list(step.compared([{"text": "half \ud800 pair"}, {"text": 5}, {"text": None}, {}, {"text": {"a": 1}}]))
    assert [text.text for text in texts] == ["half ? pair", "5", "", "", "{'a': 1}"]
