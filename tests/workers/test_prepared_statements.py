"""Statements that are planned once and run over one batch after another."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa
import pytest

from refinery.workers.program_connection import PreparedStatements

DOUBLED = "SELECT _i, x || x AS y FROM batch"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("PRAGMA enable_profiling = 'no_output'").fetchall()
    yield connection
    connection.close()


def batch(*texts: str, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"_i": pa.array(range(len(texts)), pa.int64()), "x": pa.array(texts, kind or pa.string())})


def test_each_run_reads_its_own_batch(con: duckdb.DuckDBPyConnection) -> None:
    statements = PreparedStatements(con)
    for texts in (["a", "b"], [], ["c"], ["d" * 5000] * 3000):
        done, profile = statements.run(DOUBLED, batch(*texts))
        assert done["y"].to_pylist() == [text * 2 for text in texts]
        assert json.loads(profile)["operator"]


@pytest.mark.parametrize("action", ["error", "always"])
def test_a_program_may_make_errors_of_warnings(
    con: duckdb.DuckDBPyConnection, action: Literal["error", "always"], recwarn: pytest.WarningsRecorder
) -> None:
    warnings.simplefilter(action, UserWarning)
    assert PreparedStatements(con).run(DOUBLED, batch("a"))[0].num_rows == 1
    assert not recwarn.list


def test_a_statement_is_planned_once(con: duckdb.DuckDBPyConnection) -> None:
    statements = PreparedStatements(con)
    for _ in range(3):
        statements.run(DOUBLED, batch("a"))
        statements.run("SELECT count(*) AS n FROM batch", batch("a"))
    assert con.execute("SELECT count(*) FROM duckdb_prepared_statements()").fetchall() == [(2,)]


def test_a_run_does_not_plan(con: duckdb.DuckDBPyConnection) -> None:
    statements = PreparedStatements(con)
    for _ in range(3):
        for sql in (DOUBLED, f"WITH doubled AS ({DOUBLED}) SELECT y FROM doubled"):
            profile = json.loads(statements.run(sql, batch("a"))[1])
            assert profile["operator"] and "projection_pullup" not in profile["optimizer"]


@pytest.mark.parametrize("source", ["(VALUES ('a', 1), ('b', 2), ('b', 3))", "'list.parquet'", "'list.csv'"])
def test_joins_with_one_batch_after_another(
    con: duckdb.DuckDBPyConnection, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No filter that DuckDB finds for the rows of one batch stays for the next; plans that read files are not reused."""
    monkeypatch.chdir(tmp_path)
    for path in ("list.parquet", "list.csv"):
        con.execute(f"COPY (FROM (VALUES ('a', 1), ('b', 2), ('b', 3)) AS l(word, n)) TO '{path}'").fetchall()
    statements = PreparedStatements(con)
    sql = f"""WITH listed AS NOT MATERIALIZED (SELECT * FROM {source} AS l(word, n)), named AS (SELECT _i, x FROM batch)
        SELECT _i, x IN (SELECT word FROM listed) AS known, (SELECT max(n) FROM listed WHERE word = x) AS most
        FROM named ORDER BY _i"""
    numbers = {"a": 1, "b": 3}
    for texts in (["a", "c"], ["c"], [], ["b", "a", "z"] * 3000, ["z"], ["b"]):
        done, profile = statements.run(sql, batch(*texts))
        assert source.startswith("'") or "projection_pullup" not in json.loads(profile)["optimizer"]
        assert done["known"].to_pylist() == [text in numbers for text in texts]
        assert done["most"].to_pylist() == [numbers.get(text) for text in texts]


def test_columns_of_other_types_make_other_statements(con: duckdb.DuckDBPyConnection) -> None:
    statements, sql = PreparedStatements(con), "SELECT typeof(x) AS t, x FROM batch"
    for kind, expected in ((pa.string(), "VARCHAR"), (pa.large_string(), "VARCHAR"), (pa.binary(), "BLOB")):
        for texts in (["a"], ["b"]):
            done, _ = statements.run(sql, batch(*texts, kind=kind))
            assert done["t"].to_pylist() == [expected]
            assert [str(value) for value in done["x"]] == [str(value) for value in batch(*texts, kind=kind)["x"]]
    wider = batch("c").append_column("z", pa.array([7]))
    assert statements.run("SELECT z FROM batch", wider)[0]["z"].to_pylist() == [7]
    with pytest.raises(duckdb.BinderException):
        statements.run("SELECT z FROM batch", batch("c"))


def test_a_statement_that_has_failed_runs_again(con: duckdb.DuckDBPyConnection) -> None:
    statements, sql = PreparedStatements(con), "SELECT CAST(x AS INTEGER) AS n FROM batch"
    for _ in range(2):
        with pytest.raises(duckdb.ConversionException):
            statements.run(sql, batch("1", "one"))
        assert statements.run(sql, batch("1", "2"))[0]["n"].to_pylist() == [1, 2]


def test_no_batch_is_held_after_its_run(con: duckdb.DuckDBPyConnection) -> None:
    statements = PreparedStatements(con)
    before = pa.total_allocated_bytes()
    table = batch(*(["x" * 1000] * 1000))
    done, _ = statements.run("SELECT count(*) AS n FROM batch", table)
    del table
    assert done["n"].to_pylist() == [1000]
    assert pa.total_allocated_bytes() - before < 500_000
