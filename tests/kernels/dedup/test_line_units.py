"""Lines shared by many documents: the recorded results, and keys and removal against ordinary Python."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import line_units
from refinery.operators import load_module
from tests.examples import share_of

operator = load_module(Path(__file__).parents[3] / "udfs" / "deduplicators" / "document_line_deduplicator.py")
DEFAULTS = {name: spec["default"] for name, spec in operator.OPERATOR["params"].items()}
NUMBERS = pa.list_(pa.int64())

NASTY = [
    *"\n\n\n \t\r\x0b\x1c\x85\xa0\u2003\u2028\u3000#<>/[]{}();\\x1A9_é\u0301",
    *("ſ", "K", "İ", "ı", "Σ", "σ", "ς", "Ⅷ", "ﬁ", "٣", "３", "²", "漢字", "😀", "Ä", "ǅ", "\x00", "\x7f"),
    *("\\begin{", "\\end{", "\\BEGIN{", "<br/>", "</P>", "<ſ>", "<a b>", "<a", "<1>", "eight888", "sixteen characters"),
]
text = st.lists(st.sampled_from(NASTY), max_size=40).map("".join) | st.text(max_size=30)
options = st.fixed_dictionaries(
    {name: st.booleans() for name, default in DEFAULTS.items() if isinstance(default, bool)}
    | {"min_line_length": st.integers(-1, 6)}
)
nasty = settings(max_examples=share_of(300))


def keys(texts: list[str | None], **params: Any) -> list[list[int] | None]:
    chosen = DEFAULTS | params
    del chosen["frequency_threshold"]
    return operator.line_keys(pa.array(texts, pa.string()), *chosen.values()).to_pylist()


def removed(texts: list[str | None], numbers: list[list[int] | None]) -> list[str | None]:
    return operator.without_lines(pa.array(texts, pa.string()), pa.array(numbers, NUMBERS)).to_pylist()


def deduplicated(texts: list[str], params: dict[str, Any]) -> list[str | None]:
    """The barrier in Python: count documents per key, remove lines that are in too many; None for unchanged texts."""
    found = keys(texts, **params)
    documents: dict[int, int] = {}
    for row in found:
        for key in set(row or ()) - {0}:
            documents[key] = documents.get(key, 0) + 1
    threshold = (DEFAULTS | params)["frequency_threshold"]
    doomed = {key for key, count in documents.items() if count > threshold}
    return removed(texts, [[i for i, key in enumerate(row or ()) if key in doomed] for row in found])


def compared(line: str, options: dict[str, Any]) -> str | None:
    """Match key of a line by the peer's rules; None when it takes no part."""
    bare = line.strip()
    if len(bare) < options["min_line_length"]:
        return None
    if options["skip_brackets"] and set(bare) <= set("{}[]();"):
        return None
    if options["skip_markdown_headers"] and bare.startswith("#"):
        return None
    if options["skip_latex_env"] and re.match(r"^\s*\\(begin|end)\{", bare):
        return None
    if options["skip_html_tags"] and re.match(r"^\s*</?[a-z][a-z0-9]*[^>]*>?\s*$", bare, re.IGNORECASE):
        return None
    if options["lowercase"]:
        line = line.lower()
    if options["ignore_special_character"]:
        line = re.sub(rf"\s+|\d+|[{re.escape(string.punctuation)}]", "", line)
    return line.strip()


def test_recorded_results(recorded):
    folder = recorded / "data_juicer"
    read = [json.loads(line) for line in (folder / "dedup_docs.jsonl").read_text("utf-8").split("\n") if line]
    cases = (folder / "ops" / "document_line_deduplicator.jsonl").read_text("utf-8").split("\n")
    ids, texts = [document["id"] for document in read], [document["text"] for document in read]
    for case in (json.loads(line) for line in cases if line):
        changed = {i: new for i, new in zip(ids, deduplicated(texts, case["params"]), strict=True) if new is not None}
        assert changed == {result["id"]: result["output"] for result in case["results"]}, case["params"]


@pytest.mark.parametrize("example", operator.OPERATOR["examples"])
def test_examples(example):
    texts = example["texts"]
    results = deduplicated(texts, example["params"])
    assert [old if new is None else new for old, new in zip(texts, results, strict=True)] == example["out"]


@nasty
@given(st.lists(text, max_size=5), options)
def test_keys_separate_lines_as_the_peer_does(texts, options):
    lines = [line for text in texts for line in text.split("\n")]
    want = [compared(line, options) for line in lines]
    got = [key for row in keys(texts, **options) for key in row or ()]
    assert [key == 0 for key in got] == [line is None for line in want]
    pairs = {(key, line) for key, line in zip(got, want, strict=True) if key}
    assert len(pairs) == len({key for key, _ in pairs}) == len({line for _, line in pairs})


@nasty
@given(st.lists(st.none() | text, max_size=5), st.data())
def test_removal_leaves_the_other_lines(texts, data):
    lines = [(text or "").split("\n") for text in texts]
    number = st.lists(st.integers(-2, 8), max_size=6)
    numbers = data.draw(st.lists(st.none() | number, min_size=len(texts), max_size=len(texts)))
    want = []
    for text, parts, gone in zip(texts, lines, numbers, strict=True):
        new = "\n".join(part for i, part in enumerate(parts) if i not in (gone or ()))
        want.append(None if text is None or new == text else new)
    assert removed(texts, numbers) == want


@given(st.lists(st.none() | text, max_size=5))
def test_nothing_removed_changes_nothing(texts):
    assert removed(texts, [[] for _ in texts]) == [None] * len(texts)
    assert removed(texts, [None] * len(texts)) == [None] * len(texts)


def test_null_and_empty():
    assert keys([None, "", "one\n", None]) == [None, [0], [keys(["one"])[0][0], 0], None]  # type: ignore[index]
    assert keys([]) == []
    assert keys([None], lowercase=True) == [None]
    sliced = pa.array(["zero", "one", "two\none"], pa.large_string()).slice(1)
    assert line_units.line_keys(sliced, 0, 2, 0).to_pylist() == keys(["one", "two\none"])


def test_every_code_point_folds_as_python_does():
    chars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c != 10]
    table = line_units.fold_table()
    cased = {char for char in chars if char.lower() != char}
    digits = {char for char in chars if char.isdecimal()}
    blanks = {char for char in chars if char.isspace()}
    for bit, want in ((line_units.CASED, cased), (line_units.DIGIT, digits), (line_units.BLANK, blanks)):
        assert {chr(c) for c in np.flatnonzero(table & bit)} - {"\n"} == want - {"\n"}


def test_keys_are_spread_over_all_bits():
    lines = [f"{number:08d} and {number * 7:08d}" for number in range(200_000)]
    found = line_units.keys_of(lines)
    assert len(np.unique(found)) == len(lines)
    for bit in range(64):
        ones = np.count_nonzero(found & np.uint64(1 << bit))
        assert abs(ones - len(lines) / 2) < 5 * (len(lines) / 4) ** 0.5, bit
