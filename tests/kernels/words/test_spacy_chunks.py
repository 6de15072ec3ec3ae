"""Words looked up by chunks are those that spaCy's tokenizer cuts in the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("spacy")

from refinery.kernels.words import language_counts, language_words, spacy_chunks, spacy_words
from refinery.kernels.words.spacy_chunks import ChunkTokenizer
from tests.examples import share_of

LANGUAGES = ("eng", "rus", *(pytest.param(code, marks=pytest.mark.long) for code in ("deu", "fra")))
EXCEPTIONS = (
    ":)", ":-(", "(:", "xD", "=(", ":'(", "(>_<)", "<.<", "0_o", "\\n", "e.g.", "a.m.", "don't", "we'll", "U.S.", "z.B.", "C++",
)  # fmt: skip
MARKS = (
    "=",
    "(",
    ")",
    ":",
    "::A",
    ";",
    "-",
    "'",
    "''",
    '"',
    ".",
    ">",
    "<",
    "_",
    "*",
    "/",
    "3",
    "D",
    "\u00b0",
    "\u2014",
)
WORDS = (
    "the",
    "cat",
    "we",
    "It",
    "NASA",
    "well-known",
    "https://a.org/b",
    "12.5kg",
    "l'eau",
    "Straße",
    "это",
    "\u0301",
)
SPACES = (" ", " ", " ", "", "  ", "\n", "\t", "\u00a0", "\r\n", "\x1c")
PIECES = st.sampled_from([*EXCEPTIONS, *MARKS, *WORDS])
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(SPACES)).map("".join), max_size=25).map("".join)


def words(known: ChunkTokenizer, text: str) -> list[str]:
    found = known.of(text).tolist()
    spelled = list(known.words.numbers)
    return [spelled[number] for number in found]


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> tuple[str, ChunkTokenizer]:
    return request.param, ChunkTokenizer(spacy_words.pipeline(spacy_words.languages()[request.param]).tokenizer)


@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
@settings(max_examples=share_of(150), derandomize=True)
def test_words_are_those_of_the_whole_text(language: tuple[str, ChunkTokenizer], texts: list[str]) -> None:
    code, known = language
    for text in [*texts, texts[0]]:
        found = known.of(text).tolist()
        numbers = known.words.numbers
        assert found == [numbers.get(word) for word in spacy_words.words(text, code)]


def test_exceptions_across_white_space_decide_together() -> None:
    known = ChunkTokenizer(spacy_words.pipeline("en").tokenizer)
    for text in ("= (::A", "a = (: b", "x :'( ) y", "= (::A = (::A"):
        assert words(known, text) == spacy_words.words(text, "eng")
    assert "= (::A" in known._known  # one chunk: cut by itself, `(::A` would begin with `(:`
    assert words(known, "(::A") != words(known, "= (::A")[1:]


def test_what_is_known_is_forgotten_when_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_chunks, "MOST", 3)
    texts = ["one two three", "four four five, six", "one", None, ""]
    for _ in range(2):
        counts = language_counts.word_counts(texts, ["four", "one"], [3], [4], "eng").to_pylist()
        assert [row and (row["words"], row["types"], row["stops"], row["short"]) for row in counts] == [
            (3, 3, 1, [2]),
            (5, 4, 2, [2]),
            (1, 1, 1, [1]),
            None,
            (0, 0, 0, [0]),
        ]
        [known] = language_words._local.chunks.values()
        assert len(known._known) <= 8
