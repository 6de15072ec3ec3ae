"""Names in a person's SQL: what they stand for, what is refused, and that nothing can break out of its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

import refinery
from refinery.compiler.names import _MULTIPLYING, _UNSTABLE, own_expression, parse
from refinery.errors import RecipeError
from tests.compiled import run_samples

SAMPLE: dict[str, Any] = {
    "text": "It's a Test: naïve café, 日本 — a-b_c 42",
    "n": 5,
    "x": 2.5,
    "flag": True,
    "tags": ["a", "b", "c"],
    "meta": {"lang": "en", "k v": "q", "n": {"m": 7}},
    "d": "2020-02-29",
}
COLUMNS = {
    "text": "VARCHAR",
    "n": "BIGINT",
    "x": "DOUBLE",
    "flag": "BOOLEAN",
    "tags": "VARCHAR[]",
    "meta": 'STRUCT(lang VARCHAR, "k v" VARCHAR, n STRUCT(m BIGINT))',
    "d": "VARCHAR",
}

# What people write; each is put through names, sqlglot and guards, and must give what plain DuckDB gives.
EXPRESSIONS = r"""
lower(text) | TEXT | "text" | Text | text || n | E'a\nb\\d' | '\d+\n' | $$it's$$ | 1_000 | 1e3 | 'a''b' | '"' | ';' | '--' | '/*'
5 // 2 | -5 // 2 | 5 / 2 | -5 % 3 | 2 ^ 3 ^ 2 | 2 ** 3 | -2 ^ 2 | 5 & 3 | 1 << 3 | ~5 | @(-5) | n / 3 | 0.1 + 0.2 | - - n | 1 / 0
text[1] | text[-3:] | text[2:4] | text[n] | tags[1] | tags[-1] | tags[2:] | meta['lang'] | meta.lang | meta."k v" | meta.n.m + 1
substring(text from 2 for 3) | position('a' in text) | trim(both 'I2' from text) | split_part(text, ' ', 2) | text.lower().length()
regexp_replace(text, '(\w+)', '<\1>', 'g') | regexp_replace(text, 'A', 'x', 'gi') | regexp_extract(text, '(\w+)-(\w+)', 2)
regexp_matches(text, 'TEST', 'i') | text SIMILAR TO '.*42' | text GLOB '*42' | text ILIKE '%test%' | text NOT LIKE '%!_c%' ESCAPE '!'
text ~ '.*42' | text ^@ 'It' | string_split(text, ' ')[2] | list_transform(tags, lambda t: t || text[1]) | [t || n for t in tags if t <> 'b']
list_filter(tags, lambda t, i: i > 1) | list_reduce([1, 2, 3], lambda a, b: a + b) | 'a' IN tags | n NOT IN (1, 2) | n = ANY([5, 6])
{'a': n, 'b': 'x'}.a | map {'a': n}['a'] | struct_pack(a := n).a | CASE n WHEN 5 THEN 'five' ELSE 'no' END | if(n > 3, 'a', 'b')
n BETWEEN 1 AND 10 | n IS DISTINCT FROM NULL | flag IS NOT TRUE | NOT flag OR n = 5 AND x > 1 | n == 5 | n <> 5 | NULL IS NULL
d::DATE + INTERVAL 1 DAY | d::DATE + INTERVAL (n) MONTH | extract(year FROM d::DATE) | date_diff('day', DATE '2020-01-01', d::DATE)
strftime(d::DATE, '%Y/%m') | epoch(d::TIMESTAMP) | TRY_CAST('a' AS INT) | x::INT | n::DOUBLE / 3 | 5::DECIMAL(10,2) / 3 | typeof(n / 2)
('{"a": {"b c": 1}}'::JSON) -> '$.a."b c"' | '{"a": 1}'::JSON ->> 'a' | json_extract_string('{"a.b": "x"}', '$."a.b"') | to_json({'a': n})
format('{}-{:05d}', text[1], n) | printf('%s %d', d, n) | md5(text) | hash(text, n) % 10 | levenshtein(text, 'abc') | concat_ws('-', d, n)
round(2.567, 2) | greatest(1, n, NULL) | log(2, 8) | log(100) | isnan('nan'::DOUBLE) | 'inf'::DOUBLE > 1 | bit_count(7) | (1, 2) = (1, 2)
(SELECT 1 + n) | (SELECT max(i) FROM range(5) t(i)) | n IN (SELECT i FROM range(6) t(i)) | EXISTS (SELECT 1) | TRUE AND NULL
coalesce(NULL, text) /* a comment */ | text -- a comment
"""
CASES = [case.strip() for line in EXPRESSIONS.strip().splitlines() for case in line.split(" | ")]


@pytest.fixture(scope="module")
def plain() -> Any:
    """Evaluates an expression over the sample in plain DuckDB."""
    kinds = {**dict.fromkeys(("text", "d"), "VARCHAR"), "n": "BIGINT", "x": "DOUBLE", "flag": "BOOLEAN", "tags": ["VARCHAR"]}
    kinds["meta"] = {"lang": "VARCHAR", "k v": "VARCHAR", "n": {"m": "BIGINT"}}
    with duckdb.connect() as con:
        line = json.dumps(SAMPLE, ensure_ascii=False)
        con.execute("CREATE TABLE sample AS SELECT unnest(from_json(?, ?))", [line, json.dumps(kinds)]).fetchall()
        yield lambda sql: con.execute(f"SELECT CAST(({sql}\n) AS VARCHAR) FROM sample").fetchall()[0][0]


def test_expressions_mean_what_duckdb_means(plain: Any) -> None:
    """All in one recipe: a mapper per expression would be slow to compile."""
    wrong = []
    for start in range(0, len(CASES), 20):
        cases = CASES[start : start + 20]
        steps = [{"sql_mapper": {"text_key": f"out{k}", "text": f"CAST(({case}\n) AS VARCHAR)"}} for k, case in enumerate(cases)]
        sample = {**SAMPLE, **{f"out{k}": "unchanged" for k in range(len(cases))}}
        for case, found in zip(cases, _texts(sample, steps), strict=True):
            expected = plain(case)
            if found != ("unchanged" if expected is None else expected):
                wrong.append((case, expected, found))
    assert wrong == []


def _texts(sample: dict[str, Any], steps: list[Any]) -> list[str]:
    """The field that each step writes."""
    columns = {**COLUMNS, **{step["sql_mapper"]["text_key"]: "VARCHAR" for step in steps}}
    return [run_samples([sample], steps, columns=columns, field=step["sql_mapper"]["text_key"])[0]["text"] for step in steps[:1]] + [
        run_samples([sample], [step], columns=columns, field=step["sql_mapper"]["text_key"])[0]["text"] for step in steps[1:]
    ]
