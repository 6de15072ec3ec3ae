"""Tables of many samples are made for some shards after others; they are those of few samples, to the row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.results import database, tables
from refinery.results.database import Database
from tests.runs import content, settings, texts, write_lines
from tests.sampling import named

FILTERS: list[Any] = [
    {"whitespace_normalization_mapper": {}},
    {"text_length_filter": {"min_len": 8}},
    {"words_num_filter": {"max_num": 12}},
]
RECIPES: dict[str, list[Any]] = {
    "one stage": FILTERS,
    "samples go": [*FILTERS, {"document_deduplicator": {}}, {"alphanumeric_filter": {"min_ratio": 0.5}}],
    "the last step is a deduplicator": [*FILTERS, {"document_simhash_deduplicator": {"tokenization": "space"}}],
    "units go": [{"text_length_filter": {"min_len": 8}}, {"document_line_deduplicator": {}}, *FILTERS],
}


def samples() -> list[dict[str, Any]]:
    """Some are too short, some equal, and one is nothing that can be read."""
    found = texts(" ".join(["word"] * (i % 17) + [f"text {i % 40}\nline {i % 60}"]) for i in range(150))
    found[77]["text"] = None
    return found


@pytest.mark.parametrize("name", named({name: name for name in RECIPES}, "one stage", "units go"))
def test_pieces_leave_the_same_tables(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.jsonl", samples())
    keys = {"shard_size": 1_400, "open_tracer": True, "trace_num": 20, "use_cache": False}
    few = refinery.run(settings(tmp_path, RECIPES[name], work_dir=tmp_path / "few", **keys))
    expected, lines = content(few), few.outputs[0].read_bytes()
    for module in (tables, database):
        monkeypatch.setattr(module, "MANY", 40)
    statements: list[str] = []
    ask = Database.rows
    monkeypatch.setattr(Database, "rows", lambda self, sql: (statements.append(sql), ask(self, sql))[1])
    many = refinery.run(settings(tmp_path, RECIPES[name], work_dir=tmp_path / "many", **keys))
    assert content(many) == expected and many.outputs[0].read_bytes() == lines
    assert expected["ledger"] and len(expected["shards"]) > 8
    pieces = [sql for sql in statements if "INSERT INTO facts" in sql]
    assert len(pieces) >= 2 if name != "one stage" else any("TEMP VIEW facts" in sql for sql in statements)


def test_a_statement_that_needs_more_memory_is_given_it(tmp_path: Path) -> None:
    with Database(tmp_path / "tables.duckdb") as db:
        db.run("SET memory_limit = '2MB'")
        db.run("SET max_temp_directory_size = '0KB'")
        query = "SELECT count(*) FROM (SELECT DISTINCT hash(i) FROM range(400_000) t(i))"
        with pytest.raises(duckdb.OutOfMemoryException):
            db.con.execute(query).fetchall()
        assert db.count(query) == 400_000
