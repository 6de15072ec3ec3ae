"""Spans of taggers against texts of which every span is known, and their replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.text.periods import periodic_runs
from refinery.kernels.text.tagged_spans import TAGGERS, Span, replaced
from tests.examples import share_of

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10), st.sampled_from(["", "x", "<{}>"])), max_size=5)


@settings(max_examples=share_of(300))
@given(st.text("abé👍", max_size=30), SPANS)
def test_replaced(text: str, given_spans: list[tuple[int, int, str]]) -> None:
    spans = [
        (Span(start, min(start + size, len(text)), ""), new) for start, size, new in given_spans if start < len(text)
    ]
    taken: list[tuple[Span, str]] = []
    for span, new in sorted(spans, key=lambda pair: pair[0].start):
        if not taken or span.start >= taken[-1][0].end:
            taken.append((span, new))
    expected = text
    for span, new in reversed(taken):
        expected = expected[: span.start] + new.replace("{}", text[span.start : span.end]) + expected[span.end :]
    assert replaced(text, spans) == expected


@pytest.mark.parametrize(
    ("tagger", "text", "found"),
    [
        ("pii_regex_v1", "to <a@b.org>, now", [" <a@b.org>, "]),
        ("pii_regex_v1", "(@b.org a@b c@d.e", []),
        ("pii_regex_v1", "Tel.\n425 882 9080", ["\n425 882 9080"]),
        ("pii_regex_v1", "doi" + " " * 90 + "1.2.3.4", []),
        ("pii_regex_v1", "doi" + "x" * 101 + "1.2.3.4", ["1.2.3.4"]),
        ("pii_regex_with_counts_fast_v2", "doi 1.2.3.4 a@b.org\nTel.\n425 882 9080", [" a@b.org\n", "1.2.3.4"]),
        ("pii_regex_with_counts_fast_v2", "?" * 10_001 + " 1.2.3.4", []),
        ("c4_v1", "one\ntwo. ", ["one\n", "one\n", "two. "]),
        ("not_alphanum_paragraph_v1", "--\né\n\n♥ 🙂", ["--\n", "♥ 🙂"]),
        ("paragraph_repetitions_v1", "aaaa\naaa\na", ["aaaa"]),
        ("repetitions_v1", "aaaa\naaa\na", ["aaaa\naaa\na"]),
    ],
)
def test_spans(tagger: str, text: str, found: list[str]) -> None:
    find, types = TAGGERS[tagger]
    spans = find(text)
    assert sorted(text[span.start : span.end] for span in spans) == sorted(found)
    assert {span.type for span in spans} <= {*types}


@settings(max_examples=share_of(300))
@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 5))
def test_a_repeated_list_is_a_run(values: list[int], copies: int) -> None:
    for start, end, times in periodic_runs(np.array(values * copies, np.int64), 13):
        assert times >= 3
        assert start < 0 or is_periodic((values * copies)[start:end])


def is_periodic(values: Sequence[int]) -> bool:
    return any(all(a == b for a, b in zip(values, values[period:], strict=False)) for period in range(1, 14))


def test_runs_of_one_period() -> None:
    values = np.array([9, 1, 2, 1, 2, 1, 2, 1, 8, 7], np.int64)
    assert list(periodic_runs(values, 13)) == [(1, 8, 3)]
    assert list(periodic_runs(np.zeros(0, np.int64), 13)) == []
