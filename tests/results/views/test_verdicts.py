"""Verdicts of filters and their overlap: from statistics where nothing was removed, from outcomes elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.api import Run
from tests.runs import refine, texts

# Samples of 1 to 9 letters, some with digits.
SAMPLES = texts(["a", "bb", "c3c", "dddd", "5e5e5", "ffffff", "ggggggg", "hh8hhhh8", "jjjjjjjjj"])
STEPS: list[Any] = [
    {"text_length_filter": {"min_len": 3, "max_len": 100}},
    {"sql_mapper": {"text": "text || '!'"}},
    {"sql_filter": {"where": "NOT regexp_matches(text, '[0-9]')"}, "name": "no digits"},
    {"text_length_filter": {"min_len": 5, "max_len": 8}},
]
SHORT, DIGITS, LONG = {0, 1}, {2, 4, 7}, {0, 1, 2, 7, 8}  # removed by steps 1, 3 and 4 of all samples
COLUMNS = "step_a, step_b, by_both, only_a, only_b, unknown_a, unknown_b"


def removed_by(run: Run, step: int, verdict: str = "removes") -> set[int]:
    return {row for (row,) in run.sql(f"SELECT _row FROM verdicts WHERE step = {step} AND {verdict}").fetchall()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Run:
    steps = [STEPS[0], STEPS[1], {"alphanumeric_filter": {"tokenization": False, "min_ratio": 0.85}}, STEPS[3]]
    return refine(tmp_path_factory.mktemp("measured"), SAMPLES, steps, measure_only=True)


@pytest.fixture(scope="module")
def removing(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("removing"), SAMPLES, STEPS)


def test_statistics_decide_about_every_sample(measured: Run) -> None:
    assert removed_by(measured, 1) == SHORT and removed_by(measured, 4) == LONG
    assert removed_by(measured, 3) == {0, 1, 2, 3, 4}  # of n letters and a mark, a share of n / (n + 1)
    assert measured.sql("SELECT count(*) FROM verdicts WHERE removes IS NULL").fetchall() == [(0,)]
    assert measured.sql(f"SELECT {COLUMNS} FROM overlap").fetchall() == [
        (1, 3, 2, 0, 3, 0, 0),
        (1, 4, 2, 0, 3, 0, 0),
        (3, 4, 3, 2, 2, 0, 0),
    ]


def test_a_run_that_removed_samples_knows_no_later_verdicts_on_them(removing: Run) -> None:
    assert removed_by(removing, 1) == SHORT and removed_by(removing, 1, "removes IS NULL") == set()
    assert removed_by(removing, 3) == DIGITS and removed_by(removing, 3, "removes IS NULL") == SHORT
    assert removed_by(removing, 4) == LONG - SHORT - DIGITS
    assert removed_by(removing, 4, "removes IS NULL") == SHORT | DIGITS


def test_an_unknown_verdict_is_never_taken_for_keeping(removing: Run) -> None:
    assert removing.sql(f"SELECT {COLUMNS} FROM overlap").fetchall() == [
        (1, 3, None, None, 3, 0, 2),  # all that reached step 3 have passed step 1
        (1, 4, None, None, None, 0, 5),  # those that step 3 removed might be removed by step 4 alone
        (3, 4, None, None, None, 2, 5),
    ]


def test_names_of_steps_are_there(removing: Run) -> None:
    query = "SELECT operator_a, name_a, operator_b, name_b FROM overlap WHERE step_b = 3"
    assert removing.sql(query).fetchall() == [("text_length_filter", None, "sql_filter", "no digits")]
    assert removing.sql("SELECT DISTINCT name FROM verdicts WHERE step = 3").fetchall() == [("no digits",)]


def test_a_condition_over_more_than_statistics_is_not_known(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, measure_only=True)
    assert removed_by(run, 3, "removes IS NULL") == set(range(9))
    assert run.sql(f"SELECT {COLUMNS} FROM overlap WHERE step_b = 3").fetchall() == [(1, 3, None, None, None, 0, 9)]
    assert run.sql(f"SELECT {COLUMNS} FROM overlap WHERE step_a = 1 AND step_b = 4").fetchall() == [
        (1, 4, 2, 0, 3, 0, 0)
    ]


@pytest.mark.parametrize("steps", [["clean_email_mapper"], ["document_deduplicator"], STEPS[:1]], ids=str)
def test_without_a_second_filter_there_are_no_pairs(tmp_path: Path, steps: list[Any]) -> None:
    run = refine(tmp_path, SAMPLES, steps)
    assert run.sql("FROM overlap").fetchall() == []
    assert len(run.sql("FROM verdicts").fetchall()) == (9 if steps is STEPS[:1] or steps == STEPS[:1] else 0)


def test_pairs_of_no_samples_have_zeros(tmp_path: Path) -> None:
    run = refine(tmp_path, [], [STEPS[0], STEPS[3]])
    assert run.sql(f"SELECT {COLUMNS} FROM overlap").fetchall() == [(1, 2, 0, 0, 0, 0, 0)]


def test_filters_that_ran_in_another_order_know_what_they_have_seen(tmp_path: Path) -> None:
    steps = [
        {"alphanumeric_filter": {"tokenization": False, "min_ratio": 0.85}},
        {"text_length_filter": {"min_len": 3, "max_len": 100}},
    ]
    run = refine(tmp_path, SAMPLES, steps, fusion_strategy="greedy")
    assert removed_by(run, 2) == SHORT and removed_by(run, 2, "removes IS NULL") == set()  # it ran first
    assert removed_by(run, 1) == set() and removed_by(run, 1, "removes IS NULL") == SHORT
