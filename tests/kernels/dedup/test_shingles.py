"""Tokens and hashes of shingles against ordinary Python."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import minhash_normalize, minhash_shingles, shingles
from tests.characters import by_planes, characters
from tests.examples import share_of

# Final sigma, letters whose lower case is longer or shorter, combining marks, several kinds of space and punctuation.
NASTY = [
    *" \n\t\r\x00\x0b\x85\xa0\u2003\u3000.,-_'1aAbZéÉßẞΣσςΑ\u0301\u0345\u00adİıǅȺⱥKØΠⓂ𐐀一上中ッ。、！٣１５½ﬁ가\u302e",
    *("  ", "a b", "..", ". .", "1.5", "1.2.3", "seventeen-letters", "word " * 9),
]
text = st.lists(st.sampled_from(NASTY), max_size=25).map("".join) | st.text(max_size=20)
texts = st.lists(st.none() | text, max_size=6)
nasty = settings(max_examples=share_of(200))

PATTERNS = [None, r"\p{P}", r"\p{P}+", r"[\p{P}\d]", r"[^a ]", r"\w", r"[.a ]", r"\p{P}|\d", r"a+.", r"(?i)A"]
SPLITS = {
    "space": lambda t: [token for token in t.split(" ") if token],
    "punctuation": regex.compile(r"\p{P}").split,
    "character": list,
    "word": lambda t: regex.findall(r"\w+", t),
}


def expected(value: str | None, tokenization: str, lowercase: bool, pattern: str | None) -> list[str]:
    if value is None:
        return []
    value = value.lower() if lowercase else value
    return SPLITS[tokenization](regex.sub(pattern, "", value) if pattern else value)


def got(found: shingles.Tokens, row: int, window: int = 1) -> list[str]:
    first, last, starts = found.firsts[row], found.firsts[row + 1] - 1, found.starts
    ends = range(first + window, last + 1)
    return [bytes(found.data[starts[i - window] : starts[i] - found.gap]).decode() for i in ends]


@nasty
@given(texts, st.sampled_from(sorted(SPLITS)), st.booleans(), st.sampled_from(PATTERNS), st.booleans())
def test_tokens_are_those_of_python(values, tokenization, lowercase, pattern, large):
    column = pa.array(["before", *values], pa.large_string() if large else pa.string()).slice(1)
    found = shingles.tokens(column, tokenization, lowercase, pattern)
    want = [expected(value, tokenization, lowercase, pattern) for value in values]
    assert [got(found, row) for row in range(len(values))] == want
    assert found.valid.tolist() == [value is not None for value in values]
    joint = " " if found.gap else ""
    pairs = [[joint.join(tokens[i : i + 2]) for i in range(len(tokens) - 1)] for tokens in want]
    assert [got(found, row, 2) for row in range(len(values))] == pairs


# Long enough for blocks of 64 bytes, which end anywhere in them.
LONG = st.lists(
    st.sampled_from(
        ["Word ", "a ", "x" * 63, "Y" * 64 + " ", " ", "   ", "é ", "漢字", "\n", "two words, THREE ", "b" * 61]
    ),
    max_size=60,
).map("".join)


@settings(max_examples=share_of(300))
@given(st.lists(LONG, max_size=3), st.booleans())
def test_tokens_of_long_texts(values, lowercase):
    found = shingles.tokens(pa.array(values, pa.large_string()), "space", lowercase, None)
    want = [expected(value, "space", lowercase, None) for value in values]
    assert [got(found, row) for row in range(len(values))] == want


def test_an_unknown_tokenization_is_refused():
    with pytest.raises(ValueError, match="space, punctuation"):
        shingles.tokens(pa.array(["a"]), "spaces", True, None)


def test_pieces_of_a_model_are_tokens(monkeypatch):
    def split(text: str) -> list[str]:
        return [text[i : i + 3] for i in range(0, len(text), 3)]

    monkeypatch.setattr(shingles.subwords, "pieces", lambda model: split)
    column = pa.array(["Some text, and more of it", None, "", "数据 processing"])
    found = shingles.tokens(column, "sentencepiece", True, "and", "a.model")
    values = ["some text,  more of it", "", "", "数据 processing"]
    assert [got(found, row) for row in range(4)] == [split(value) for value in values]
    assert found.gap == 0 and found.valid.tolist() == [True, False, True, True]
    assert minhash_shingles.shingle_sets(found, 2).to_pylist()[1:3] == [None, []]


def sets(values: Sequence[str | None], window: int, tokenization: str = "space") -> list:
    return minhash_shingles.shingle_sets(
        shingles.tokens(pa.array(values, pa.string()), tokenization, True, None), window
    )


@nasty
@given(texts, st.integers(1, 7), st.sampled_from(["space", "character"]))
def test_shingle_sets_have_a_hash_for_each_distinct_shingle(values, window, tokenization):
    found = sets(values, window, tokenization).to_pylist()
    of_hash: dict[int, tuple[str, ...]] = {}
    for value, hashes in zip(values, found, strict=True):
        if value is None:
            assert hashes is None
            continue
        tokens = expected(value, tokenization, True, None)
        wide = min(window, len(tokens))
        distinct = {tuple(tokens[i : i + wide]) for i in range(len(tokens) - wide + 1)} if wide else set()
        assert len(hashes) == len(distinct) and sorted(set(hashes)) == hashes
        for shingle in distinct:  # equal shingles have equal hashes, in whichever text and at whichever place
            alone = sets([(" " if tokenization == "space" else "").join(shingle)], window, tokenization).to_pylist()[0]
            assert set(alone) <= set(hashes) and of_hash.setdefault(alone[0], shingle) == shingle


def test_tokens_of_every_length_differ():
    words = ["x" * n for n in range(1, 60)] + ["x" * n + "y" for n in range(60)] + ["y" + "x" * n for n in range(1, 60)]
    hashes = {sets([word], 1).to_pylist()[0][0] for word in words}
    assert len(hashes) == len(words)


@nasty
@given(texts)
def test_the_normalisation_kernel_is_its_python(values):
    found = minhash_normalize.simplified(pa.array(values, pa.string())).to_pylist()
    assert found == [None if value is None else minhash_normalize.simplify(value) for value in values]


@by_planes
def test_every_code_point_is_normalised_as_python_does(planes):
    every = [f"x{char}1" for char in characters(planes)]
    found = minhash_normalize.simplified(pa.array(every)).to_pylist()
    assert found == [minhash_normalize.simplify(value) for value in every]
