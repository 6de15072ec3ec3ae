"""Operators as SQL functions: verdicts, texts and statistics are those of recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import refinery
from refinery.compiler.chain import compile_chain
from refinery.compiler.model import Schema
from refinery.errors import RecipeError
from refinery.operators import Library
from refinery.recipe.model import Step
from refinery.sql_functions.model import SqlFunction
from refinery.sql_functions.register import installed
from refinery.sql_functions.stored import functions_of, stored_functions
from tests.runs import exported, operator_folder, refine, rows, texts

TEXTS = [
    "",
    " \n",
    "one two three",
    "Write to me@example.org, or see https://example.org/a?b=c now.\n\nThe second paragraph of the text, and it is long.",
    "- a\n- b\n- c…\nlorem ipsum {x}\n" * 4,
    "word " * 300,
    "<p>Hello <b>world</b>, this is a page of text.</p>" * 5,
    "x = 1  # a comment\n# another\ny = 2\n" * 8,
    "It was the best of times, it was the worst of times, it was the age of wisdom.\n" * 12,
    "\\section{A} text % comment\n\\appendix more",
    "Größe 123 café 日本語 テスト 🙂 192.168.0.1\r\nend",
    "The " + "x" * 1200 + " end.\n1 2 3 4 5 (a) (b)",
]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(())


@pytest.fixture(scope="module")
def con() -> Any:
    with duckdb.connect() as own:
        refinery.register(own)
        own.register("docs", pa.table({"number": range(len(TEXTS) + 1), "line": [*TEXTS, None]}))
        yield own


def values(con: Any, sql: str) -> list[Any]:
    return [value for (value,) in con.execute(sql).fetchall()]


def available(library: Library) -> list[tuple[SqlFunction, ...]]:
    found = {
        name: functions_of(operator, library) for name, operator in library.operators.items() if installed(operator)
    }
    return [tuple(functions) for functions in found.values() if functions]


def test_most_operators_are_functions(library: Library) -> None:
    names = {functions[0].operator for functions in available(library)}
    assert (
        len(names) > 120 and {"words_num_filter", "clean_links_mapper", "gopher_v1", "fineweb_quality_filter"} <= names
    )
    assert not any(library.operators[name].kind == "deduplicator" for name in names)


def test_functions_give_what_a_stage_of_the_step_gives(con: Any, library: Library) -> None:
    """The statement of a recipe's stage, over the same texts."""
    batch = pa.table({"_i": range(len(TEXTS)), "text": TEXTS})
    assert batch.num_rows
    wrong = []
    for functions in available(library):
        operator = library.operators[functions[0].operator]
        params = {name: spec.default for name, spec in operator.params.items()}
        chain = compile_chain([Step(1, operator.name, params)], library, Schema(False, {"text": "VARCHAR"}))
        expected: dict[str, Any] = {stat.name: stat.column for stat in chain.stats}
        alive = next(iter(chain.alive.values()), "TRUE")
        text = chain.texts[("text",)]
        statement = chain.select([*expected.values(), alive, text, "_i"]) + " ORDER BY _i"
        table = con.execute(statement).fetchall()
        stats, verdicts, changed = [row[:-3] for row in table], [row[-3] for row in table], [row[-2] for row in table]
        for function in functions:
            found = values(con, f"SELECT {function.name}(line) FROM docs ORDER BY number")
            if function.returns == "BOOLEAN":
                right = verdicts
            elif function.returns == "VARCHAR":
                right = [value if kept else None for value, kept in zip(changed, verdicts, strict=True)]
            else:
                right = [dict(zip(expected, row, strict=True)) for row in stats]
            if repr(found) != repr([*right, None]):
                wrong.append((function.name, found, right))
    assert not wrong


def test_functions_give_what_a_run_gives(con: Any, tmp_path: Path) -> None:
    steps = [
        {"clean_links_mapper": None},
        {"words_num_filter": {"min_num": 12}},
        {"alphanumeric_filter": {"max_ratio": 0.9}},
    ]
    run = refine(tmp_path, texts(TEXTS), steps)
    con.execute("CREATE OR REPLACE TEMP VIEW cleaned AS SELECT number, clean_links_mapper(line) AS body FROM docs")
    kept = "words_num_filter(body, min_num := 12) AND alphanumeric_filter(body, max_ratio := 0.9)"
    assert con.execute(f"SELECT number, body FROM cleaned WHERE {kept} ORDER BY 1").fetchall() == [
        (sample["id"], sample["text"]) for sample in exported(run)
    ]
    measured = "words_num_filter_stats(body).num_words"
    assert con.execute(f"SELECT number, {measured} FROM cleaned WHERE body IS NOT NULL ORDER BY 1").fetchall() == rows(
        run, "stats", "_row, num_words"
    )


