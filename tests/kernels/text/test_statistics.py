"""Kernels of statistics against plain Python, on real and on hostile texts."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import of_texts, texts
from refinery.kernels.core.charclass import CODE_POINTS
from refinery.kernels.dedup.sentence_units import MARKS
from refinery.kernels.text import character_stats
from refinery.kernels.text.piece_stats import piece_stats
from refinery.kernels.text.sentence_stats import sentence_stats
from refinery.kernels.words import text_set, word_exceptions, word_rules, word_stats, word_tokens
from tests.examples import share_of

STOPS = ["the", "be", ",", "。", "n't"]
SHORT, LONG = [1, 3], [4, 100]

# What the rules look at, beside any character at all.
PIECES = (
    "a the Be Mr. e.g. don't can't've it’s IT'S 's ' '' `` ` \" “ ” … …… . .. ... , ; : ! ? ( ) [ ] { } < > - -- --- – — —— ~ _ # * & "
    "% § $ US$ C$ A$ € £ + ++ = ^ / | \\ @ 5 5km 10am 3.5 1,000 5+ 5-6 a-b a--b x=y a/b A.B. a.B U.S. °C. °k. 20°C. :) :-( (: xD "
    "http://a.b/c?d=e www.example.com a@b.org b_c.de 192.168.0.1 8.8.8.8/x a.b:80 .com éa. ÉÉ. 中。文 १। 🙂 ☂ ™ ʼ İ ǅ ß ﬀ ́ \u200b"
).split()
SPACES = [" ", "  ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", "\r", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\v"]
hostile = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from([*PIECES, *SPACES]), max_size=40).map("".join),
    st.lists(st.sampled_from([*word_rules.exceptions(), *" =():]'"]), max_size=20).map("".join),
)
columns = st.lists(st.one_of(st.none(), hostile), max_size=6)


def column(values: Sequence[str | None]) -> pa.Array:
    """The texts as a slice of a longer array, so that the first does not begin where the memory does."""
    return pa.array(["before", *values, "behind"], pa.string()).slice(1, len(values))


def characters(text: str) -> dict[str, Any]:
    ellipses = text.count("…") + 3 * text.count("...")
    return {
        "chars": len(text),
        "spaces": sum(c.isspace() for c in text),
        "alphas": sum(c.isalpha() for c in text),
        "digits": sum(c.isdigit() for c in text),
        "uppers": sum(c.isupper() for c in text),
        "ellipses": ellipses,
        "marks": sum(c in MARKS for c in text),
    }


def pieces(text: str, paragraphs: bool, skip_blank: bool) -> dict[str, Any]:
    every = text.split("\n\n" if paragraphs else "\n")
    taken = [p for p in every if p.strip() or not skip_blank]
    repeated = [p for i, p in enumerate(taken) if p in taken[:i]]
    return {
        "pieces": len(every),
        "taken": len(taken),
        "chars": sum(map(len, taken)),
        "terminal": sum(p.endswith((".", "?", "!", '"', "'")) for p in taken),
        "bullets": sum(p.strip()[:1] in ("-", "*", "•") for p in taken if p.strip()),
        "duplicates": len(repeated),
        "duplicate_chars": sum(map(len, repeated)),
        **limits(taken),
    }


def limits(parts: Sequence[str]) -> dict[str, list[int]]:
    return {
        "short": [sum(len(part) <= n for part in parts) for n in SHORT],
        "long": [sum(len(part) >= n for part in parts) for n in LONG],
    }


def words(text: str) -> dict[str, Any]:
    found = word_rules.words(text)
    return {
        "words": len(found),
        "chars": sum(map(len, found)),
        "uppers": sum(word.isupper() for word in found),
        "titles": sum(word.istitle() for word in found),
        "stops": sum(word in STOPS for word in found),
        "types": len(set(found)),
        "lines": len(text.splitlines()),
        **limits(found),
    }


def sentences(text: str) -> dict[str, Any]:
    found = word_rules.sentences(text)
    return {"sentences": len(found), "chars": sum(map(len, found)), **limits(found)}


def check(found: pa.Array, values: Sequence[str | None], plain: Any) -> None:
    for value, counts in zip(values, found.to_pylist(), strict=True):
        assert counts == (None if value is None else plain(value)), value


def character_counts(array: pa.Array) -> list[dict[str, int]]:
    view = texts(array)
    counts = np.zeros((len(character_stats.FIELDS), len(view)), np.int64)
    character_stats.count_rows(view.data, view.offsets, view.valid, *character_stats.tables(), counts)
    return [dict(zip(character_stats.FIELDS, row, strict=True)) for row in counts.T.tolist()]


@given(columns)
@settings(max_examples=share_of(200))
def test_characters(values: list[str | None]) -> None:
    for value, counts in zip(values, character_counts(column(values)), strict=True):
        assert counts == ({name: 0 for name in counts} if value is None else characters(value))


@given(columns, st.booleans(), st.booleans())
@settings(max_examples=share_of(200))
def test_lines_and_paragraphs(values: list[str | None], paragraphs: bool, skip_blank: bool) -> None:
    found = piece_stats(column(values), paragraphs, skip_blank, SHORT, LONG)
    check(found, values, lambda text: pieces(text, paragraphs, skip_blank))


@given(columns, st.lists(st.sampled_from([".", "…", "--", "a b", "é", "।", "\r"]), unique=True))
@settings(max_examples=share_of(200))
def test_lines_that_end_in_given_texts(values: list[str | None], ends: list[str]) -> None:
    found = piece_stats(column(values), False, True, [], [], ends).to_pylist()
    for value, counts in zip(values, found, strict=True):
        taken = [line for line in (value or "").split("\n") if line.strip()]
        assert counts is None or counts["terminal"] == sum(line.endswith(tuple(ends)) for line in taken)


@given(columns)
@settings(max_examples=share_of(400))
def test_words(values: list[str | None]) -> None:
    check(word_stats.word_stats(column(values), STOPS, SHORT, LONG), values, words)


@given(columns)
@settings(max_examples=share_of(400))
def test_sentences(values: list[str | None]) -> None:
    check(sentence_stats(column(values), SHORT, LONG), values, sentences)


@pytest.mark.long  # compiles the function by itself, for half a minute; as a part of word_stats it is tested above
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), st.sampled_from([0, 64]))
@settings(max_examples=share_of(800))
def test_a_piece_is_cut_as_the_rules_say(piece: str, room_behind: int) -> None:
    """The kernel reads 64 bytes at once if bytes follow; those behind the piece must have no effect."""
    size = len(piece.encode())
    data = np.frombuffer(piece.encode() + b"/a.com'" * room_behind, np.uint8)
    room = np.zeros(3 * size + 3, np.int64)
    count = word_tokens.cut_piece(data, 0, size, 0, size, *word_exceptions.rules(), room)
    bounds = [*room[:count].tolist(), size]
    parts = [piece.encode()[a:b].decode() for a, b in zip(bounds, bounds[1:], strict=False)]
    assert parts == word_rules.words(piece)


@given(st.lists(st.text(alphabet="aB.:/@-_1'(,", max_size=20), min_size=1, max_size=9))
@settings(max_examples=share_of(300))
def test_words_of_marks(values: list[str]) -> None:
    """Texts that stand side by side in memory, with many marks, addresses among them."""
    check(
        word_stats.word_stats(of_texts([" ".join(values), *values]), STOPS, SHORT, LONG),
        [" ".join(values), *values],
        words,
    )


LONG_TEXTS = [
    " ".join(f"word{n}" for n in range(9000)),
    "\n".join(str(n % 5000) for n in range(9000)),
    "a-b/" * 9000,
    "." * 9000 + "x" * 9000,
    "'" * 4000,
    ("Sentence. " * 3000).strip(),
    "é" * 70000,
]


@pytest.mark.parametrize("number", range(len(LONG_TEXTS)))
def test_long_texts_make_tables_grow(number: int) -> None:
    values = ["short one", LONG_TEXTS[number], "short one", None, ""]
    check(piece_stats(column(values), False, False, SHORT, LONG), values, lambda text: quick(text))
    if number != 4:  # the plain rules look at all runs of parts
        check(word_stats.word_stats(column(values), STOPS, SHORT, LONG), values, words)
        check(sentence_stats(column(values), SHORT, LONG), values, sentences)


@pytest.mark.parametrize("long", ["1" * 4097, "1" * 70000, " ".join(map(str, range(3000))), "a-" * 4097])
def test_words_of_an_attempt_that_is_repeated_are_forgotten(long: str) -> None:
    """Text 1 makes the kernel begin it again with more room: words that it had met by then are no old ones."""
    values = ["one two three", f"one two three {long}"] * 2
    check(word_stats.word_stats(column(values), STOPS, SHORT, LONG), values, words)


def quick(text: str) -> dict[str, Any]:
    """`pieces` for many lines."""
    every = text.split("\n")
    repeated = len(every) - len(set(every))
    return pieces(text, False, False) if repeated < 10 or len(every) < 100 else _counted(every)


def _counted(every: list[str]) -> dict[str, Any]:
    seen: set[str] = set()
    repeated = [p for p in every if p in seen or seen.add(p)]  # type: ignore[func-returns-value]
    first = pieces("\n".join(dict.fromkeys(every)), False, False)
    return first | {
        "pieces": len(every),
        "taken": len(every),
        "chars": sum(map(len, every)),
        "duplicates": len(repeated),
        "duplicate_chars": sum(map(len, repeated)),
        **limits(every),
    }


def test_every_character() -> None:
    """Each code point alone and between letters: the tables know what Python says of it."""
    every = [chr(c) for c in range(CODE_POINTS) if not 0xD800 <= c < 0xE000]
    bits, _ = character_stats.tables()
    for bit, test in ((character_stats.DIGIT, str.isdigit), (character_stats.UPPER, str.isupper)):
        assert {c for c in every if bits[ord(c)] & bit} == set(filter(test, every))
    table = word_rules.classes()
    for bit, test in ((word_rules.CASED_UPPER, str.isupper), (word_rules.CASED_LOWER, str.islower)):
        assert {c for c in every if table[ord(c)] & bit} == set(filter(test, every))
    assert {c for c in every if table[ord(c)] & word_rules.PUNCT} == {
        c for c in every if unicodedata.category(c).startswith("P") and not c.isspace()
    }


def test_equal_hashes_are_no_equal_texts() -> None:
    """The set compares bytes: a hash that is the same for all texts changes nothing but the time."""
    data = np.frombuffer(b"abcabd", np.uint8)
    table = text_set.new_table(16)
    key = np.uint64(7)
    assert [bool(text_set.add(table, data, key, i, i + 1, 0)) for i in range(6)] == [False] * 3 + [True, True, False]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the classes of characters are compared with Unicode 14's")
def test_classes_and_exceptions_are_those_of_spacy() -> None:
    spacy = pytest.importorskip("spacy")
    import regex
    from spacy.lang import char_classes

    table, every = word_rules.classes(), "".join(chr(c) for c in range(CODE_POINTS) if not 0xD800 <= c < 0xE000)
    for bit, group in (
        (word_rules.LOWER, char_classes.ALPHA_LOWER),
        (word_rules.UPPER, char_classes.ALPHA_UPPER),
        (word_rules.ALPHA, char_classes.ALPHA),
    ):
        theirs = {ord(char) for char in regex.findall(f"[{group}]", every)}
        assert set(np.flatnonzero(table & bit).tolist()) == theirs
    known = spacy.blank("en").tokenizer.rules
    theirs = {text: tuple(part[65] for part in parts) for text, parts in known.items() if text.strip()}
    assert word_rules.exceptions() == theirs


CODE = [
    ") :].l",
    "= (::A",
    "':'):(",
    "°k.::",
    "f(x) :(y)",
    "x: (: :) ):",
    "if a[1:] = [= ]=: :-( :'( :",
    "( * _ * ) (*_*) ( *_*)",
    "( ^_^ ) e.g . e.g. :)))) : ) ) ) )",
    "def f(a=(1, 2), *, b=[:3]):  # <3 :3",
    "<a href='x'> :D </a> {'k': 'v'}; 's 's' 'd' '' ' '",
]


@given(st.lists(st.sampled_from([*PIECES, *word_rules.exceptions(), *SPACES, " ", " "]), max_size=40).map("".join))
@settings(max_examples=share_of(300), derandomize=True)
def test_rules_are_those_of_spacy(text: str) -> None:
    pytest.importorskip("spacy")
    from refinery.kernels.words import spacy_words

    assert word_rules.words(text) == spacy_words.words(text, "eng")
    assert word_rules.sentences(text) == spacy_words.sentences(text, "eng")


@pytest.mark.parametrize("text", [*CODE, " ".join(CODE), "\n".join(CODE)])
def test_code_is_cut_as_spacy_does(text: str) -> None:
    """Exceptions of several words, also such as would span white space and keep others from being found."""
    pytest.importorskip("spacy")
    from refinery.kernels.words import spacy_words

    known = spacy_words.words(text, "eng")
    assert word_rules.words(text) == known
    check(word_stats.word_stats(column([text, text]), STOPS, SHORT, LONG), [text, text], words)


@given(st.text(alphabet="'):(-=. 8D<>/a\"3o]", max_size=12))
@settings(max_examples=share_of(400), derandomize=True)
def test_marks_are_cut_as_spacy_does(text: str) -> None:
    pytest.importorskip("spacy")
    from refinery.kernels.words import spacy_words

    assert word_rules.words(text) == spacy_words.words(text, "eng")
