"""Values are values: whatever stands in a parameter, a name of a column or a path, nothing of it is executed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest
from sqlglot import exp

import refinery
from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.compiler.user_names import parse
from refinery.errors import RecipeError, RefineryError
from refinery.operators import Library
from refinery.recipe.model import Step
from tests.runs import exported, refine, settings, texts, write_lines
from tests.sampling import first_of_each, named
from tests.security.hostile import HOSTILE, MANY, NUL, PATTERN, SHORT, hostile

LIBRARY = Library()
# What would be there if any of it had been run.
TRACES = ("/tmp/evil", "/tmp/evil.db", "/tmp/evil.csv")
# Types that hold text which is no code.
TEXTUAL = ("str", "list[str]", "str_or_list", "any")


@pytest.fixture(autouse=True)
def nothing_was_run() -> Iterator[None]:
    yield
    assert not [path for path in TRACES if os.path.exists(path)]


def textual() -> list[tuple[str, str]]:
    """Operators' parameters that take any text."""
    found = []
    for name in LIBRARY.operators:
        for param in LIBRARY.operators[name].params.values():
            if param.type in TEXTUAL and not param.choices:
                found.append((name, param.name))
    return found


def compiled(name: str, **given: Any) -> str:
    """The statement of one step with these parameters."""
    operator = LIBRARY.operators[name]
    params = {p.name: tuple(p.default) if isinstance(p.default, list) else p.default for p in operator.params.values()}
    if operator.kind == "filter":
        params |= {"min_closed_interval": True, "max_closed_interval": True, "reversed_range": False}
    step = Step(1, name, params | given)
    program, _ = build([step], LIBRARY, Schema(True), ("text",))
    return program.pass_sql


def reached(sql: str) -> set[str]:
    """Functions that a statement calls and relations that it reads."""
    tree = parse(sql)
    assert isinstance(tree, exp.Select)
    calls = {node.name.lower() if isinstance(node, exp.Anonymous) else node.key for node in tree.find_all(exp.Func)}
    tables = {re.sub(r"^_s\d+$", "_s", node.sql()) for node in tree.find_all(exp.Table)}
    return calls | tables


def kind_of(name: str, param: str) -> tuple[str, str]:
    """Kind of an operator, and type of its parameter."""
    operator = LIBRARY.operators[name]
    return operator.kind, operator.params[param].type


@pytest.mark.parametrize("hostile_texts", named({"few": (SHORT,), "all": (HOSTILE,)}, "few"))
@pytest.mark.parametrize(
    ("name", "param"),
    first_of_each([(n, p) for n, p in textual() if LIBRARY.operators[n].kind != "deduplicator"], kind_of),
)
def test_a_text_never_leaves_its_literal(name: str, param: str, hostile_texts: tuple[str, ...]) -> None:
    """Whatever the text, the statement is one SELECT that calls and reads what it does with harmless texts."""
    many = LIBRARY.operators[name].params[param].type == "list[str]"

    def reaches(text: str) -> set[str] | None:
        try:
            sql = compiled(name, **{param: (text,) if many else text})
        except (RefineryError, ValueError, KeyError, TypeError, jinja2.UndefinedError):
            return None  # the value is refused, or names something that there is not
        assert "1337" not in sql  # a template within the text was not filled in
        return reached(sql)

    harmless = [found for text in ("harmless", "en", "", "[a-z]+") if (found := reaches(text)) is not None]
    known = set().union(*harmless) | {"chr", "concat", "dpipe", "safedpipe"}
    for text in hostile_texts:
        found = reaches(text)
        assert found is None or not harmless or found <= known, (text, found - known)


def test_replacements_are_taken_literally(tmp_path: Path) -> None:
    """Each text replaces an address in a field of its own; doubled braces and dollars stand for themselves."""
    from refinery.recipe.template import escape

    given = {f"f{k}": text for k, text in enumerate(HOSTILE) if "\\" not in text}  # which begins a group's number
    steps = [{"clean_email_mapper": {"text_key": name, "repl": escape(text)}} for name, text in given.items()]
    run = refine(tmp_path, [{name: "a me@example.org b" for name in given}], steps, text_keys="f0")
    assert exported(run) == [{name: f"a {text} b" for name, text in given.items()}]


