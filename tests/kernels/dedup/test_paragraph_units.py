"""Repeated paragraphs: keys and removal against ordinary Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.operators import load_module
from tests.examples import share_of

operator = load_module(Path(__file__).parents[3] / "udfs" / "deduplicators" / "paragraph_deduplicator.py")
DEFAULTS = {name: spec["default"] for name, spec in operator.OPERATOR["params"].items()}
NUMBERS = pa.list_(pa.int64())

NASTY = [*"\n\n\n\n ab\t\r\xa0\u3000ABéÉΣς漢😀|", "\n\n", "\n\n\n", "a\n\nb", "aab", "İ", "|-|", "sixteen characters"]
text = st.lists(st.sampled_from(NASTY), max_size=40).map("".join) | st.text(max_size=30)
separators = st.sampled_from(["\n\n", "\n", "aa", "aab", "|", "é", " \n"]) | st.text(min_size=1, max_size=3)
nasty = settings(max_examples=share_of(300))


def keys(texts: list[str | None], **params: Any) -> list[list[int] | None]:
    chosen = DEFAULTS | params
    del chosen["drop_empty"]
    return operator.paragraph_keys(pa.array(texts, pa.string()), *chosen.values()).to_pylist()


def removed(texts: list[str | None], numbers: list[list[int] | None], separator: str) -> list[str | None]:
    return operator.without_paragraphs(pa.array(texts, pa.string()), pa.array(numbers, NUMBERS), separator).to_pylist()


def deduplicated(texts: list[str], params: dict[str, Any]) -> list[str | None]:
    """The barrier in Python: the first paragraph of a key stays; None for a sample that is removed."""
    chosen, seen = DEFAULTS | params, set()
    numbers: list[list[int] | None] = []
    for row in keys(texts, **params):
        again = []
        for i, key in enumerate(row or ()):
            if key and key in seen:
                again.append(i)
            seen.add(key)
        numbers.append(again)
    changed = removed(texts, numbers, chosen["separator"])
    emptied = None if chosen["drop_empty"] else ""
    return [old if new is None else new or emptied for old, new in zip(texts, changed, strict=True)]


def compared(paragraph: str, params: dict[str, Any]) -> str:
    paragraph = paragraph.strip()
    if params["lowercase"]:
        paragraph = paragraph.lower()
    return " ".join(paragraph.split()) if params["collapse_whitespace"] else paragraph


@pytest.mark.parametrize("example", operator.OPERATOR["examples"])
def test_examples(example):
    assert deduplicated(example["texts"], example["params"]) == example["out"]


@nasty
@given(st.lists(text, max_size=5), separators, st.booleans(), st.booleans(), st.integers(0, 5))
def test_keys_separate_paragraphs(texts, separator, lowercase, collapse, min_length):
    params = {"lowercase": lowercase, "collapse_whitespace": collapse}
    paragraphs = [part for text in texts for part in text.split(separator)]
    found = keys(texts, separator=separator, min_length=min_length, **params)
    got = [key for row in found for key in row or ()]
    assert [key == 0 for key in got] == [len(part.strip()) < max(min_length, 1) for part in paragraphs]
    pairs = {(key, compared(part, params)) for key, part in zip(got, paragraphs, strict=True) if key}
    assert len(pairs) == len({key for key, _ in pairs}) == len({part for _, part in pairs})


@nasty
@given(st.lists(text, min_size=1, max_size=4), separators, st.data())
def test_removal_leaves_the_other_paragraphs(texts, separator, data):
    parts = [text.split(separator) for text in texts]
    numbers = [data.draw(st.lists(st.sampled_from(range(len(p))), unique=True)) for p in parts]
    rest = [[part for i, part in enumerate(p) if i not in gone] for p, gone in zip(parts, numbers, strict=True)]
    results = removed(texts, numbers, separator)
    for old, new, gone, stay in zip(texts, results, numbers, rest, strict=True):
        assert (new is None) == (not gone or old == "")
        if new is not None:
            left = separator.join(stay)
            assert new.split(separator) == stay if left.strip() else new in ("", left)


@given(st.lists(st.none() | text, max_size=5), separators)
def test_nothing_removed_changes_nothing(texts, separator):
    assert removed(texts, [[] for _ in texts], separator) == [None] * len(texts)


def test_white_space_alone_is_nothing_left():
    assert removed(["a\n\n\n\n \u3000\n", "a\n\n.", "a"], [[0]] * 3, "\n\n") == ["", ".", ""]


def test_an_empty_separator_is_refused():
    assert "separator" in operator.checks(DEFAULTS | {"separator": ""})[0]
    assert operator.checks(DEFAULTS) == []
