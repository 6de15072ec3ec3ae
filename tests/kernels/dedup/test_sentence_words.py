"""Words and their tokens: addresses are those of one pattern, which takes too long for long words."""

from __future__ import annotations

import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import sentence_words
from refinery.kernels.dedup.sentence_words import _UNCASED
from tests.examples import share_of

ADDRESS = regex.compile(
    r"(?:[\w+.-]{2,}://)?(?:\S+@)?(?:(?:\d{1,3}\.){3}\d{1,3}"
    r"|(?:(?:[A-Za-z0-9\u00a1-\uffff][A-Za-z0-9\u00a1-\uffff_-]{0,62})?[A-Za-z0-9\u00a1-\uffff]\.)+"
    rf"[\p{{Ll}}{_UNCASED}]{{2,63}})(?::\d{{2,5}})?(?:[/?#]\S*)?"
)
PARTS = [*"ab1.@:/?#-_A!é漢", "://", "www.", "1.2.3.4", ".org", "x" * 40, ":8080", "\u0663", "😀"]
word = st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join)


@settings(max_examples=share_of(500))
@given(word)
def test_addresses_are_those_of_the_pattern(word: str) -> None:
    assert sentence_words._is_address(word) == bool(ADDRESS.fullmatch(word))


def test_addresses_are_one_token() -> None:
    for one in ("www.example.org/a?b", "me@mail.example.org", "http://10.0.0.1:80/x", "ssh://a@b.org"):
        assert len(sentence_words.tokens(one)) == 1, one
    assert len(sentence_words.tokens("end.Next")) == 3
