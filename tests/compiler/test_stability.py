"""Chance, the clock and the session in SQL: refused wherever they stand, and whatever DuckDB has of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.common.duckdb_facts.names import PURE, READERS, UNSTABLE
from refinery.compiler.stability import unstable
from refinery.compiler.user_names import _MULTIPLYING
from refinery.errors import RecipeError
from refinery.recipe.sql import parse
from tests.compiled import run_samples
from tests.runs import refine, rows, settings, texts, write_lines

SAMPLE = {"text": "a text", "n": 5}
# Words of sqlglot, or keywords, that no call of a function can have.
_ONLY_HERE = {"current_localtime", "current_localtimestamp", "rand", "age_now"}


def test_macros_that_use_an_unstable_function_are_all_known() -> None:
    """At any depth: what a macro is defined by is judged as a person's SQL is."""
    with duckdb.connect() as con:
        query = "SELECT DISTINCT function_name, macro_definition FROM duckdb_functions() WHERE function_type = 'macro'"
        macros = [(name, text) for name, text in con.execute(query).fetchall() if text]
    assert len(macros) > 50
    assert {name for name, text in macros if _is_unstable(text)} - UNSTABLE - _MULTIPLYING == set()


def _is_unstable(definition: str) -> bool:
    tree = parse(f"SELECT {definition}").expressions[0]
    tables = [name for name in (*duckdb_tables(definition),) if name not in READERS | PURE]
    return bool(tables) or "another result" in (unstable(tree) or "")


def duckdb_tables(definition: str) -> list[str]:
    """Functions of DuckDB about its session that a macro reads from."""
    return [name for name in ("pragma_database_size", "duckdb_settings", "duckdb_secrets") if name in definition]


@pytest.mark.parametrize("name", sorted(UNSTABLE - _ONLY_HERE))
def test_unstable_functions_are_refused(name: str) -> None:
    for call in (
        f"{name}() IS NOT NULL",
        f"main.{name}() IS NULL",
        f'system.main."{name}"() = 1',
        f"text.{name}() = 1",
    ):
        assert "another result at every run" in (unstable(parse(f"n = 1 OR {call}")) or ""), call


def refusal(step: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        run_samples([SAMPLE], [step], columns={"text": "VARCHAR", "n": "BIGINT"})
    return str(caught.value)


EXPRESSIONS = [
    "n IN (SELECT k FROM 'k.csv' USING SAMPLE 3)",
    "n IN (SELECT k FROM 'k.csv' TABLESAMPLE 10%)",
    "n IN (SELECT k FROM 'k.csv' x TABLESAMPLE reservoir(3 ROWS) REPEATABLE (1), 'l.csv')",
    "n IN (SELECT k FROM (SELECT k FROM (FROM 'k.csv' USING SAMPLE 50%)))",
    "n IN (WITH c AS (FROM 'k.csv' USING SAMPLE 1) SELECT k FROM c)",
    "n IN (SELECT k FROM 'k.csv' ORDER BY random() LIMIT 1)",
    "n IN (SELECT k FROM 'k.csv' WHERE k > random() UNION SELECT 1)",
    "(SELECT reservoir_quantile(k, 0.5) FROM 'k.csv') = n",
    "list_transform([n], lambda x: list_filter([x], lambda y: y > random()))[1] IS NULL",
    "[x + random() for x in [n]] IS NULL",
    "CASE WHEN n > 1 THEN TRUE ELSE (SELECT now() IS NULL) END",
    "current_date IS NULL",
    "CURRENT_TIMESTAMP > '2020-01-01'",
    "(SELECT localtimestamp) IS NULL",
    "'s'.nextval() = 1",
    'n = 1 AND "random"() < 1',
    "map {'a': uuid()}['a'] IS NULL",
    "{'a': today()}.a IS NULL",
    "EXISTS (SELECT 1 FROM range(3) t(i) WHERE i > random() * 3)",
]


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_chance_is_refused_wherever_it_stands(where: str) -> None:
    assert "another result at every run" in refusal({"sql_filter": {"where": where}})


@pytest.mark.parametrize(
    "step",
    [
        {"sql_mapper": {"text": "text || random()"}},
        {"document_deduplicator": {"keep": "random() desc"}},
        {"document_deduplicator": {"keep": "n, (SELECT max(k) FROM 'k.csv' USING SAMPLE 1) desc"}},
        {"key_deduplicator": {"key": "n + random()"}},
    ],
)
def test_every_parameter_that_is_sql_is_looked_through(tmp_path: Path, step: Any) -> None:
    write_lines(tmp_path / "in.jsonl", [SAMPLE])
    with pytest.raises(RecipeError, match="another result at every run"):
        refinery.run(settings(tmp_path, [step]))


def test_groups_and_operators_of_a_person_are_looked_through(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    grouped = settings(tmp_path, [{"text_length_filter": {}}], stat_summary={"group_by": {"g": "uuid()"}})
    with pytest.raises(RecipeError, match="another result at every run"):
        refinery.run(grouped)
    (tmp_path / "ops" / "filters").mkdir(parents=True)
    header = "/*---\ndoc: A test.\nversion: 1\nexamples: []\n---*/\n"
    for body, reason in {
        "SELECT random() < 1 AS keep": "another result",
        "SELECT {{ text }} IN (SELECT t FROM 'k.csv' USING SAMPLE 1) AS keep": "another result",
        "SELECT t = {{ text }} AS keep FROM 'k.csv'": "its body has FROM",
        "SELECT {{ text }} = 'a' AS keep LIMIT 1": "its body has LIMIT",
        "SELECT {{ text }} IN (SELECT _line FROM batch) AS keep": "no table 'batch'",
    }.items():
        (tmp_path / "ops" / "filters" / "own_filter.sql").write_text(header + body)
        with pytest.raises(RecipeError, match=reason):
            refinery.run(settings(tmp_path, [{"own_filter": None}], operators=[str(tmp_path / "ops")]))


def test_a_time_is_the_same_on_every_machine(tmp_path: Path) -> None:
    """The zone of the machine decides nothing."""
    code = (
        "import refinery, sys; run = refinery.run({'dataset_path': 'in.jsonl', 'export_path': 'out.jsonl', "
        "'process': [{'sql_mapper': {'text': \"epoch('2020-06-01 12:00'::TIMESTAMPTZ)::VARCHAR\"}}]})"
    )
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "TZ": "Asia/Tokyo"}, check=True, capture_output=True)
    assert (tmp_path / "out.jsonl").read_text() == '{"id": 0, "text": "1591012800.0"}\n'


