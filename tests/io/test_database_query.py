"""Rows of a query over a database: in one order, with the types of the database, and never those of an earlier state of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.execution.open import open_recipe
from refinery.io.database_query import rows_of_query
from tests.runs import exported

STEPS = [{"text_length_filter": {"min_len": 0}}]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "docs.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE docs AS SELECT 'text ' || i AS text, i AS n, i % 3 AS third FROM range(900) t(i)")
    return path


def recipe(database: Path, query: str, **more: Any) -> dict[str, Any]:
    source = {"type": "sql", "database": str(database), "query": query}
    places = {"export_path": str(database.parent / "run" / "out.jsonl"), "np": 2}
    return {"dataset": source, "process": STEPS, **places, **more}


@pytest.mark.parametrize("size", [1 << 30, 2_000])
def test_rows_are_samples(database: Path, size: int) -> None:
    run = refinery.run(recipe(database, "SELECT n, text FROM docs WHERE n < 500 ORDER BY third", shard_size=size))
    wanted = sorted(range(500), key=lambda n: (n % 3, n))
    assert exported(run) == [{"n": n, "text": f"text {n}"} for n in wanted]
    assert (size > 2_000) == (run.sql("SELECT count(*) FROM shards").fetchall() == [(1,)])


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("SELECT third, n FROM docs", [(0, 0), (0, 3)]),
        ("FROM docs SELECT third, n", [(0, 0), (0, 3)]),
        ("SELECT third, n FROM docs ORDER BY third DESC", [(2, 2), (2, 5)]),
        ("SELECT third, n FROM docs ORDER BY third DESC LIMIT 2", [(2, 2), (2, 5)]),
        ("SELECT third, n FROM docs LIMIT 2 OFFSET 1", [(0, 3), (0, 6)]),
        ("SELECT third, max(n) FROM docs GROUP BY third ORDER BY 2 DESC", [(2, 899), (1, 898)]),
        ("SELECT third, n FROM docs UNION ALL SELECT 0, -1", [(0, -1), (0, 0)]),
        ("WITH a AS (SELECT third, n FROM docs) SELECT * FROM a ORDER BY n % 10 DESC, 1", [(0, 9), (0, 39)]),
    ],
)
def test_every_query_has_one_order(database: Path, query: str, first: list[tuple[int, int]]) -> None:
    table = rows_of_query(str(database), query)
    assert [tuple(row.values()) for row in table.slice(0, 2).to_pylist()] == first


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT random() FROM docs", "the query calls random, whose value differs each time"),
        ("SELECT n, now() FROM docs", "the query calls now, whose"),
        ("SELECT current_date", "the query calls current_date, whose"),
        ("SELECT * FROM docs USING SAMPLE 5", "the query draws a sample"),
        ("DROP TABLE docs", "the query cannot be read"),
        ("SELECT 1; SELECT 2", "it must be one SELECT"),
        ("SELEC", "the query cannot be read: syntax error"),
        ("SELECT nope FROM docs", 'column "nope" not found'),
        ("SELECT * FROM 'other.csv'", "other.csv"),
        ("SELECT * FROM read_text('/etc/hostname')", "file system operations are disabled"),
    ],
)
def test_what_cannot_be_a_query(database: Path, query: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        rows_of_query(str(database), query)
    assert said in str(error.value) and str(database) in str(error.value)


def test_a_query_is_checked_before_the_run(database: Path) -> None:
    with pytest.raises((DataError, RecipeError), match='column "nope" not found'):
        refinery.run(recipe(database, "SELECT nope FROM docs"))


def test_a_changed_database_is_read_anew_and_an_equal_one_is_not(database: Path) -> None:
    query = "SELECT text FROM docs WHERE n < 5"
    for reused in (0, 1):
        assert refinery.run(recipe(database, query)).sql("SELECT reused FROM shards").fetchall() == [(reused,)]
    with duckdb.connect(str(database)) as con:
        con.execute("UPDATE docs SET text = 'new' WHERE n = 3")
    changed = refinery.run(recipe(database, query))
    assert [row["text"] for row in exported(changed)] == ["new", "text 0", "text 1", "text 2", "text 4"]
    with duckdb.connect(str(database)) as con:  # of other rows
        con.execute("UPDATE docs SET text = 'other' WHERE n = 300")
    same = refinery.run(recipe(database, query))
    assert same.sql("SELECT reused FROM shards").fetchall() == [(1,)]


def test_no_rows_and_no_texts(database: Path) -> None:
    run = refinery.run(recipe(database, "SELECT text FROM docs WHERE n < 0"))
    assert run.counts.read == 0
    with pytest.raises(RecipeError, match="text"):
        refinery.run(recipe(database, "SELECT n FROM docs"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"type": "sql", "database": "x.duckdb"}, "a source of type sql has no query"),
        ({"type": "sql", "query": "SELECT 1"}, "a source of type sql has no database"),
        ({"type": "sql", "database": "x", "querry": "y"}, "has no key 'querry'. Did you mean 'query'?"),
        ({"type": "sql", "database": "x", "query": "y", "path": "z"}, "has no key 'path'"),
        ({"type": "local", "path": "x", "query": "y"}, "a local source has no key 'query'"),
        ({"type": "sql", "database": "postgres://me:secret@host/db", "query": "y"}, "holds credentials"),
    ],
)
def test_wrong_sources_are_refused(tmp_path: Path, source: dict[str, str], said: str) -> None:
    with pytest.raises(RecipeError) as error:
        refinery.run({"dataset": source, "export_path": str(tmp_path / "o.jsonl"), "process": STEPS})
    assert said in str(error.value) and "secret" not in str(error.value)


def test_the_recipe_of_the_run_reads_the_same(database: Path) -> None:
    run = refinery.run(recipe(database, "SELECT text FROM docs WHERE n < 5"))
    stored, _ = open_recipe(run.work_dir / ".refinery" / "recipe.yaml")
    assert stored.inputs[0].options == (("query", "SELECT text FROM docs WHERE n < 5"),)


def _installed(extension: str) -> bool:
    rows = duckdb.execute("SELECT installed FROM duckdb_extensions() WHERE extension_name LIKE ? || '%'", [extension])
    return any(installed for (installed,) in rows.fetchall())


def test_sqlite(tmp_path: Path) -> None:
    """Where DuckDB's extension is installed the rows, elsewhere the cure."""
    path = tmp_path / "docs.sqlite"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE docs (text TEXT, n INTEGER)")
        con.execute("INSERT INTO docs VALUES ('b', 1), ('a', 2)")
    con.close()
    if _installed("sqlite"):
        assert rows_of_query(str(path), "SELECT text FROM docs").to_pylist() == [{"text": "a"}, {"text": "b"}]
    else:
        with pytest.raises(DataError, match="extension sqlite is not installed.*INSTALL sqlite"):
            rows_of_query(str(path), "SELECT text FROM docs")


@pytest.mark.parametrize("content", [b"", b"text", b"PAR1" * 9])
def test_files_that_are_no_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(DataError, match="is neither a DuckDB nor an SQLite database"):
        rows_of_query(str(tmp_path / "x.db"), "SELECT 1")
    with pytest.raises(DataError, match="No such file"):
        rows_of_query(str(tmp_path / "y.db"), "SELECT 1")
