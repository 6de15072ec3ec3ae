"""Bounds between which no value lies: a recipe of Data-Juicer with them runs here as it does there, with a note."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from refinery.compiler.bounds import in_range, misses
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.operators import Library
from refinery.operators.bounds import NO_RANGE, UNBOUNDED, FilterBound, KeptRange, kept_range
from refinery.recipe import loads
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


@pytest.mark.parametrize("low", [None, 2, 3])
@pytest.mark.parametrize("high", [None, UNBOUNDED, 3, 1])
@pytest.mark.parametrize("closed", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("reverse", [False, True])
def test_reasons_and_notes_follow_from_the_condition(
    low: int | None, high: int | None, closed: tuple[bool, bool], reverse: bool
) -> None:
    """Each value is either kept or has one reason at least, NULL has neither; an empty range holds no value."""
    params = {"low": low, "high": high, "reversed_range": reverse}
    params |= dict(zip(("min_closed_interval", "max_closed_interval"), closed, strict=True))
    kept = kept_range(params, "low", "high")
    tests = " OR ".join(f"({test})" for test, _, _ in misses("v", kept)) or "FALSE"
    values = "(VALUES (-1), (0), (1), (2), (2.5), (3), (4), (NULL)) AS t(v)"
    rows = duckdb.sql(f"SELECT v, coalesce({in_range('v', kept)}, FALSE), {tests} FROM {values}").fetchall()
    found = {value: (stays, missed) for value, stays, missed in rows if value is not None}
    if not reverse:
        assert all(stays is not missed for stays, missed in found.values())
        assert rows[-1][2] is not True
    else:  # what is not kept is inside, and is the only value that is asked for a reason
        assert all(missed for _, missed in found.values()) and not rows[-1][2]
    assert kept.empty == (bool(kept.ends) and {stays for stays, _ in found.values()} == {reverse})
    assert kept.crossed == (low is not None and high is not None and low > high)


def test_an_upper_bound_without_end_is_none() -> None:
    assert kept_range({"low": 1, "high": UNBOUNDED}, "low", "high") == KeptRange(FilterBound("low", 1), None)
    assert kept_range({"reversed_range": True}, None, None) == NO_RANGE
    far = KeptRange(FilterBound("low", True), FilterBound("high", 1e30), True)
    assert far.shown() == NO_RANGE


@pytest.mark.parametrize(("closed", "kept"), [(True, {True}), (False, {True, False})])
def test_bounds_that_meet_are_swapped_where_the_range_is_reversed(closed: bool, kept: set[bool]) -> None:
    """Of a reversed range, open ends belong to what is left out: the samples at the bound, and no others."""
    ends = {"min_closed_interval": closed, "max_closed_interval": closed, "reversed_range": True}
    steps = [{"text_length_filter": {"min_len": 13, "max_len": 13, **ends}}]
    recipe, _ = open_recipe({"process": steps}, need_inputs=False)
    noted = [note.text for note in recipe.ignored if "reversed_range keeps every sample" in note.text]
    assert bool(noted) is closed
    assert {row["kept"] for row in run_samples(SAMPLES, steps)} == kept


def test_minhash_of_data_juicer_has_no_words() -> None:
    step = {"document_minhash_deduplicator": {"hash": "data_juicer", "tokenization": "word"}}
    with pytest.raises(RecipeError, match=r"Data-Juicer has no tokenization: word; set tokenization: space"):
        open_recipe({"process": [step]}, need_inputs=False)
    del step["document_minhash_deduplicator"]["hash"]
    recipe, _ = open_recipe({"process": [step]}, need_inputs=False)
    assert recipe.steps[0].params["hash"] == "fast"


@pytest.mark.parametrize(
    ("step", "note"),
    [
        (
            "character_repetition_filter: {min_ratio: 60, max_ratio: 100}",
            "min_ratio is 60, but char_rep_ratio is at most 1: every sample is removed. Is min_ratio: 0.6 meant?",
        ),
        (
            "special_characters_filter: {max_ratio: 25}",
            "max_ratio is 25, but special_char_ratio is at most 1: no sample is above it. Is max_ratio: 0.25 meant?",
        ),
        ("alphanumeric_filter: {min_ratio: 500}", "but alnum_ratio is at most 1: every sample is removed"),
        (
            "character_repetition_filter: {min_ratio: 60, max_ratio: 100, reversed_range: true}",
            "every sample is kept. Is min_ratio: 0.6 meant?",
        ),
    ],
)
def test_a_percentage_in_place_of_a_share_is_noted(step: str, note: str) -> None:
    recipe = loads(f"process: [{{{step}}}]", library=Library(), need_inputs=False)
    assert any(note in found.text for found in recipe.ignored)


@pytest.mark.parametrize(
    "step", ["special_characters_filter: {max_ratio: 1}", "text_length_filter: {min_len: 60}", "alphanumeric_filter"]
)
def test_a_bound_that_can_be_reached_has_no_note(step: str) -> None:
    recipe = loads(
        f"process: [{{{step}}}]" if ":" in step else f"process: [{step}]", library=Library(), need_inputs=False
    )
    assert not any("at most" in found.text for found in recipe.ignored)
