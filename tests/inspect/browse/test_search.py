"""Search in the input: it finds what is there, says how much it has searched, and refuses a changed input."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.common.fields import field_name
from refinery.errors import DataError
from refinery.inspect.browse import search as module
from refinery.inspect.browse.conditions import WHOLE, SampleCondition
from refinery.inspect.browse.input_rows import Excerpt, InputRows
from refinery.inspect.browse.search import Search, SearchProgress
from refinery.results.open_tables import open_tables
from tests.inspect.browse.conftest import SAMPLES
from tests.runs import settings

ALL = np.arange(len(SAMPLES))


@pytest.fixture(scope="module")
def con(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_tables(folder / "run" / "refinery.duckdb") as con:
        yield con


@pytest.fixture(scope="module")
def input_rows(folder: Path) -> Iterator[InputRows]:
    rows = InputRows(folder / "run")
    yield rows
    rows.close()


def searched(rows: InputRows, con: duckdb.DuckDBPyConnection, *conditions: SampleCondition) -> SearchProgress:
    return Search(rows, con.cursor(), conditions, ALL).advance(60)


def rows_with(test: Any) -> list[int]:
    return [row for row, sample in enumerate(SAMPLES) if isinstance(sample, dict) and test(sample)]


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        (SampleCondition("text", "contains", "SHORT"), lambda s: "short" in s["text"].lower()),
        (
            SampleCondition("text", "contains", "more document"),
            lambda s: "more" in s["text"] and "document" in s["text"],
        ),
        (SampleCondition("text", "contains", '"same text"'), lambda s: "same text" in s["text"]),
        (SampleCondition("maybe", "contains", "ünder"), lambda s: "maybe" in s),
        (SampleCondition("maybe", "missing"), lambda s: "maybe" not in s),
        (SampleCondition('"my field.x"', "is", "it's"), lambda s: True),
        (SampleCondition("id", "is", str(2**60 + 6)), lambda s: s["id"] == 2**60 + 6),
        (SampleCondition("meta.url", "host", "Example.org"), lambda s: "example.org" in s["meta"]["url"]),
        (SampleCondition("meta.url", "host", "a.example.org"), lambda s: "@a." in s["meta"]["url"]),
        (SampleCondition("meta.url", "host", "ample.org"), lambda s: False),
        (SampleCondition("text.x", "missing"), lambda s: True),
    ],
)
def test_conditions(
    input_rows: InputRows, con: duckdb.DuckDBPyConnection, condition: SampleCondition, test: Any
) -> None:
    progress = searched(input_rows, con, condition)
    assert progress.rows.tolist() == rows_with(test)
    assert progress.done and progress.searched == progress.candidates == len(SAMPLES)


def test_conditions_hold_together(input_rows: InputRows, con: duckdb.DuckDBPyConnection) -> None:
    both = SampleCondition("text", "contains", "write"), SampleCondition("maybe", "missing")
    expected = rows_with(lambda s: "write" in s["text"] and "maybe" not in s)
    assert expected and searched(input_rows, con, *both).rows.tolist() == expected


def test_words_are_found_in_lines_that_could_not_be_read(input_rows: InputRows, con: duckdb.DuckDBPyConnection) -> None:
    for field in ("text", WHOLE):
        assert searched(input_rows, con, SampleCondition(field, "contains", "broken needle")).rows.tolist() == [40, 81]


def test_only_candidates_are_searched(input_rows: InputRows, con: duckdb.DuckDBPyConnection) -> None:
    some = np.array([3, 21, 40, 71, 101])
    progress = Search(input_rows, con.cursor(), [SampleCondition("text", "contains", "same")], some).advance(60)
    assert progress.rows.tolist() == [21, 71, 101] and progress.searched == progress.candidates == 5


def test_a_search_goes_on_where_it_stopped(
    input_rows: InputRows, con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 1000)
    search = Search(input_rows, con.cursor(), [SampleCondition("text", "contains", "e")], ALL)
    seen = [search.advance(0)]
    while not seen[-1].done:
        seen.append(search.advance(0))
    assert len(seen) > 3
    numbers = [progress.searched for progress in seen]
    assert numbers == sorted(numbers) and numbers[-1] == len(SAMPLES)
    for progress in seen:  # what it has searched is complete
        assert progress.rows[progress.rows < progress.searched].tolist() == [
            row for row in rows_with(lambda s: "e" in s["text"].lower()) + [40, 81] if row < progress.searched
        ] or set(progress.rows) >= {40, 81}
    assert seen[-1].rows.tolist() == sorted(rows_with(lambda s: "e" in s["text"].lower()) + [40, 81])


def test_tables_are_searched_as_lines_are(tmp_path: Path) -> None:
    samples = [sample for sample in SAMPLES if isinstance(sample, dict)]
    table = pa.Table.from_pylist([{"maybe": None, **sample} for sample in samples])
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=30)
    refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 10}}], dataset_path=tmp_path / "in.parquet"))
    rows = InputRows(tmp_path / "run")
    with open_tables(tmp_path / "run" / "refinery.duckdb") as con:
        for condition, test in [
            (SampleCondition("text", "contains", "same text"), lambda s: "same text" in s["text"]),
            (SampleCondition("meta.url", "host", "other.net"), lambda s: "other.net" in s["meta"]["url"]),
            (SampleCondition("meta.none", "missing"), lambda s: True),
            (SampleCondition("none", "missing"), lambda s: True),
            (SampleCondition("id", "is", str(2**60 + 6)), lambda s: s["id"] == 2**60 + 6),
            (SampleCondition(WHOLE, "contains", "needle"), lambda s: "maybe" in s),
        ]:
            expected = [row for row, sample in enumerate(samples) if test(sample)]
            found = Search(rows, con.cursor(), [condition], np.arange(len(samples))).advance(60)
            assert found.rows.tolist() == expected, condition
    rows.close()


def test_columns_may_have_any_names(tmp_path: Path) -> None:
    names = ["text", "Text", "_at", "_line", "_row", 'a"b', "samples", "select", "column_0"]
    columns = [pa.array([f"a word of {name} {row}" for row in range(5)]) for name in names]
    columns += [pa.array([b"\xff\x00"] * 5), pa.array([[{"Key": row, "key": "x"}] for row in range(5)])]
    pq.write_table(pa.Table.from_arrays(columns, [*names, "raw", "list"]), tmp_path / "in.parquet")
    refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 1}}], dataset_path=tmp_path / "in.parquet"))
    rows = InputRows(tmp_path / "run")
    with open_tables(tmp_path / "run" / "refinery.duckdb") as con:
        for name in names:
            field = field_name((name,))
            for condition in (
                SampleCondition(field, "is", f"a word of {name} 3"),
                SampleCondition(WHOLE, "contains", '"text 3"'),
            ):
                assert Search(rows, con.cursor(), [condition], np.arange(5)).advance(60).rows.tolist() == [3], condition
    rows.close()


def test_excerpts_have_the_word(input_rows: InputRows, folder: Path) -> None:
    [one, other] = input_rows.excerpts([100, 3], None, ["me3@EXAMPLE"])
    assert (one.row, one.text, one.place) == (3, SAMPLES[3]["text"], f"{folder / 'in' / chr(97)} 'first'.jsonl:4")  # type: ignore[index]
    assert other.row == 100 and other.text == "Short 100" and other.place.endswith("b.jsonl:31")
    assert [excerpt.text for excerpt in input_rows.excerpts([4, 5, 40], "maybe")] == [None, "needle Ünder"]


def test_an_excerpt_begins_near_the_word() -> None:
    lines = "first\nsecond\nthird with a word\nlast"
    assert Excerpt.of(1, "place", lines, ["WORD"]).text == "third with a word\nlast"
    assert Excerpt.of(1, "place", lines, ["second"]).text == lines
    long = "x" * 1000 + " word " + "y" * 1000
    excerpt = Excerpt.of(1, "place", long, ["none", "word"])
    assert excerpt.text == long[excerpt.start : excerpt.start + 300] and 0 < 1001 - excerpt.start < 50
    assert Excerpt.of(1, "place", None, ["word"]).text is None
    assert Excerpt.of(1, "place", {"a": 1}, []).text == '{"a": 1}'


def test_a_changed_input_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder / "in", copy / "in")
    refinery.run(settings(copy, [{"text_length_filter": {"min_len": 10}}], dataset_path=copy / "in"))
    rows = InputRows(copy / "run")
    assert rows.excerpts([1])
    with (copy / "in" / "b.jsonl").open("a") as file:
        file.write("\n")
    with open_tables(copy / "run" / "refinery.duckdb") as con:
        search = Search(rows, con.cursor(), [SampleCondition("text", "contains", "x")], ALL)
        for attempt in (lambda: rows.excerpts([1]), lambda: search.advance(1)):
            with pytest.raises(DataError, match="changed since the run"):
                attempt()
    os.remove(copy / "in" / "b.jsonl")
    with pytest.raises(DataError, match="b.jsonl"):
        rows.excerpts([1])
    rows.close()


@pytest.mark.parametrize(("kind", "value", "message"), [("like", "x", "not by 'like'"), ("contains", " \t", "no word")])
def test_conditions_without_a_meaning_are_refused(kind: str, value: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SampleCondition("text", kind, value)
