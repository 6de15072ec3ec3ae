"""Bounds between which no value lies: a recipe of Data-Juicer with them runs here as it does there, with a note."""

from __future__ import annotations

from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from tests.compiled import run_samples

SAMPLES = [{"text": "one two three"}, {"text": "seven words are in this one text"}, {"text": "x " * 20}, {"text": ""}]
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("words_num_filter", {"max_num": 5}, "min_num is 10 by default and max_num is 5: "),
    ("special_characters_filter", {"min_ratio": 0.5}, "min_ratio is 0.5 and max_ratio is 0.25 by default: "),
    ("alphanumeric_filter", {"max_ratio": 0.1}, "min_ratio is 0.25 by default and max_ratio is 0.1: "),
    ("text_length_filter", {"min_len": 20, "max_len": 3}, "min_len is 20 and max_len is 3: "),
]


@pytest.mark.parametrize(("name", "params", "said"), CASES)
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_no_value_lies_between_the_bounds(
    name: str, params: dict[str, Any], said: str, closed: bool, reverse: bool
) -> None:
    ends = {"min_closed_interval": closed, "max_closed_interval": closed, "reversed_range": reverse}
    steps = [{name: {**params, **ends}}]
    recipe, _ = open_recipe({"process": steps}, need_inputs=False)
    [note] = [note.text for note in recipe.ignored if "lies between" in note.text]
    outcome = "reversed_range keeps every sample" if reverse else "every sample is removed"
    assert note == f"{name}: {said}no value lies between them, so {outcome}"
    if closed or name == "text_length_filter":  # kernels need not be compiled twice
        assert {row["kept"] for row in run_samples(SAMPLES, steps)} == {reverse}


def test_bounds_that_meet_need_no_note() -> None:
    recipe, _ = open_recipe({"process": [{"text_length_filter": {"min_len": 3, "max_len": 3}}]}, need_inputs=False)
    assert not [note for note in recipe.ignored if "lies between" in note.text]


@pytest.mark.parametrize("end", ["min_closed_interval", "max_closed_interval"])
def test_no_value_lies_between_bounds_that_meet_and_are_open(end: str) -> None:
    steps = [{"text_length_filter": {"min_len": 13, "max_len": 13, end: False}}]
    recipe, _ = open_recipe({"process": steps}, need_inputs=False)
    assert any("no value lies between them, so every sample is removed" in note.text for note in recipe.ignored)
    assert {row["kept"] for row in run_samples(SAMPLES, steps)} == {False}


def test_minhash_of_data_juicer_has_no_words() -> None:
    step = {"document_minhash_deduplicator": {"hash": "data_juicer", "tokenization": "word"}}
    with pytest.raises(RecipeError, match=r"Data-Juicer has no tokenization: word; set tokenization: space"):
        open_recipe({"process": [step]}, need_inputs=False)
    step["document_minhash_deduplicator"]["hash"] = "fast"
    open_recipe({"process": [step]}, need_inputs=False)
