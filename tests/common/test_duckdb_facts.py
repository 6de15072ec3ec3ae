"""What refinery knows of DuckDB is true of the installed one: a test for each fact.

Facts about whole statements are tested where they are used: plans of prepared statements in tests/workers, the reasons
why functions are refused in tests/compiler and tests/recipe.
"""

from __future__ import annotations

import errno
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from refinery.common.duckdb_facts import messages, names, profile, settings
from tests.conftest import ROOT


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def failure(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Error:
    with pytest.raises(duckdb.Error) as caught:
        con.execute(sql).fetchall()
    return caught.value


# Settings


def test_the_installed_version_is_one_that_the_package_allows() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"duckdb>={'.'.join(map(str, settings.OLDEST))}" in dependencies
    assert tuple(map(int, duckdb.__version__.split(".")[:3])) >= settings.OLDEST


STATEMENTS = [value for value in vars(settings).values() if isinstance(value, str) and value.startswith("SET ")]


@pytest.mark.parametrize("statement", [*settings.CLOSED, *STATEMENTS, settings.PROFILING])
def test_every_setting_exists(con: duckdb.DuckDBPyConnection, statement: str) -> None:
    con.execute(statement).fetchall()


def test_a_closed_connection_reads_no_file_and_no_variable(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n1\n")
    assert con.execute(f"FROM '{tmp_path}/a.csv'").fetchall() == [(1,)]
    table = pa.table({"k": [1]})
    assert con.execute('SELECT k FROM "table"').fetchall() == [(table["k"][0].as_py(),)]
    for statement in (*settings.CLOSED, settings.NO_OTHER_FILES):
        con.execute(statement).fetchall()
    assert messages.file_out_of_reach(failure(con, f"FROM '{tmp_path}/a.csv'")) == f"{tmp_path}/a.csv"
    assert "does not exist" in str(failure(con, 'SELECT k FROM "table"'))


def test_a_locked_connection_keeps_its_settings(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(settings.LOCKED).fetchall()
    assert "locked" in str(failure(con, settings.ONE_THREAD))


def test_large_texts_are_passed_with_wide_offsets(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(settings.LARGE_TEXTS).fetchall()
    assert con.sql("SELECT 'a' AS x").to_arrow_table().schema.field("x").type == pa.large_string()


def test_functions_are_called_with_at_most_a_vector_of_rows(con: duckdb.DuckDBPyConnection) -> None:
    sizes: list[int] = []

    def length(texts: pa.ChunkedArray) -> pa.Array:
        sizes.append(len(texts))
        return pa.array([1] * len(texts), pa.int64())

    con.create_function("length_of", length, ["VARCHAR"], "BIGINT", type="arrow")
    con.execute("SELECT sum(length_of(CAST(range AS VARCHAR))) FROM range(10_000)").fetchall()
    assert max(sizes) == settings.VECTOR


def test_a_file_keeps_the_storage_that_older_versions_read(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for name, options in (("old", f"(STORAGE_VERSION '{settings.STORAGE}')"), ("new", "")):
        con.execute(f"ATTACH '{tmp_path}/{name}' AS {name} {options}").fetchall()
        con.execute(f"CREATE TABLE {name}.t AS SELECT 1 AS x").fetchall()
        con.execute(f"DETACH {name}").fetchall()
    # The eight bytes after the checksum and "DUCK" are the number of the storage: 64 since 0.10.
    assert (tmp_path / "old").read_bytes()[8:20] == b"DUCK" + (64).to_bytes(8, "little")
    assert (tmp_path / "new").read_bytes()[8:20] != (tmp_path / "old").read_bytes()[8:20]


# Messages


def test_a_path_that_is_no_table_is_a_file_out_of_reach(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(settings.NO_OTHER_FILES).fetchall()
    assert messages.file_out_of_reach(failure(con, "FROM read_text('a/b.txt')")) == "a/b.txt"
    assert messages.file_out_of_reach(failure(con, "FROM 'a/b'")) == "a/b"
    assert messages.file_out_of_reach(failure(con, "FROM missing")) is None


@pytest.mark.parametrize(
    "sql",
    ["SELECT xy FROM (VALUES (1)) t(xyz)", "SELECT t.x FROM (SELECT 1 AS x) a", "SELECT u.x FROM (SELECT 1) t(x)"],
)
def test_names_that_a_query_does_not_have(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    error = failure(con, sql)
    assert isinstance(error, duckdb.BinderException) and messages.is_unknown_name(error)
    assert not messages.is_unknown_name(failure(con, "SELECT lenth('a')"))


def test_names_that_duckdb_proposes(con: duckdb.DuckDBPyConnection) -> None:
    error = failure(con, "SELECT lenth('a')")
    assert messages.proposed_name(error) == "length"
    assert messages.binder_reason(error) == "Scalar Function with name lenth does not exist"
    assert messages.proposed_name(failure(con, "SELECT CAST('a' AS INTEGER)")) is None


@pytest.mark.parametrize("wanted", ["VARCHAR", "BOOLEAN"])
def test_types_that_coalesce_cannot_mix(con: duckdb.DuckDBPyConnection, wanted: str) -> None:
    error = failure(con, f"SELECT coalesce(x, CAST(NULL AS {wanted})) FROM (SELECT [1] AS x)")
    assert messages.mixed_types(error) == ("INTEGER[]", wanted)


def test_aggregates_beside_columns(con: duckdb.DuckDBPyConnection) -> None:
    assert messages.is_ungrouped(failure(con, "SELECT x, max(y) FROM (VALUES (1, 2)) t(x, y)"))


def test_files_whose_names_are_not_utf8(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    try:
        with open(path, "w") as file:
            file.write("k\n1\n")
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    assert messages.is_unnamed_file(failure(con, f"FROM read_csv('{tmp_path}/*')"))


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_a_full_disk(con: duckdb.DuckDBPyConnection, form: str) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    error = failure(con, f"COPY (FROM range(100_000)) TO '/dev/full' (FORMAT {form})")
    assert isinstance(error, duckdb.IOException) or messages.is_failed_write(error)
    assert messages.system_error(error).errno == errno.ENOSPC


def test_a_full_disk_in_words() -> None:
    """The form of the message for spilled data, which needs a disk that is full."""
    error = messages.system_error(
        duckdb.IOException(f"Could not write x: because of error: {os.strerror(errno.ENOSPC)}")
    )
    assert error.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT CAST(v AS INTEGER) FROM (VALUES ('x')) t(v)",
            "Conversion Error: Could not convert string 'x' to INT32",
        ),
        ("SELECT CAST('x' AS INTEGER)", "Conversion Error: Could not convert string 'x' to INT32"),
        ("SELECT error('own words')", "Invalid Input Error: own words"),
        ("SELECT broken('a')", "ValueError: own words"),
    ],
)
def test_the_reason_of_a_row(con: duckdb.DuckDBPyConnection, sql: str, reason: str) -> None:
    def broken(_: str) -> str:
        raise ValueError("own\nwords")

    con.create_function("broken", broken, ["VARCHAR"], "VARCHAR")
    assert messages.row_reason(failure(con, sql)) == reason


# Profile


def test_the_profile_names_the_columns_and_seconds_of_projections(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(settings.PROFILING).fetchall()
    con.execute("SELECT md5(x) AS digest, x FROM (SELECT CAST(range AS VARCHAR) AS x FROM range(200_000))").fetchall()
    plan = json.loads(con.get_profiling_information("json"))
    waiting, columns, seconds = list(profile.operators(plan)), set[str](), 0.0
    while waiting:
        operator = waiting.pop()
        waiting += profile.children(operator)
        columns |= profile.columns(operator)
        seconds += profile.seconds(operator)
    assert {"digest", "x"} <= columns and seconds > 0


# Names

# DuckDB knows them by other names than sqlglot, or as keywords only.
WORDS = {"current_localtime", "current_localtimestamp", "rand", "age_now"}
WORDS |= {"current_time", "current_timestamp", "localtime", "localtimestamp"}
# From 2.0.1 on, DuckDB calls functions of times with a zone consistent within a query, for the sake of the session's
# time zone. Every connection of refinery has UTC (CLOSED). `age` of one time is judged by its arguments.
OF_ZONE = """
function_name IN ('timezone', 'make_timestamptz')
OR len(list_filter(parameter_types, lambda kind: contains(kind, 'WITH TIME ZONE') OR kind = 'TIMESTAMPTZ_NS')) > 0
"""


def test_functions_that_duckdb_calls_unstable_are_listed(con: duckdb.DuckDBPyConnection) -> None:
    unstable = f"function_type = 'scalar' AND stability <> 'CONSISTENT' AND NOT ({OF_ZONE})"
    rows = con.execute(f"SELECT DISTINCT function_name, {unstable} FROM duckdb_functions()").fetchall()
    volatile = {name for name, is_unstable in rows if is_unstable}
    assert len(volatile) > 20 and volatile - {"error"} - names.UNSTABLE == set()
    assert names.UNSTABLE - {name for name, _ in rows} - WORDS == set()


def test_functions_that_call_an_aggregate_by_name(con: duckdb.DuckDBPyConnection) -> None:
    for name in names.BY_NAME:
        assert con.execute(f"SELECT {name}([1, 2], 'sum')").fetchall() == [(3,)]


def test_reading_functions_exist(con: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'"
    assert names.READERS - {name for (name,) in con.execute(query).fetchall()} == set()


def test_functions_that_return_times_of_files(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n1\n")
    with_times = set()
    for name in names.READERS & {"glob", "read_blob", "read_csv", "read_text"}:
        columns = [column for column, *_ in con.execute(f"DESCRIBE FROM {name}('{tmp_path}/a.csv')").fetchall()]
        if "last_modified" in columns:
            with_times.add(name)
    assert with_times == names.WITH_TIMES


def test_every_reserved_word_is_listed(con: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    assert {word for (word,) in con.execute(query).fetchall()} - names.KEYWORDS == set()


def test_every_type_that_is_proposed_exists(con: duckdb.DuckDBPyConnection) -> None:
    for kind in names.TYPES:
        con.execute(f"SELECT TRY_CAST('{{}}'::JSON AS {kind})").fetchall()


def test_schemas_that_describe_the_session(con: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT schema_name, database_name FROM duckdb_schemas()"
    assert {name for row in con.execute(query).fetchall() for name in row} == names.OF_DUCKDB
