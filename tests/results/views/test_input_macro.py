"""The macro `input_samples`: samples of the input by their number, read by DuckDB alone."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.api import Run
from tests.runs import settings, write_lines

STEPS: list[Any] = [{"text_length_filter": {"min_len": 4}}]
FIRST: list[Any] = [{"text": "the first", "url": "http://a.example"}, "", "not json", {"text": "no"}, "   "]
SECOND: list[Any] = [{"text": "of the other file", "url": None}, "[1]", {"text": "twice", "big": 2**70}]
QUERY = "SELECT s._row, fate, sample ->> 'text', sample ->> 'url' FROM samples AS s JOIN input_samples() AS i USING (_row) ORDER BY 1"
ROWS = [
    (0, "kept", "the first", "http://a.example"),
    (2, "removed", "no", None),
    (3, "kept", "of the other file", None),
    (5, "kept", "twice", None),
]


def run_over(folder: Path, *paths: Path, **keys: Any) -> Run:
    keys = {"dataset_path": list(map(str, paths)), **keys}
    return refinery.run(settings(folder, STEPS, **keys))


def error_of(run: Run) -> str:
    with duckdb.connect(str(run.database), read_only=True) as con:
        with pytest.raises(duckdb.Error) as raised:
            con.execute("FROM input_samples()").fetchall()
    return str(raised.value)


def test_samples_of_json_lines_are_found_by_number(tmp_path: Path) -> None:
    paths = write_lines(tmp_path / "a [1].jsonl", FIRST), write_lines(tmp_path / "b.jsonl", SECOND)
    run = run_over(tmp_path, *paths)
    with duckdb.connect(str(run.database), read_only=True) as con:
        assert con.execute(QUERY).fetchall() == ROWS
        assert con.execute("SELECT sample ->> 'big' FROM input_samples() WHERE _row = 5").fetchall() == [(str(2**70),)]


def test_of_compressed_lines_in_one_of_many_shards(tmp_path: Path) -> None:
    lines = [json.dumps({"text": "x" * (5 + number % 50), "number": number}) for number in range(5000)]
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    run = run_over(tmp_path, path, shard_size=5_000)
    with duckdb.connect(str(run.database), read_only=True) as con:
        wrong = "SELECT count(*) FILTER ((sample ->> 'number')::BIGINT IS DISTINCT FROM _row), count(*) FROM input_samples()"
        assert con.execute(wrong).fetchall() == [(0, 5000)]


def test_of_parquet_files_with_types(tmp_path: Path) -> None:
    for name, numbers in (("a", [0, 1]), ("b", [2, 3, 4])):
        table = pa.table(
            {"text": [f"text {n}" for n in numbers], "n": pa.array(numbers, pa.uint8()), "odd name": numbers}
        )
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=2)
    run = run_over(tmp_path, tmp_path / "a.parquet", tmp_path / "b.parquet")
    with duckdb.connect(str(run.database), read_only=True) as con:
        query = 'SELECT _row, sample.n, sample."odd name", typeof(sample.n) FROM input_samples() ORDER BY _row'
        assert con.execute(query).fetchall() == [(n, n, n, "UTINYINT") for n in range(5)]


def test_of_csv(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('text,url\n"two\nlines, ""quoted""",http://a\nplain text,\n', "utf-8")
    run = run_over(tmp_path, tmp_path / "in.csv")
    with duckdb.connect(str(run.database), read_only=True) as con:
        rows = con.execute("SELECT _row, sample.text, sample.url FROM input_samples() ORDER BY _row").fetchall()
    assert rows == [(0, 'two\nlines, "quoted"', "http://a"), (1, "plain text", None)]


def test_a_sample_that_is_another_now_is_null(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"text": "one text"}, {"text": "another"}])
    run = run_over(tmp_path, path)
    copy = write_lines(tmp_path / "copy.jsonl", [{"text": "another"}, {"text": "another"}])
    with duckdb.connect(str(run.database), read_only=True) as con:
        query = f"SELECT _row, sample ->> 'text' FROM input_samples(files := ['{copy}']) ORDER BY 1"
        assert con.execute(query).fetchall() == [(0, None), (1, "another")]


def test_texts_of_a_file_that_has_changed_are_null_also_where_their_length_is_the_same(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"text": "one text"}, {"text": "another"}])
    run = run_over(tmp_path, path)
    write_lines(path, [{"text": "two text"}, {"text": "another"}])
    with duckdb.connect(str(run.database), read_only=True) as con:
        assert con.execute("SELECT _row, sample FROM input_samples() ORDER BY 1").fetchall() == [(0, None), (1, None)]


def test_a_file_that_was_moved_can_be_named(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"text": "one text"}])
    run = run_over(tmp_path, path)
    moved = path.rename(tmp_path / "moved.jsonl")
    assert "in.jsonl" in error_of(run)
    with duckdb.connect(str(run.database), read_only=True) as con:
        query = f"SELECT sample ->> 'text' FROM input_samples(files := ['{moved}'])"
        assert con.execute(query).fetchall() == [("one text",)]


def test_what_duckdb_does_not_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text as a file")
    path = write_lines(tmp_path / "in.jsonl", FIRST)
    assert "does not read (text)" in error_of(run_over(tmp_path, tmp_path / "a.txt"))
    chosen = run_over(
        tmp_path, path, dataset_path=None, dataset={"configs": [{"path": str(path)}], "max_sample_num": 2}
    )
    assert "a choice of the samples" in error_of(chosen)
    keys = settings(tmp_path, STEPS) | {"dataset_path": None}
    passed = refinery.run({name: value for name, value in keys.items() if value}, dataset=[{"text": "of Python"}])
    assert "passed in from Python; keep_fields" in error_of(passed)
