"""SimHash against ordinary Python and the recorded values, and the deduplicator built on it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup.hamming import pairs
from refinery.kernels.dedup.shingles import tokens
from refinery.kernels.dedup.simhash import simhash
from refinery.kernels.dedup.unionfind import components
from refinery.operators import Library
from tests.conftest import RECORDED
from tests.examples import share_of

OPERATOR = Library().operators["document_simhash_deduplicator"]
DEFAULTS = {name: param.default for name, param in OPERATOR.params.items()}
CASES = RECORDED / "data_juicer" / "ops" / "document_simhash_deduplicator.jsonl"

NASTY = [*" \n\t.,-aAbßİΣσ中😀", "  ", "word", "Σ ", "x" * 55, "y" * 64, "zz " * 9]
texts = st.lists(st.sampled_from(NASTY), max_size=60).map("".join)


def plain(text: str, tokenization: str, window: int, lowercase: bool, ignored: str | None) -> int:
    """The SimHash by ordinary Python."""
    text = text.lower() if lowercase else text
    text = regex.sub(ignored, "", text) if ignored else text
    if tokenization == "character":
        parts, between = list(text), ""
    elif tokenization == "punctuation":
        parts, between = regex.split(r"\p{P}", text), " "
    else:
        parts, between = [part for part in text.split(" ") if part], " "
    count = [0] * 64
    for i in range(len(parts) - window + 1):
        digest = hashlib.md5(between.join(parts[i : i + window]).encode()).digest()
        number = int.from_bytes(digest[:8], "big")
        count = [c + (1 if number >> bit & 1 else -1) for bit, c in enumerate(count)]
    return sum(1 << bit for bit, c in enumerate(count) if c > 0)


def of(values: list[Any], tokenization: str = "space", window: int = 6, kind: Any = None) -> list[int]:
    column = pa.array(values, kind or pa.string())
    return simhash(tokens(column, tokenization, True, None), window).tolist()


@settings(max_examples=share_of(150))
@given(
    st.lists(texts, max_size=4),
    st.sampled_from(["space", "punctuation", "character"]),
    st.sampled_from([1, 2, 3, 6, 30]),
    st.booleans(),
    st.sampled_from([None, r"\p{P}", r"[^\w]+", "zz "]),
)
def test_equal_to_plain_python(
    values: list[str], tokenization: str, window: int, lowercase: bool, ignored: str | None
) -> None:
    column = pa.array(values, pa.string())
    found = simhash(tokens(column, tokenization, lowercase, ignored), window).tolist()
    assert found == [plain(text, tokenization, window, lowercase, ignored) for text in values]


def test_every_length_of_a_shingle() -> None:
    """MD5 takes blocks of 64 bytes, the last of which has room for 55 of the text; 64 shingles are hashed at a time."""
    values = ["é" * (n % 2) + "x" * n for n in range(330)]
    assert of(values, window=1) == [plain(text, "space", 1, True, None) for text in values]
    together = " ".join(values)
    assert of([together], window=1) == [plain(together, "space", 1, True, None)]


def test_more_shingles_than_are_hashed_at_once() -> None:
    values = ["a b", " ".join(str(i * i) for i in range(40_000)), "c d", "", "e f " * 20_000]
    assert of(values, window=2) == [plain(text, "space", 2, True, None) for text in values]


def test_ties_are_no_majority() -> None:
    """Of two shingles a bit needs both."""
    one, two, both = of(["a", "b", "a b"], window=1)
    assert both == one & two


def test_short_texts_and_nulls() -> None:
    assert of(["", "a b c d e", None, "a b c d e f"])[:3] == [0, 0, 0]
    assert of([]) == []
    assert of(["x", None, "y z"] * 3, window=1, kind=pa.large_string()) == of(["x", None, "y z"], window=1) * 3
    sliced = pa.array(["no", "a b", "c"]).slice(1)
    assert simhash(tokens(sliced, "space", True, None), 1).tolist() == of(["a b", "c"], window=1)
    with pytest.raises(ValueError, match="at least one token"):
        of(["a"], window=0)


def test_two_threads_at_once() -> None:
    columns = [[f"{i} {j} {i * j} the same words" for j in range(200)] for i in range(8)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(of, columns)) == [of(column) for column in columns]


# The operator


def simhashes(values: list[str | None], **given: Any) -> list[int | None]:
    params = DEFAULTS | given
    (function,) = OPERATOR.functions
    names = ("tokenization", "window_size", "lowercase", "ignore_pattern")
    found = function.resolve()(pa.array(values, pa.string()), *(params[n] for n in names), params["short"] == "keep")
    return found.to_pylist()


def groups(values: list[str | None], **given: Any) -> list[list[int]]:
    """Rows that are duplicates of each other, alone or not."""
    params = DEFAULTS | given
    marks = simhashes(values, **given)
    distinct = np.unique(np.array([mark for mark in marks if mark is not None], np.uint64))
    labels = components(*pairs(distinct, params["num_blocks"], params["hamming_distance"]), len(distinct))
    found: dict[Any, list[int]] = defaultdict(list)
    for row, mark in enumerate(marks):
        key = ("alone", row) if mark is None else int(labels[np.searchsorted(distinct, np.uint64(mark))])
        found[key].append(row)
    return list(found.values())


@pytest.mark.parametrize("number", range(7))
def test_recorded_values_and_groups(number: int, recorded: Path) -> None:
    case = json.loads(CASES.read_bytes().decode().split("\n")[number])
    if case["error"]:
        (problem,) = OPERATOR.check(DEFAULTS | case["params"])
        assert "num_blocks" in problem
        return
    assert OPERATOR.check(DEFAULTS | case["params"]) == []
    lines = (recorded / "data_juicer" / case["input"]).read_bytes().decode().rstrip("\n").split("\n")
    documents = [json.loads(line) for line in lines]
    values = [document["text"] for document in documents]
    assert simhashes(values, **case["params"]) == [int(value) for value in case["simhash"]]
    found = [[documents[row]["id"] for row in group] for group in groups(values, **case["params"])]
    assert [group[0] for group in found] == case["kept"]
    assert sorted(group for group in found if len(group) > 1) == sorted(case["groups"])


@pytest.mark.parametrize("example", OPERATOR.examples)
def test_examples(example: dict[str, Any]) -> None:
    assert [group[0] for group in groups(example["texts"], **example.get("params", {}))] == example["kept"]


def test_nulls_and_short_texts_that_are_kept() -> None:
    values = ["a b", None, "a b c d e f", "", "a b c d e"]
    assert [mark is None for mark in simhashes(values)] == [False, True, False, False, False]
    assert [mark is None for mark in simhashes(values, short="keep")] == [True, True, False, True, True]
    assert simhashes(["a b"], short="keep", window_size=2) == simhashes(["a b"], window_size=2)