@pytest.mark.parametrize("name", hostile(MANY, NUL, fits=lambda text: bool(text) and "." not in text))
def test_names_of_columns_are_names(tmp_path: Path, name: str) -> None:
    """The text stands in a field of any name; the field is read, changed, compared, traced and counted."""
    from refinery.recipe.template import escape

    sample = {name: "write to a@b.org now", "text": "other"}
    write_lines(tmp_path / "in.jsonl", [sample, sample, {"text": "none"}])
    steps = [{"clean_email_mapper": None}, {"text_length_filter": {"min_len": 2}}, {"document_deduplicator": None}]
    recipe = settings(tmp_path, steps, text_keys=escape(name), trace_keys=[escape(name)], open_tracer=True)
    try:
        run = refinery.run(recipe)
    except RefineryError as error:
        assert "\x1b" not in str(error) and "\0" not in str(error)
        return
    assert [row[name] for row in exported(run)] == ["write to  now"]
    assert run.counts.quarantined == 1 and run.counts.removed == 1


def as_name(text: str) -> str:
    """The text as the name of one file or folder."""
    return text.replace("/", "_").lstrip(".")[:200] or "empty"


@pytest.mark.parametrize("text", hostile(MANY, PATTERN, NUL))
def test_paths_are_paths(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders of that name are used, or the recipe is refused in one clear message; nothing else is touched."""
    from refinery.recipe.template import escape

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    name = as_name(text)
    beside = write_lines(tmp_path / "in.jsonl", texts(["long enough", "other text"]))
    before = beside.stat().st_mtime_ns
    if "\0" not in name:
        write_lines(tmp_path / "here" / f"{name}.jsonl", texts(["long enough", "other text"]))
    paths = {
        "dataset_path": [escape(f"{tmp_path}/here/{name}.jsonl")],
        "work_dir": escape(f"{tmp_path}/here/{name}"),
        "temp_dir": escape(f"{tmp_path}/here/{name}/spill"),
        "export_path": escape(f"{tmp_path}/here/{name}/out.jsonl"),
    }
    step = {"document_deduplicator": {"index": escape(f"{tmp_path}/here/{name}.index")}}
    try:
        run = refinery.run(settings(tmp_path, [step], **paths))
    except RefineryError as error:
        assert "\x1b" not in str(error) and any(mark in name for mark in "?\\\0*[\x1b$"), str(error)
    else:
        assert run.counts.kept == 2
    assert {path.name for path in tmp_path.iterdir()} == {"here", "in.jsonl"}
    assert beside.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "key", ["dataset_path", "export_path", "work_dir", "temp_dir", "index", "stopwords_dir", "model"]
)
def test_a_path_with_a_nul_is_refused(tmp_path: Path, key: str) -> None:
    operator = {"index": "document_deduplicator", "stopwords_dir": "stopwords_filter", "model": "words_num_filter"}
    path = f"{tmp_path}/a\0b"
    steps = [{operator[key]: {key: path}}] if key in operator else [{"text_length_filter": None}]
    keys = {} if key in operator else {key: path}
    with pytest.raises(RefineryError) as caught:
        refine(tmp_path, texts(["long enough"]), steps, **keys)
    assert "\0" not in str(caught.value)


# SQL that the recipe's owner writes: by design, but it reaches nothing


FORBIDDEN = {
    "a reading function": "(SELECT count(*) FROM read_text('/etc/passwd')) > 0",
    "a reader of tables": "(SELECT count(*) FROM read_csv('/etc/passwd', sep = ':')) > 0",
    "a reader of bytes": "(SELECT count(*) FROM read_blob('/proc/self/environ')) > 0",
    "glob": "(SELECT count(*) FROM glob('/*')) > 0",
    "a file as a table": "(SELECT count(*) FROM '/etc/passwd') > 0",
    "a file far away": "(SELECT count(*) FROM '../../../../../../../etc/passwd') > 0",
    "a URL": "(SELECT count(*) FROM 'https://example.com/x.parquet') > 0",
    "query": "(SELECT count(*) FROM query('FROM read_text(''/etc/passwd'')')) > 0",
    "a reader of databases": "(SELECT count(*) FROM read_duckdb('/tmp/other.duckdb')) > 0",
    "getenv": "getenv('HOME') <> ''",
    "a variable of Python": "(SELECT count(*) FROM library) > 0",
    "breaking out": "length(text) > 0); COPY (SELECT 1) TO '/tmp/evil.csv'; SELECT (1",
    "a bare statement": "COPY (SELECT 1) TO '/tmp/evil.csv'",
    "attaching": "ATTACH '/tmp/evil.db'",
    "installing": "INSTALL httpfs",
    "setting": "SET enable_external_access = true",
    "a statement within": "(SELECT count(*) FROM (INSTALL httpfs)) > 0",
}


def both_with(where: str) -> list[dict[str, Any]]:
    """A filter and a mapper with this SQL."""
    return [{"sql_filter": {"where": where}}, {"sql_mapper": {"text": f"CASE WHEN {where} THEN 'x' END"}}]


def refused_steps(folder: Path, steps: list[dict[str, Any]]) -> dict[int, str]:
    """Messages of a refused run in the current folder, by step."""
    with pytest.raises(RecipeError) as caught:
        refine(folder, texts(["some text"]), steps)
    problems = caught.value.problems
    assert caught.value.exit_code == 2 and len({problem.where for problem in problems}) == len(problems)
    return {int(problem.where.removeprefix("recipe, step ")): str(problem) for problem in problems}


def test_own_sql_reaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is refused, in a filter or in a mapper, and all are told of at once."""
    library = {"a": [1]}  # a variable of Python is no table
    assert library
    monkeypatch.chdir(tmp_path)
    steps = [both_with(where)[at % 2] for at, where in enumerate(FORBIDDEN.values())]
    said = refused_steps(tmp_path, steps)
    assert sorted(said) == list(range(1, len(steps) + 1))
    assert all(len(text) < 600 and "root:" not in text for text in said.values())


@pytest.mark.long
@pytest.mark.parametrize("where", list(FORBIDDEN.values()))
def test_own_sql_alone_reaches_nothing(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for step in both_with(where):
        assert list(refused_steps(tmp_path, [step])) == [1]


def test_own_sql_reads_files_beside_the_recipe_and_its_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("recipes", "lists", "secret"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "lists")
    for folder in ("recipes", "lists", "secret"):
        (tmp_path / folder / "ids.csv").write_text("id\n1\n")
    (tmp_path / "lists" / "link.csv").symlink_to(tmp_path / "secret" / "ids.csv")

    def kept(*files: str) -> list[Any]:
        write_lines(tmp_path / "lists" / "in.jsonl", texts(["a", "b"]))
        steps = [{"sql_filter": {"where": f"id IN (SELECT id FROM '{file}')"}} for file in files]
        path = tmp_path / "recipes" / "recipe.json"
        recipe = settings(tmp_path, steps) | {"dataset_path": str(tmp_path / "lists" / "in.jsonl")}
        path.write_text(json.dumps(recipe))
        return [row["id"] for row in exported(refinery.run(path))]

    assert kept("ids.csv", f"{tmp_path}/recipes/ids.csv") == [1]
    secret = (f"{tmp_path}/secret/ids.csv", "../secret/ids.csv", "link.csv")
    with pytest.raises(RefineryError) as caught:
        kept(*secret)
    for said, file in zip(str(caught.value).splitlines(), secret, strict=True):
        assert re.search("cannot be read; SQL of a recipe reads files below .*recipes.* only", said), file


def test_what_does_not_fit_memory_still_goes_to_disk(tmp_path: Path) -> None:
    from refinery.common.connections import connect, lock

    con = connect(threads=1, memory="60MB", temporary=str(tmp_path / "spill"))
    lock(con)
    query = "CREATE TABLE t AS SELECT range i, md5(range::VARCHAR) || repeat('x', 40) s FROM range(1000000)"
    con.execute(query).fetchall()
    [(rows,)] = con.execute("SELECT count(DISTINCT s) FROM t WHERE i < 1000").fetchall()
    assert rows == 1000 and any((tmp_path / "spill").rglob("duckdb_temp*"))
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        con.execute("SET memory_limit = '1GB'")
    con.close()
