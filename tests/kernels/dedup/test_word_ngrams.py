"""N-grams of words in texts and paragraphs: against plain Python, and datatrove's recorded decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.dedup.ngram_filter import Decision
from refinery.dedup.ngram_units import removed_in_order
from refinery.kernels.core.arrow import texts as view_of
from refinery.kernels.dedup.word_ngrams import normalized_ngrams, segment_ngrams
from refinery.kernels.unicode.word_segments import segment_ends
from tests.examples import share_of

NASTY = [*"\n\n ab,.'_\t\r\xa0\u2028\u0085\u200b漢字😀é", "e\u0301", "don't", "3.5", "a b c d e", "\r\n", "word " * 9]
text = st.lists(st.sampled_from(NASTY), max_size=30).map("".join) | st.text(max_size=30)


def segments(part: str) -> list[str]:
    """Segments of UAX 29 with a character that is no white space."""
    ends, _ = segment_ends(view_of(pa.array([part])))
    data = part.encode()
    pieces = [data[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
    return [piece for piece in pieces if piece.strip("\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
                                                     "\u2009\u200a\u2028\u2029\u202f\u205f\u3000")]  # fmt: skip


def ngrams(words: list[str], least: int, window: int) -> list[tuple[str, ...]]:
    if len(words) < window:
        return [tuple(words)] if len(words) >= least else []
    return [tuple(words[i : i + window]) for i in range(len(words) - window + 1)]


def agree(found: list[Any], expected: list[list[list[tuple[str, ...]]] | None]) -> None:
    """Hashes are equal where n-grams are, and only there."""
    hashes: dict[tuple[str, ...], int] = {}
    for one, units in zip(found, expected, strict=True):
        if units is None or not any(units):
            assert one is None
            continue
        assert one["sizes"] == [len(unit) for unit in units]
        for key, gram in zip(one["ngrams"], [gram for unit in units for gram in unit], strict=True):
            assert hashes.setdefault(gram, key) == key
    assert len(set(hashes.values())) == len(hashes)


@settings(max_examples=share_of(200))
@given(st.lists(st.none() | text, max_size=6), st.booleans(), st.integers(1, 4), st.integers(0, 3))
def test_ngrams_of_segments(texts: list[str | None], paragraphs: bool, least: int, more: int) -> None:
    window = least + more
    units = [None if one is None else one.split("\n") if paragraphs else [one] for one in texts]
    expected = [None if one is None else [ngrams(segments(part), least, window) for part in one] for one in units]
    column = pa.array(["", *texts, "x y z"], pa.large_string())[1 : len(texts) + 1]
    agree(segment_ngrams(column, paragraphs, least, window).to_pylist(), expected)


@settings(max_examples=share_of(50))
@given(
    st.lists(st.none() | st.sampled_from(["a b c d", "A, b: C", "1.5 b", "", "café 7 a b"]), max_size=6),
    st.integers(1, 4),
)
def test_ngrams_of_normalized_words(texts: list[str | None], window: int) -> None:
    words = {"a b c d": "a b c d", "A, b: C": "a b c", "1.5 b": "0 b", "": "", "café 7 a b": "cafe 0 a b"}
    expected = [None if one is None else [ngrams(words[one].split(), window, window)] for one in texts]
    agree(normalized_ngrams(pa.array(texts, pa.string()), window, window).to_pylist(), expected)


@pytest.mark.recorded
@pytest.mark.parametrize("name", ["bloom_2e20_minus_1", "bloom_5grams_threshold_0.5"])
def test_decisions_of_datatrove(name: str, recorded: Path) -> None:
    """All 505 documents, though datatrove's words are spaCy's and its hashes have 32 bits."""
    path = recorded / "datatrove" / "dedup" / f"{name}.json"
    if not path.is_file():
        pytest.skip("not recorded here")
    case = json.loads(path.read_text(encoding="utf-8"))
    lines = path.with_name("dedup_docs.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    documents = [json.loads(line) for line in lines]
    window = case["config"]["n_grams"]
    found = normalized_ngrams(pa.array([document["text"] for document in documents]), window, window)
    rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
    keys, sizes = found.filter(found.is_valid()).flatten()
    rule = Decision(case["config"]["duplicate_threshold"], True, "document")
    removed = removed_in_order(pa.array(rows), keys, sizes, (0, 1e-6), rule)[0]
    assert {documents[row]["id"] for row in removed["_row"].to_pylist()} == set(case["removed"])
