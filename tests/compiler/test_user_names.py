"""Names in a person's SQL: what they stand for, what is refused, and that nothing can break out of its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

import refinery
from refinery.compiler.user_names import own_expression, parse
from refinery.errors import DataError, RecipeError
from tests.compiled import run_samples
from tests.sampling import sampled

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
    kinds = {
        **dict.fromkeys(("text", "d"), "VARCHAR"),
        "n": "BIGINT",
        "x": "DOUBLE",
        "flag": "BOOLEAN",
        "tags": ["VARCHAR"],
    }
    kinds["meta"] = {"lang": "VARCHAR", "k v": "VARCHAR", "n": {"m": "BIGINT"}}
    with duckdb.connect() as con:
        line = json.dumps(SAMPLE, ensure_ascii=False)
        con.execute("CREATE TABLE sample AS SELECT unnest(from_json(?, ?))", [line, json.dumps(kinds)]).fetchall()
        yield lambda sql: con.execute(f"SELECT CAST(({sql}\n) AS VARCHAR) FROM sample").fetchall()[0][0]


@pytest.mark.parametrize("part", sampled(range(3), every=3))
def test_expressions_mean_what_duckdb_means(
    plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Each case is a mapper that writes a field of its own; in each part are expressions of every kind."""
    monkeypatch.chdir(tmp_path)
    cases = CASES[part::3]
    fields = {f"out{k}": "unchanged" for k in range(len(cases))}
    Path("sample.jsonl").write_text(json.dumps({**SAMPLE, **fields}, ensure_ascii=False) + "\n", encoding="utf-8")
    steps = [
        {"sql_mapper": {"text_key": f, "text": f"CAST(({c}\n) AS VARCHAR)"}} for f, c in zip(fields, cases, strict=True)
    ]
    refinery.run({"dataset_path": "sample.jsonl", "export_path": "out.jsonl", "process": steps})
    found = json.loads(Path("out.jsonl").read_text(encoding="utf-8"))
    wrong = []
    for case, field in zip(cases, fields, strict=True):
        expected = plain(case)
        if found[field] != ("unchanged" if expected is None else expected):
            wrong.append((case, expected, found[field]))
    assert wrong == []


def refusal(where: str, columns: dict[str, str] | None = None) -> str:
    """The message that refuses a predicate."""
    with pytest.raises(RecipeError) as caught:
        run_samples([SAMPLE], [{"sql_filter": {"where": where}}], columns=COLUMNS if columns is None else columns)
    return str(caught.value)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("scre > 1", "no column or statistic 'scre'"),
        ("tag[1] = 'a'", "Did you mean 'tags'?"),
        ("textt LIKE 'a'", "Did you mean 'text'?"),
        ("m.lang = 'en'", "no column or statistic 'm'"),
        ("text_len > 3", "no column or statistic 'text_len'"),
        ("_line = 'x'", "no column or statistic '_line'"),
        ("_i = 0 OR _alive_0 OR _text_0 = 'x'", "no column or statistic '_i'"),
        ("count(*) > 1", "more than one row"),
        ("max(n) = n", "max(n) looks at more than one row"),
        ("row_number() OVER () = 1", "more than one row"),
        ("lag(n) OVER (ORDER BY n) = 1", "more than one row"),
        ("string_agg(text, '') = ''", "more than one row"),
        ("random() < 0.1", "use hash(_row) % 100 < 10 to sample"),
        ("now() > d::TIMESTAMP", "another result at every run"),
        ("current_date > d::DATE", "another result at every run"),
        ("age(d::TIMESTAMP) > INTERVAL 1 DAY", "another result at every run"),
        ("uuid()::VARCHAR = text", "another result at every run"),
        ("nextval('s') = 1", "another result at every run"),
        ("unnest(tags) = 'a'", "more than one value"),
        ("regexp_split_to_table(text, ' ') = 'a'", "more than one value"),
        ("COLUMNS(*) IS NULL", "more than one value"),
        ("*", "more than one value"),
        ("n = ?", "nothing is put in place of ?"),
        ("n = $1", "nothing is put in place of $1"),
        ("SELECT n", "put a SELECT of one value in parentheses"),
        ("DROP TABLE x", "this is a statement, and an expression is needed"),
        ("COPY x TO 'y'", "this is a statement, and an expression is needed"),
        ("n > 1 AS keep", "leave out AS keep"),
        ("n > 1; DROP TABLE x", "more than one statement"),
        ("true) AS keep, (false", "the SQL cannot be read"),
        ("true) AS keep FROM read_csv('x') --", "the SQL cannot be read"),
        ("n >", "the SQL cannot be read"),
        ("'open", "the SQL cannot be read"),
        ("(n > 1", "the SQL cannot be read"),
        ("", "it is empty"),
        ("  -- nothing", "nothing but comments"),
        ("EXISTS (SELECT 1 FROM batch)", "there is no table 'batch'"),
        ("n IN (SELECT n FROM _read)", "there is no table '_read'"),
        ("(WITH batch AS (SELECT 2) FROM batch) = (SELECT count(*) FROM batch)", "there is no table 'batch'"),
        ("(WITH _s1 AS (SELECT n FROM _s1) FROM _s1) = 2", "there is no table '_s1'"),
        ("(SELECT count(*) FROM (WITH _read AS (SELECT 2) FROM _read), _read) = 2", "there is no table '_read'"),
        ("n IN (SELECT _i FROM SAMPLE)", "there is no table 'SAMPLE'"),
    ],
)
def test_refused(where: str, said: str) -> None:
    text = refusal(where)
    assert said.lower() in text.lower()
    assert all(line.startswith("recipe, step 1: ") for line in text.splitlines())