def test_bounds_and_null(con: Any) -> None:
    ask = "SELECT words_num_filter('a b c'{})"
    assert [
        values(con, ask.format(more))[0] for more in ("", ", min_num := 3", ", min_num := 3.5", ", min_num := NULL")
    ] == [
        False,
        True,
        False,
        True,
    ]
    assert values(con, ask.format(", min_num := 1, max_num := 2")) == [False]
    assert values(con, "SELECT words_num_filter(NULL)") == values(con, "SELECT words_num_filter_stats(NULL)") == [None]
    per_row = "SELECT words_num_filter('a b c', min_num := bound) FROM (VALUES (2), (4)) AS t(bound)"
    assert values(con, per_row) == [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("character_repetition_filter('abc', rep_len := 0)", "character_repetition_filter: rep_len must be at least 1"),
        ("word_length_modifier('abc', model := 'other')", "model must be one of fasttext, uniseg, split"),
        ("word_length_modifier('abc', model := NULL)", "model must be one of"),
    ],
)  # fmt: skip
def test_values_that_a_recipe_refuses_are_errors(con: Any, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.execute(f"SELECT {call}").fetchall()


def test_columns_named_as_variables_of_the_functions(con: Any) -> None:
    """A macro's text is the caller's expression, whose names must not meet those of lambdas inside."""
    names = ("line", "word", "w", "x", "part", "n", "paragraph", "text", "_text_0", "min_num")
    for name in names:
        found = values(con, f"SELECT [c4_paragraph_filter({name}), words_num_filter({name}), repeated_lines_filter({name})] FROM (SELECT line AS {name}, number FROM docs) ORDER BY number")  # fmt: skip
        assert found == values(con, "SELECT [c4_paragraph_filter(line), words_num_filter(line), repeated_lines_filter(line)] FROM docs ORDER BY number")  # fmt: skip


def test_steps_under_names_of_ones_own(con: Any) -> None:
    steps = {
        "Long enough": {"words_num_filter": {"min_num": 3, "tokenization": False}},
        "masked": {"clean_email_mapper": {"repl": "<m>"}},
    }
    names = refinery.register(con, steps=steps)
    assert {"Long enough", "Long enough_stats", "masked"} <= set(names)
    assert con.execute("""SELECT "Long enough"('a b c'), "Long enough"('a b'), masked('to me@example.org')""").fetchall() == [
        (True, False, "to <m>")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ({"x": "document_deduplicator"}, r"steps\['x'\]: document_deduplicator is no function of a text: it compares samples"),
        ({"x": {"sql_filter": {"where": "score > 1"}}}, "sql_filter is no function of a text: it reads the field 'score'"),
        ({"x": {"sql_filter": {"where": "_row > 1"}}}, "it reads the number of the sample"),
        ({"clean_links_delta": "clean_email_mapper"}, "is the name of another function"),
        ({"": "clean_email_mapper"}, "Choose another name"),
        ({"x": {"words_num_filter": {"min_nmu": 1}}}, "Did you mean 'min_num'"),
    ],
)  # fmt: skip
def test_steps_that_are_no_functions(con: Any, steps: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refinery.register(con, steps=steps)


def test_operators_of_ones_own(tmp_path: Path) -> None:
    folder = operator_folder(tmp_path / "ops", shout="return text.upper()")
    with duckdb.connect() as own:
        assert "shout_mapper" in refinery.register(own, [folder])
        assert own.sql("SELECT shout_mapper('a'), shout_mapper(NULL)").fetchall() == [("A", None)]


def test_stored_functions_are_those_that_are_made(
    library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REFINERY_CACHE_DIR", str(tmp_path))
    some = {
        name: library.operators[name] for name in ("words_num_filter", "c4_v1", "language_filter", "key_deduplicator")
    }
    monkeypatch.setattr(Library, "operators", some, raising=False)
    made, read = stored_functions.__wrapped__(), stored_functions.__wrapped__()
    assert made == read and set(made) == {"words_num_filter", "c4_v1"}
    [file] = (tmp_path / "sql_functions").iterdir()
    file.write_text("{")
    assert stored_functions.__wrapped__() == made


def test_registration_can_be_repeated_and_writes_nothing(con: Any) -> None:
    assert refinery.register(con) == refinery.register(con)
    written = "database_name NOT IN ('system', 'temp') AND function_type = 'macro'"
    assert con.execute(f"SELECT count(*) FROM duckdb_functions() WHERE {written}").fetchall() == [(0,)]
