"""C4's rules for lines by the kernel, against the same in plain Python with spaCy's sentences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text import c4_language
from refinery.kernels.text.c4_lines import c4_lines
from tests.examples import share_of
from tests.kernels.text.test_statistics import column, hostile

pytest.importorskip("spacy")

PIECES = [
    "a", "word", "Words", "e.g.", "U.S.", "it’s", "end.", "End!", "why?", "...", "…", '"', "'", "{", "[", "]", "[1]", "[]", "[٣]",
    "[edit]", "[citation needed]", "lorem", "Ipsum", "java", "Script", "terms of use", "COO\u212aIE policy", "uses", "cookies", "use of",
    "privacy", "policy", " ", " ", " ", " ", "  ", "\n", "\n", "\r\n", "\x1c", "\x85", "\u2028", "\u3000", "\x1f", "é", "中文。", "x" * 50,
]  # fmt: skip
texts = st.lists(st.none() | hostile | st.lists(st.sampled_from(PIECES), max_size=30).map("".join), max_size=4)
flags = st.sampled_from([0, 1, 1])
rules = st.tuples(
    st.sampled_from([-1, 0, 4, 49, 1000]),
    flags,
    flags,
    st.sampled_from([-1, 0, 1, 2, 3]),
    flags,
    flags,
    flags,
    flags,
    flags,
)


@given(texts, rules, st.booleans())
@settings(max_examples=share_of(800), deadline=None)
def test_kernel_and_plain_python_agree(values: list[str | None], chosen: tuple[int, ...], by_sentence: bool) -> None:
    found = c4_lines(column(values), chosen, by_sentence).to_pylist()
    plain = c4_language.c4_lines(column(values), chosen, by_sentence, "eng").to_pylist()
    for ours, theirs in zip(found, plain, strict=True):
        if ours and (ours["lorem_ipsum"] or ours["curly_bracket"]):  # the text is not used
            ours["delta"] = None
        assert ours == theirs


@pytest.mark.parametrize(
    "text", ["1" * 5000 + ".", "a-" * 5000 + "!", "One two three. " * 5000, "é" * 9000, "a b c.\n" * 9000]
)
def test_long_texts(text: str) -> None:
    for chosen in ((-1, 1, 0, 1, 1, 1, 1, 1, 1), (1000, 1, 1, 3, 1, 1, 1, 1, 1)):
        values = [text, "short one.", text]
        assert c4_lines(column(values), chosen, False) == c4_language.c4_lines(column(values), chosen, False, "eng")