def test_aggregates_of_a_file_are_no_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subquery may look at a file as a whole; nothing of it depends on the other samples."""
    monkeypatch.chdir(tmp_path)
    Path("limits.csv").write_text("limit_n\n3\n5\n")
    where = (
        "n >= (SELECT max(limit_n) FROM 'limits.csv') AND n IN (WITH q AS (FROM 'limits.csv') SELECT limit_n FROM q)"
    )
    rows = run_samples([SAMPLE, {**SAMPLE, "n": 4}], [{"sql_filter": {"where": where}}], columns=COLUMNS)
    assert [row["kept"] for row in rows] == [True, False]


def kept(
    where: str, *samples: dict[str, Any], columns: dict[str, str] | None = None, before: list[Any] | None = None
) -> list[bool]:
    """The samples that a predicate keeps."""
    rows = run_samples(samples, [*(before or []), {"sql_filter": {"where": where}}], columns=columns or COLUMNS)
    assert [row["error"] for row in rows] == [None] * len(rows)
    return [row["kept"] for row in rows]


def test_statistics_of_earlier_steps() -> None:
    """The newest of a name; with its step, any of them."""
    steps = [{"text_length_filter": {}}, {"sql_mapper": {"text": "left(text, 12)"}}, {"text_length_filter": {}}]
    sample = {"text": "a text of thirty-two characters.", "text_len": "a column of that name"}
    assert kept("text_len = 12 AND text_len_3 = 12 AND text_len_1 = 32", sample, before=steps) == [True]
    assert "Did you mean 'text_len'" in _problem([*steps, {"sql_filter": {"where": "txt_len > 1"}}])


def _problem(steps: list[Any]) -> str:
    with pytest.raises(RecipeError) as caught:
        run_samples([SAMPLE], steps)
    return str(caught.value)


def test_row_is_the_number_in_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text("".join(json.dumps({"text": f"text {n}", "_row": 99}) + "\n" for n in range(9)))
    recipe = {"dataset_path": ["docs.jsonl", "docs.jsonl"], "process": [{"sql_filter": {"where": "_row % 5 = 0"}}]}
    run = refinery.run({**recipe, "export_path": "out.jsonl"}, shard_size=40)
    assert run.counts.read == 18
    assert run.sql("SELECT _row FROM stats WHERE kept ORDER BY 1").fetchall() == [(0,), (5,), (10,), (15,)]


def test_text_is_what_the_step_is_given() -> None:
    """Of a step with a field of its own it is that field, unless the samples have a `text` beside it."""
    steps = [{"sql_mapper": {"text": "text || '!'"}}, {"sql_filter": {"where": "text = 'a!'"}}]
    assert [row["kept"] for row in run_samples([{"text": "a"}, {"text": "b"}], steps, columns=COLUMNS)] == [True, False]
    own = {"sql_filter": {"where": "title = 'T' AND text = 'a'", "text_key": "title"}}
    assert run_samples([{"text": "a", "title": "T"}], [own], columns={**COLUMNS, "title": "VARCHAR"})[0]["kept"]


def test_null_is_not_true() -> None:
    assert kept("n > 1", {"text": "a", "n": None}, {"text": "a"}, {"text": "a", "n": 2}) == [False, False, True]


def test_value_of_another_type_costs_its_row() -> None:
    rows = run_samples([{"text": "a", "n": "many"}], [{"sql_filter": {"where": "n > 1"}}], columns=COLUMNS)
    assert "many" in rows[0]["error"]


def test_json_null_is_null() -> None:
    """Also of a field whose values are of mixed types."""
    samples = [{"text": "a", "m": None}, {"text": "a", "m": {"x": 1}}, {"text": "a"}, {"text": "a", "m": [1]}]
    assert kept("m IS NOT NULL", *samples, columns={"m": "JSON"}) == [False, True, False, True]


def test_letter_case() -> None:
    """As in SQL it does not matter, unless two fields differ in nothing else."""
    assert kept('SCORE > 1 AND "Score" > 1', {"text": "a", "score": 2}, columns={"score": "BIGINT"}) == [True]
    both = {"score": "BIGINT", "Score": "BIGINT"}
    assert kept('score = 1 AND "Score" = 2', {"text": "a", "score": 1, "Score": 2}, columns=both) == [True]
    assert "'SCORE' could be 'Score' or 'score'" in refusal("SCORE > 1", both)


NAMES = (
    [
        "a b",
        "it's",
        'q"uote',
        "back\\slash",
        "\\",
        '"',
        "'",
        "semi;colon",
        "new\nline",
        "tab\t",
        "größe",
        "日本",
        "\u2028",
    ]
    + [
        "$",
        "*",
        "[0]",
        "a[0]",
        "#",
        "@x",
        "--",
        "/*x*/",
        "%",
        "~",
        "/",
        "a/b~c",
        "{}",
        "select",
        "from",
        "1abc",
        " ",
        ")",
    ]
    + ["_line", "_alive_0", "_text_0", "_json", "_s1", "batch", "n) --", "' OR '1'='1", "a'); DROP TABLE batch; --"]
)


FEW = (
    "it's",
    'q"uote',
    "back\\slash",
    "new\nline",
    "größe",
    "a/b~c",
    "select",
    "_text_0",
    "batch",
    "a'); DROP TABLE batch; --",
)
names = pytest.mark.parametrize(
    "names",
    [FEW, pytest.param([name for name in NAMES if name not in FEW], marks=pytest.mark.long)],
    ids=["some", "others"],
)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@names
def test_columns_of_any_name(names: Sequence[str]) -> None:
    """As a field of a JSON line: compared, and with its value put into the text."""
    for name in names:
        samples = [{"text": "a", name: value} for value in ("x", "y")]
        step = {"sql_filter": {"where": f"{quoted(name)} = 'x'"}}
        mapper = {"sql_mapper": {"text": f"text || {quoted(name)}"}}
        rows = run_samples(samples, [step, mapper], columns={name: "VARCHAR"})
        assert [(row["kept"], row["text"]) for row in rows] == [(True, "ax"), (False, "a")], name


@names
def test_columns_of_any_name_in_tables(tmp_path: Path, names: Sequence[str]) -> None:
    """And as a column of a table, whatever else stands in it."""
    for name in names:
        dataset = pa.table({"text": ["a", "b"], name: ["x", "y"], "other": [{"k": 1}, None]})
        recipe = {"export_path": "unused", "process": [{"sql_filter": {"where": f"{quoted(name)} = 'x'"}}]}
        try:
            script = refinery.compile(recipe, dataset)
        except DataError as error:  # a name that a script uses itself
            assert "rename it, or use `refinery run`" in str(error)
            run = refinery.run(recipe | {"export_type": "none", "work_dir": str(tmp_path / "run")}, dataset)
            assert run.sql("SELECT _row FROM ledger").fetchall() == [(1,)], name
            continue
        with duckdb.connect() as con:
            con.register("dataset", dataset)
            con.execute(script[: script.index("-- Write")]).fetchall()
            assert con.execute("SELECT _row FROM ledger").fetchall() == [(1,)], name


def test_tables_whose_columns_cannot_be_told_apart() -> None:
    """A script cannot distinguish such columns; a run can."""
    for column, reason in {"Text": "letter case only", "_i": "has a name that a script uses"}.items():
        dataset = pa.table({"text": ["a"], column: ["b"]})
        with pytest.raises(DataError, match=reason):
            refinery.compile({"process": [{"sql_filter": {"where": f"{quoted(column)} = 'b'"}}]}, dataset)
    with pytest.raises(RecipeError, match="no column 'titel'. Did you mean 'title'"):
        steps = [{"text_length_filter": {"text_key": "titel"}}]
        refinery.compile({"process": steps}, pa.table({"text": ["a"], "title": ["b"]}))


def test_texts_in_fields_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`text_key` is one of a recipe's few names of fields that are no SQL; dots in it name nested fields."""
    monkeypatch.chdir(tmp_path)
    names = [name for name in NAMES if "." not in name]
    sample = {"text": "main", **{name: f"value {k}" for k, name in enumerate(names)}, "deep": {'k"1': {"ä;": "nested"}}}
    Path("docs.jsonl").write_text(json.dumps(sample, ensure_ascii=False) + "\n", encoding="utf-8")
    steps = [{"sql_mapper": {"text": f"upper({quoted(name)})", "text_key": name}} for name in names]
    steps.append({"text_length_filter": {"text_key": 'deep.k"1.ä;', "min_len": 6, "max_len": 6}})
    refinery.run({"dataset_path": "docs.jsonl", "export_path": "out.jsonl", "process": steps})
    found = json.loads(Path("out.jsonl").read_text(encoding="utf-8"))
    assert found == {key: value.upper() if key in names else value for key, value in sample.items()}  # type: ignore[attr-defined]


