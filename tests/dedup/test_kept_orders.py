"""Orders of `keep` by name: longest, newest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import OperatorError, RecipeError
from tests.runs import exported, refine

ROWS: list[dict[str, Any]] = [
    {"text": "bb", "date": "2024-03-01T00:30:00+02:00", "meta": {"date": "2019-01-01"}},  # 29 February, UTC
    {"text": "a", "date": "2024-03-01", "meta": {"date": "2020-01-01"}},
    {"text": "cccc", "date": "2023-12-31T23:59:59Z", "meta": {"date": None}},
    {"text": "cccc", "date": "soon", "meta": {}},
]
ALL = {"key": "1"}


def kept(folder: Path, params: dict[str, Any], rows: list[dict[str, Any]] | None = None) -> tuple[str, list[str]]:
    """The text that stays, and the notes on dates."""
    run = refine(folder, rows or ROWS, [{"key_deduplicator": {**ALL, **params}}])
    [row] = exported(run)
    return row["text"], [note for note in run.warnings if "keep: newest" in note]


def test_the_longest_text_stays_and_of_equal_ones_the_first(tmp_path: Path) -> None:
    run = refine(tmp_path, ROWS, [{"key_deduplicator": {**ALL, "keep": "longest"}}])
    assert [row["date"] for row in exported(run)] == ["2023-12-31T23:59:59Z"]


def test_the_newest_sample_stays(tmp_path: Path) -> None:
    text, notes = kept(tmp_path, {"keep": "newest"})
    assert text == "a"
    assert notes == [
        "recipe, step 1: key_deduplicator: keep: newest: 1 of the compared samples has no date in the field 'date', and "
        "counts as older than all others"
    ]


def test_the_date_may_be_a_member_of_a_field(tmp_path: Path) -> None:
    assert kept(tmp_path, {"keep": "newest", "date_key": "meta.date"})[0] == "a"


def test_the_date_may_be_a_column_of_times(tmp_path: Path) -> None:
    days = pa.array([3, 5, None], pa.timestamp("s"))
    table = pa.table({"text": ["x", "y", "z"], "crawled": days})
    recipe = {"process": [{"key_deduplicator": {**ALL, "keep": "newest", "date_key": "crawled"}}]}
    run = refinery.run({**recipe, "export_path": str(tmp_path / "out.jsonl")}, dataset=table)
    assert [row["text"] for row in exported(run)] == ["y"]


def test_a_field_without_dates_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no sample has a date in the field 'year'. Set date_key"):
        kept(tmp_path, {"keep": "newest", "date_key": "year"}, [{"text": text, "year": 2020} for text in "ab"])


def test_a_missing_field_is_a_mistake_of_the_recipe(tmp_path: Path) -> None:
    with pytest.raises((RecipeError, OperatorError), match="crawled"):
        kept(tmp_path, {"keep": "newest", "date_key": "crawled"})


def test_a_field_called_newest_is_named_in_quotes(tmp_path: Path) -> None:
    rows = [{"text": "a", "newest": 2}, {"text": "b", "newest": 1}]
    assert kept(tmp_path, {"keep": '"newest"'}, rows)[0] == "b"


def test_dates_among_values_of_other_kinds_are_dates(tmp_path: Path) -> None:
    """Such a field is JSON, whose texts have quotes."""
    values = [20240501, "2024-05-01", None, True, "2024-05-02T00:00:00Z", "soon"]
    text, notes = kept(
        tmp_path, {"keep": "newest"}, [{"text": f"{n}", "date": value} for n, value in enumerate(values)]
    )
    assert text == "4" and "4 of 6 compared samples have no date" in notes[0]


def test_what_is_no_date_or_number_comes_last(tmp_path: Path) -> None:
    """DuckDB has times after and before all others, and takes NaN for the greatest number."""
    dates = ["infinity", "2024-05-01", "-infinity", "nan", "epoch", " 2024-05-02 "]
    text, notes = kept(tmp_path, {"keep": "newest"}, [{"text": f"{n}", "date": value} for n, value in enumerate(dates)])
    assert text == "5" and "4 of 6 compared samples have no date" in notes[0]
    scores = [float("nan"), None, 1.5, -2.0]
    rows = [{"text": f"{n}", "score": value} for n, value in enumerate(scores)]
    assert [kept(tmp_path, {"keep": f"score {way}"}, rows)[0] for way in ("desc", "asc")] == ["2", "3"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"keep": ""}, "keep is empty; set it to first, longest, newest or an SQL order"),
        ({"keep": "newest", "date_key": " "}, "date_key is empty; set it to the name of a field"),
        ({"date_key": "crawled"}, "date_key has no effect with keep: first; set keep: newest, or leave date_key out"),
    ],
)
def test_an_order_that_says_nothing_is_refused(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        kept(tmp_path, params)


def test_a_note_names_numbers_that_are_texts(tmp_path: Path) -> None:
    def notes_of(order: str, *scores: Any) -> list[str]:
        rows = [{"text": f"{n}", "score": value, "n": n} for n, value in enumerate(scores)]
        run = refine(tmp_path, rows, [{"key_deduplicator": {**ALL, "keep": order}}], shard_size=40)
        return [note for note in run.warnings if "keep:" in note]

    [note] = notes_of("n > 9 desc, score desc", "9", "10", None, " 8.5 ")
    assert "all values of score are numbers written as texts" in note and "CAST(score AS DOUBLE) compares" in note
    assert not notes_of("score desc", "2023", "2024") and not notes_of("score desc", "9", "10", "new")
    assert not notes_of("CAST(score AS DOUBLE) desc", "9", "10")