def test_the_first_row_of_a_file_is_always_the_same(tmp_path: Path) -> None:
    """However many threads DuckDB may use: the file is read by one."""
    rows = "".join(f"{k}\n" for k in range(300_000, 0, -1))
    (tmp_path / "k.csv").write_text("k\n" + rows)
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    path = tmp_path / "k.csv"
    first = f"(SELECT k FROM (SELECT k % 97 AS k, count(*) FROM '{path}' GROUP BY 1) LIMIT 1)"
    step = {"sql_mapper": {"text": f"{first} || ' ' || (SELECT any_value(k) || ' ' || first(k) FROM '{path}')"}}
    found = set()
    for number, threads in enumerate((1, 4)):
        places = {"work_dir": tmp_path / str(number), "export_path": tmp_path / str(number) / "out.jsonl"}
        found.add(refinery.run(settings(tmp_path, [step], threads=threads, **places)).outputs[0].read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(last_modified) FROM read_text('a.txt')",
        "SELECT max(t.\"LAST_MODIFIED\") FROM read_blob('a.txt') t",
        "SELECT * FROM read_text('a.txt')",
        "SELECT t.* EXCLUDE (content) FROM read_text('a.txt') t",
        "FROM read_text('a.txt')",
        "SELECT COLUMNS('last.*') FROM read_text('a.txt')",
        "SELECT t::VARCHAR FROM read_text('a.txt') t",
        "SELECT read_text::VARCHAR FROM read_text('a.txt')",
        "SELECT d FROM read_text('a.txt') t(a, b, c, d)",
        "SELECT content FROM read_text('a.txt') ORDER BY last_modified LIMIT 1",
        "SELECT content FROM range(2), read_text('a.txt')",
        "SELECT #4 FROM read_text('a.txt')",
        "SELECT max(x) FROM (FROM read_text('a.txt')) t(a, b, c, x)",
        "WITH t AS (FROM read_text('a.txt')) SELECT content FROM t",
        "SELECT v FROM (SELECT 1) UNION ALL SELECT v FROM read_text('a.txt') UNPIVOT (v FOR a IN (last_modified))",
    ],
)
def test_times_of_files_are_refused(query: str) -> None:
    assert "last_modified is a clock" in refusal({"sql_filter": {"where": f"text = ({query})::VARCHAR"}})


def test_what_files_hold_and_are_called_is_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a text")
    file = str(tmp_path / "a.txt")
    queries = (
        f"SELECT content FROM read_text('{file}')",
        f"SELECT CASE WHEN size = 6 AND t.filename LIKE '%a.txt' THEN 'a text' END FROM read_text('{file}') t WHERE size > 5",
        f"WITH t AS (SELECT content AS c FROM read_blob('{file}')) SELECT max(decode(c)) FROM t",
        f"SELECT CASE count(*) WHEN 1 THEN 'a text' END FROM read_text('{file}')",
        f"SELECT CASE count(*) WHEN 1 THEN 'a text' END FROM glob('{file}')",
    )
    run = refine(tmp_path, [SAMPLE], [{"sql_filter": {"where": f"text = ({query})"}} for query in queries])
    assert rows(run, "ledger", "step, reason") == [] and run.counts.kept == 1


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("list_aggregate([n], 'reservoir_quantile', 0.5) = 1", "another result at every run"),
        ("[n].list_aggr('Reservoir_Quantile', 0.5) = 1", "another result at every run"),
        ("array_aggregate([n], lower('SUM')) = 1", "name is computed"),
        ("aggregate([n], text) = 1", "name is computed"),
        ("current_user = 'duckdb'", "another result at every run"),
        ("session_user = 'duckdb'", "another result at every run"),
        ("has_table_privilege('a', 'select')", "another result at every run"),
    ],
)
def test_aggregates_by_name_and_the_session_are_refused(where: str, reason: str) -> None:
    assert reason in refusal({"sql_filter": {"where": where}})


def test_aggregates_by_name_of_a_list_are_allowed(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", [SAMPLE])
    where = "list_aggregate([5, 1], 'sum') = 6 AND [5, 1].list_aggr('max') = 5 AND list_sum([length(text)]) = 6"
    assert refinery.run(settings(tmp_path, [{"sql_filter": {"where": where}}])).counts.kept == 1