INJECTIONS = [
    "'",
    "''",
    "'); DROP TABLE batch; --",
    "' OR '1'='1",
    "\\",
    "\\'",
    '"',
    "$$",
    "/*",
    "*/",
    "--",
    "a\nb",
    "日本\u2028",
]


def test_parameters_stay_texts() -> None:
    """Whatever a parameter holds, it is compared or put in as it is."""
    for value in INJECTIONS:
        samples = [{"text": "x", "__dj__suffix__": suffix} for suffix in (value, "other")]
        rows = run_samples(samples, [{"suffix_filter": {"suffixes": [value, "'"]}}])
        assert [row["kept"] for row in rows] == [True, value == "other"], value


PLACES = [
    "it's a;b*c",
    'q"q [1] 日本 $$ {{x}} %s\n--x',
    "it's",
    "a;b",
    "a*b",
    "sp ace",
    "[1]",
    'q"q',
    "日本",
    "--x",
    "$$",
    "{{x}}",
    "%s",
    "new\nline",
]


# The first two have every character of the others.
@pytest.mark.parametrize("name", [*PLACES[:2], *(pytest.param(name, marks=pytest.mark.long) for name in PLACES[2:])])
def test_paths_stay_texts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Input, export and run folder with characters that mean something to SQL; the script reads and writes the same."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / f"of {name}"
    folder.mkdir()
    source, target = folder / f"{name}.jsonl", folder / f"out {name}.jsonl"
    source.write_text('{"text": "long enough"}\n{"text": "short"}\n')
    recipe = {"dataset_path": [str(source)], "export_path": str(target), "work_dir": str(folder / "run")}
    recipe["process"] = [{"text_length_filter": {"min_len": 6}}]  # type: ignore[assignment]
    recipe["project_name"] = f"{name}\n; DROP TABLE x; /*"
    run = refinery.run(recipe)
    written = target.read_bytes()
    target.unlink()
    with duckdb.connect() as con:
        con.execute(refinery.compile(recipe)).fetchall()
        assert con.execute("SELECT * FROM ledger").fetchall() == run.sql("SELECT * FROM ledger").fetchall()
    assert target.read_bytes() == written


def test_own_expression_keeps_what_it_does_not_know() -> None:
    """Names inside a lambda or a subquery are theirs; everything else is looked up."""
    asked: list[str] = []

    def lookup(name: str) -> exp.Expression | None:
        asked.append(name)
        return exp.column(f"_{name}")

    found = own_expression(
        "list_filter(a, lambda x: x > b) = [y + c for y in d] OR e IN (SELECT f FROM 'g.csv')", lookup, []
    )
    assert sorted(asked) == ["a", "b", "c", "d", "e"]
    assert (
        found.lower() == '(list_filter(_a, lambda x : x > _b) = [y + _c for y in _d] or _e in (select f from "g.csv"))'
    )


def test_parse_tells_what_is_wrong_in_one_line() -> None:
    for sql in ("a +", "(a", "a)", "'a", "a b c", "SELECT", "CASE WHEN a", "f(", "/* open", "a ]", "1 2"):
        try:
            parse(sql)
        except ValueError as error:
            assert str(error) and "\n" not in str(error) and "sqlglot" not in str(error), sql
