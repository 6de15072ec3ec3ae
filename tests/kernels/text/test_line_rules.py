"""Lines that keep a rule against what plain Python keeps of the same texts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text import line_rules
from refinery.kernels.words.cut_tokens import BY_FIRST, FASTTEXT, INKED, SPLIT
from tests.examples import share_of

PIECES = [
    *"\n\n\n    .!?\"'aAzZ09²٣ßẞΣéÉ", "...", "…", "\xa0", "\x1c", "\0", "\t", "\r", "\u3000", "x" * 63, "X" * 64, "don't", "日本", "ि",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def ends_well(line: str, no_ellipsis: bool) -> bool:
    return bool(re.search(r'[.!?"…]\s*$', line)) and not (no_ellipsis and re.search(r"(\.\.\.|…)\s*$", line))


def tokens(line: str) -> list[str]:
    return [token for token in re.split("[ \n\r\t\v\f\0]", line) if token.strip()]


RULES: list[tuple[int, float, float, Callable[[str], bool]]] = [
    (line_rules.RATIO, line_rules.UPPER, 0.25, lambda line: sum(map(str.isupper, line)) / len(line) <= 0.25),
    (line_rules.RATIO, line_rules.DIGIT, 0.2, lambda line: sum(map(str.isdigit, line)) / len(line) <= 0.2),
    (
        line_rules.BYTE_RATIO,
        line_rules.ASCII_DIGIT,
        0.1,
        lambda line: sum(char in "0123456789" for char in line) / len(line.encode()) <= 0.1,
    ),
    (line_rules.WORDS, 2, 4, lambda line: 2 <= len(line.split()) <= 4),
    (line_rules.END_MARK, 0, 0, lambda line: ends_well(line, False)),
    (line_rules.END_MARK, 0, 1, lambda line: ends_well(line, True)),
    (line_rules.LONGEST, FASTTEXT + INKED, 5, lambda line: all(len(token) <= 5 for token in tokens(line))),
    (line_rules.LONGEST, SPLIT + INKED, 5, lambda line: all(len(token) <= 5 for token in line.split())),
    (
        line_rules.LONGEST,
        FASTTEXT + BY_FIRST + INKED,
        5,
        lambda line: all(len(token) <= 5 for token in tokens(line) if token[0].isalnum()),
    ),
    (line_rules.INK, 0, 0, lambda line: not line.isspace()),
    (line_rules.ALL, 0, 0, lambda line: True),
]


def test_rules_have_numbers_of_their_own() -> None:
    names = "RATIO BYTE_RATIO WORDS UNICODE_WORDS END_MARK LONGEST INK ALL".split()
    assert len({getattr(line_rules, name) for name in names}) == len(names)


@pytest.mark.parametrize(("rule", "low", "high", "keeps"), RULES)
@pytest.mark.parametrize("strip", [False, True])
@settings(max_examples=share_of(150))
@given(texts=st.lists(st.none() | TEXT, max_size=5))
def test_kept_lines(
    rule: int, low: float, high: float, keeps: Callable[[str], bool], strip: bool, texts: list[str | None]
) -> None:
    def expected(text: str | None) -> str | None:
        if text is None:
            return None
        lines = "\n".join(line for line in text.split("\n") if not line or keeps(line))
        new = lines.strip() if strip else lines
        return None if new == text else new

    wanted = [expected(text) for text in texts]
    assert line_rules.lines_by_rule(pa.array(texts, pa.string()), rule, low, high, strip).to_pylist() == wanted
    shifted = pa.array(["é\n", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert line_rules.lines_by_rule(shifted, rule, low, high, strip).to_pylist() == wanted
