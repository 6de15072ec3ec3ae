"""Words for the comparison with evaluation items, against their meaning in plain Python."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.contamination.folded_words import GRAM, grams_of, words_of
from refinery.kernels.core.arrow import of_texts
from tests.examples import share_of

SPACELESS = ((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF))
NASTY = "aB9 '’.<>/&;#\n\u0301é\u0130ßﬁ½ж한ก漢字かﾊ\U00020000𝔸٣\u00ad_-"
TEXT = st.text(st.sampled_from(NASTY), max_size=40)


def folded(char: str) -> str | None:
    """Folding of a character: letters, `""` for nothing, None for a character that divides words."""
    category = unicodedata.category(char)
    if char in "'\u2019\u02bc\uff07" or category[0] == "M" or category == "Cf":
        return ""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    if category == "Nd":
        text = str(unicodedata.digit(char))
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c)[0] != "M")
    text = plain if len(plain) == 1 else text
    if not any(c.isalnum() for c in text):
        return None
    return text if len(text) == 1 or (len(text) <= 3 and text.isascii() and text.isalnum()) else char


def is_spaceless(char: str) -> bool:
    return any(low <= ord(char) <= high for low, high in SPACELESS) or 0x20000 <= ord(char) < 0x32400


def words(text: str) -> Iterator[tuple[str, str]]:
    """The words of a text: letters, or a character and the one before it."""
    text = re.sub(r"<[/A-Za-z][^<>\n]*>", "\n", text)  # shorter than 200 bytes in these tests
    text = re.sub(r"&[#0-9A-Za-z]{1,9};", "\n", text)
    word, before = "", ""
    for char in f"{text}\n":
        letters = folded(char)
        if letters == "":
            continue
        if letters is not None and not is_spaceless(char):
            word, before = word + letters, before if word else before
            continue
        if word:
            yield "word", word
            word, before = "", ""
        if letters is None:
            before = ""
            continue
        yield "character", before + letters[0]
        before = letters[0]


@settings(max_examples=share_of(400))
@given(st.lists(TEXT, max_size=6))
def test_words_are_those_of_the_meaning(texts: list[str]) -> None:
    keys, offsets = words_of(of_texts(texts))
    expected = [list(words(text)) for text in texts]
    assert [int(end - start) for start, end in zip(offsets[:-1], offsets[1:], strict=True)] == [
        len(own) for own in expected
    ]
    by_word: dict[tuple[str, str], int] = {}
    for word, key in zip([word for own in expected for word in own], keys.tolist(), strict=True):
        assert by_word.setdefault(word, key) == key
    assert len(set(by_word.values())) == len(by_word)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Reefs, of <b>Brenner</b> Sound!", "the reefs of\u00a0brenner   sound"),
        ("don’t & do", "dont &amp; do"),
        ("Café ﬁnd ① ２", "cafe\u0301 find 1 2"),
        ("**bold** _and_ `code`", "bold and code"),
        ("\u6f22\u5b57\u3001\u304b\u306a", "\u6f22\u5b57 \u304b\u306a"),
    ],
)
def test_texts_that_differ_in_form_have_the_same_words(one: str, other: str) -> None:
    assert words_of(of_texts([one]))[0].tolist() == words_of(of_texts([other]))[0].tolist()


def test_a_slice_of_large_strings_and_nulls() -> None:
    column = pa.array(["x y", None, "the reefs of brenner", ""], pa.large_string())
    keys, offsets = words_of(column.slice(1))
    assert offsets.tolist() == [0, 0, 4, 4]
    assert keys.tolist() == words_of(of_texts(["the reefs of brenner"]))[0].tolist()


def test_n_grams_end_with_their_text() -> None:
    keys, offsets = words_of(of_texts(["a b c d", "a b", "b c d"]))
    grams = grams_of(keys, offsets)
    assert (grams == 0).tolist() == [False, False, True, True, True, True, False, True, True]
    assert grams[1] == grams[6] and grams[0] != grams[1] and GRAM == 3
