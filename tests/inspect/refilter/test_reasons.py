"""`refinery refilter` keeps the reasons of predicates that it did not compute again."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

import refinery
from refinery.inspect.refilter.refilter import refilter


def test_the_failed_terms_stay(tmp_path: Path) -> None:
    rows = [{"rating": 5, "text": "a text of words"}, {"rating": 1, "text": "b"}, {"rating": None, "text": "c"}]
    rows += [{"rating": 5, "text": "x text of words"}, {"rating": 6, "text": "a text"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    process = [{"sql_filter": {"where": "rating > 2 AND text LIKE 'a%'"}}, {"text_length_filter": {"min_len": 3}}]
    paths = {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "run" / "out.jsonl")}
    refinery.run({"process": process, **paths})
    again = refilter(tmp_path / "run", ["process.2.min_len=10"], work_dir=str(tmp_path / "again"))
    con = duckdb.connect(str(tmp_path / "again" / "refinery.duckdb"), read_only=True)
    with con:
        reasons = con.execute("SELECT _row, reason FROM ledger ORDER BY _row").fetchall()
    assert again is not None and reasons == [
        (1, "not kept by where: rating > 2"),
        (2, "rating is NULL: rating > 2"),
        (3, "not kept by where: text LIKE 'a%'"),
        (4, "text_len below min_len"),
    ]
