"""Numbers of the words and sentences that DCLM's own functions cut, against those of our filters and enrichers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiled import run_samples
from tests.conformance.web_cases import cases, documents

pytestmark = pytest.mark.recorded


def numbers(case: dict[str, Any], step: dict[str, Any], stat: str) -> list[int]:
    rows = run_samples([{"text": documents()[one["id"]]["text"]} for one in case["results"]], [step])
    return [row["stats"][stat] for row in rows]


def test_numbers_of_words() -> None:
    recorded = cases("dclm", "split_words")
    assert recorded
    for case in recorded:
        step = {"word_counter_enricher": {"ignore_punctuation": False, **case["params"]}}
        assert numbers(case, step, "word_count") == [len(one["words"]) for one in case["results"]], case["params"]


def test_numbers_of_sentences() -> None:
    (case,) = cases("dclm", "split_sentences")
    step = {"page_length_filter": {"length_type": "sentence", "min_length": 0, **case["params"]}}
    assert numbers(case, step, "page_length") == [len(one["sentences"]) for one in case["results"]]
