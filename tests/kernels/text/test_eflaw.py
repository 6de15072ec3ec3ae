"""Counts for EFLAW against plain Python."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.eflaw import eflaw_counts
from tests.examples import share_of

TEXT = st.text(st.sampled_from("aabb cé..!? \n'_-漢\u00a0\x1c\u0301’1 s t"), max_size=60)


def words_of(text: str) -> list[str]:
    return re.sub(r"[^\w\s]", "", text).split()


def counts_of(text: str) -> dict[str, int]:
    sentences = [one for one in re.findall(r"\b[^.!?]+[.!?]*", text) if len(words_of(one)) > 2]
    words = words_of(text)
    return {
        "words": len(words),
        "mini_words": sum(len(word) <= 3 for word in words),
        "sentences": max(1, len(sentences)),
    }


@settings(max_examples=share_of(500))
@given(st.lists(st.none() | TEXT, max_size=4))
def test_counts(texts: Sequence[str | None]) -> None:
    column = pa.array(["a. b", *texts, "c"], pa.large_string()).slice(1, len(texts))
    assert eflaw_counts(column).to_pylist() == [None if text is None else counts_of(text) for text in texts]
