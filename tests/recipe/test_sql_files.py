"""Files that SQL reads: found wherever DuckDB would look for one, refused where their names are computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.common.connections import connect
from refinery.common.duckdb_facts.names import PURE, READERS
from refinery.recipe.sql_files import files_of

READ = r"""
k IN (SELECT k FROM 'a.csv')  =>  a.csv
k IN (SELECT k FROM "it's.parquet")  =>  it's.parquet
k IN (FROM 'it''s.csv')  =>  it's.csv
k IN (SELECT k FROM data.list.csv)  =>  data.list.csv
k IN (FROM 'a.csv' x, 'b.csv')  =>  a.csv, b.csv
k IN (SELECT x FROM t: 'a.csv')  =>  a.csv
k IN (FROM read_csv('a.csv', header = true, columns = {'k': 'no.csv'}))  =>  a.csv
k IN (FROM read_csv(['b.csv', 'a.csv']::VARCHAR[]))  =>  a.csv, b.csv
k IN (FROM system.main.read_json_auto(list_value('a.json', ('b.json'))))  =>  a.json, b.json
k IN (FROM parquet_scan('d/*/x=?/*.parquet'))  =>  d/*/x=?/*.parquet
k IN (SELECT file FROM glob('d/**'))  =>  d/**
(SELECT content FROM read_text('a.txt')) = text  =>  a.txt
k IN (FROM 'b.csv' x, LATERAL (FROM read_blob('a.bin')))  =>  a.bin, b.csv
k IN (SELECT x FROM LATERAL read_csv('a.csv'))  =>  a.csv
k IN (FROM 's3://bucket/a.parquet')  =>  s3://bucket/a.parquet
k IN (SELECT k FROM (SELECT * FROM (FROM 'a.csv')) WHERE j IN (SELECT j FROM 'b.csv'))  =>  a.csv, b.csv
k IN (SELECT k FROM (PIVOT 'a.csv' ON x USING sum(y)))  =>  a.csv
k IN (SELECT k FROM 'a.csv' UNION SELECT k FROM 'b.csv' EXCEPT FROM 'c.csv')  =>  a.csv, b.csv, c.csv
list_filter(tags, lambda t: t IN (FROM 'a.csv'))  =>  a.csv
k IN (SELECT k FROM 'a.csv' POSITIONAL JOIN 'b.csv')  =>  a.csv, b.csv
k IN (WITH "a.csv" AS (SELECT 1 AS k) SELECT k FROM "A.csv")  =>
k IN (WITH "a.csv" AS (FROM "a.csv") SELECT k FROM "a.csv")  =>  a.csv
k IN (WITH x AS (FROM "b.csv"), "b.csv" AS (SELECT 1) SELECT k FROM x, "b.csv")  =>  b.csv
k IN (WITH RECURSIVE "t.t" AS (SELECT 1 AS k UNION ALL SELECT k + 1 FROM "t.t" WHERE k < 3) FROM "t.t")  =>
k IN (SELECT k FROM 'a.csv' WHERE EXISTS (WITH "b.csv" AS (SELECT 1) FROM "b.csv") UNION FROM "b.csv")  =>  a.csv, b.csv
text = 'b.csv' /* FROM 'c.csv' */ -- FROM 'd.csv'  =>
text = 'FROM ''b.csv''' OR "a.csv" = 'x'  =>
k IN (FROM range(3)) AND k IN (SELECT unnest([1, 2])) AND k IN (FROM json_each('{}'))  =>
tags[1] = 'a' AND text[1] IN (FROM 'a.csv')  =>  a.csv
length(text) DESC, (SELECT max(n) FROM 'n.csv') NULLS LAST  =>  n.csv
"""
CASES = [tuple(map(str.strip, line.split("=>"))) for line in READ.strip().splitlines()]


@pytest.mark.parametrize(("sql", "names"), CASES)
def test_files_that_are_read(sql: str, names: str) -> None:
    assert files_of(sql) == [name for name in names.split(", ") if name]


REFUSED = r"""
k IN (FROM read_csv('a' || '.csv'))  =>  computed
k IN (FROM read_csv(name))  =>  computed
k IN (FROM read_csv(['a.csv', name]))  =>  computed
k IN (SELECT * FROM 'a.csv' a, LATERAL (SELECT * FROM read_csv(a.f)))  =>  computed
k IN (FROM read_csv(list_transform(['a'], lambda x: x || '.csv')))  =>  computed
k IN (FROM read_text((SELECT 'a.txt')))  =>  computed
k IN (FROM read_text(getvariable('x')))  =>  computed
k IN (FROM read_text($1))  =>  computed
k IN (FROM read_text())  =>  computed
k IN (FROM query('FROM ''a.csv'''))  =>  runs a statement
k IN (FROM query_table('a.csv'))  =>  runs a statement
k IN (FROM histogram('a.csv', k))  =>  runs a statement
k IN (FROM json_execute_serialized_sql(json_serialize_sql('FROM ''a.csv''')))  =>  runs a statement
k IN (FROM duckdb_settings())  =>  depend on more
k IN (FROM read_xlsx('a.xlsx'))  =>  depend on more
k IN (FROM pragma_version())  =>  depend on more
k IN (SELECT name FROM information_schema.tables)  =>  session
k IN (FROM batch)  =>  no table
k IN (SELECT column_name FROM (SUMMARIZE 'a.csv'))  =>  SUMMARIZE
"""


@pytest.mark.parametrize(
    ("sql", "reason"), [tuple(map(str.strip, line.split("=>"))) for line in REFUSED.strip().splitlines()]
)
def test_files_that_nobody_can_know_are_refused(sql: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        files_of(sql)


def test_every_table_function_that_takes_a_file_is_known(tmp_path: Path) -> None:
    """DuckDB reads through no other function than those that are listed."""
    (tmp_path / "a.csv").write_text("k\n1\n")
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%' ORDER BY 1"
    with connect([tmp_path]) as con:
        found = {name for (name,) in con.execute(query).fetchall()}
        for name in found - READERS - PURE:
            with pytest.raises(ValueError):
                files_of(f"k IN (SELECT k FROM {name}('{tmp_path}/a.csv'))")
