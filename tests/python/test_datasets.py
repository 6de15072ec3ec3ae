"""`dataset=` as a path, paths, dicts, the text of a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from tests.runs import exported, settings, texts, write_lines

STEPS = [{"words_num_filter": {"min_num": 2}}]


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    write_lines(tmp_path / "a b.jsonl", texts(["one two", "three"]))
    write_lines(tmp_path / "select from.jsonl", texts(["four five", "six"]))
    found = settings(tmp_path, STEPS)
    del found["dataset_path"]
    return found


def kept(recipe: dict[str, Any], dataset: Any) -> list[Any]:
    return [sample["text"] for sample in exported(refinery.run(recipe, dataset=dataset))]


def test_a_path(recipe: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(recipe, tmp_path / "a b.jsonl") == kept(recipe, str(tmp_path / "a b.jsonl")) == ["one two"]
    assert kept(recipe, [tmp_path / "a b.jsonl", tmp_path / "select from.jsonl"]) == ["one two", "four five"]
    monkeypatch.chdir(tmp_path)
    assert kept(recipe, "select from.jsonl") == ["four five"]  # the file is there, so this is no query
    other = {**recipe, "dataset_path": "nowhere.jsonl"}
    assert kept(other, "a b.jsonl") == ["one two"]
    with pytest.raises(RecipeError, match="dataset names files, and dataset_path does too"):
        refinery.run(recipe, dataset="a b.jsonl", dataset_path="a b.jsonl")


def test_dicts(recipe: dict[str, Any]) -> None:
    assert kept(recipe, texts(["seven eight", "nine"])) == ["seven eight"]


def test_a_query(recipe: dict[str, Any], tmp_path: Path) -> None:
    name = str(tmp_path / "a b.jsonl").replace("'", "''")
    assert kept(recipe, f"FROM '{name}' SELECT upper(text) AS text") == ["ONE TWO"]
    assert kept(recipe, f"\n  with t as (from '{name}') select text || ' x' AS text from t") == ["one two x", "three x"]
    rows = pa.table({"text": ["ten eleven"]})
    duckdb.register("refinery_rows_of_a_test", rows)
    try:
        assert kept(recipe, "FROM refinery_rows_of_a_test") == ["ten eleven"]
    finally:
        duckdb.unregister("refinery_rows_of_a_test")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT text FROM no_such_table", "cannot be run: Catalog Error: Table with name no_such_table"),
        ("SELECT text FORM there", "cannot be run: Parser Error"),
        ("SELECT 1; SELECT 2", "a query is one statement"),
        ("WITH t AS (SELECT 1) DELETE FROM x", "is no query. Write SELECT"),
    ],
)
def test_what_is_no_query(recipe: dict[str, Any], query: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        refinery.run(recipe, dataset=query)


def test_a_script_of_a_path(recipe: dict[str, Any], tmp_path: Path) -> None:
    script = refinery.compile(recipe, dataset=tmp_path / "a b.jsonl")
    assert json.dumps(str(tmp_path / "a b.jsonl"))[1:-1] in script
