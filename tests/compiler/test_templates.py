"""Templates and SQL are understood by their trees: quotes, comments and texts that look like calls change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.compiler.templates import Argument, arguments, asks_for
from refinery.operators import Library
from refinery.planning.settings import PlanSettings
from refinery.recipe import loads
from refinery.recipe.sql import split_comments, tokens_of

BODY = """
{# feature('in_a_comment') #}
SELECT {{ feature("words") }}, {{ feature( 'lines' ) }}, {{ feature(name) }}, {{ feature('a' ~ 'b') }},
  'feature("in_sql")' AS text, {{ "feature('in_a_text')" | lit }}, {{ feature("words") }}, {{ other.feature('x') }}
"""


def test_arguments_of_calls() -> None:
    assert arguments(BODY, "feature") == (Argument("words"), Argument("lines"), Argument("name", is_variable=True))


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("SELECT {{ suffix }} AS s", True),
        ("{% if suffix == '.md' %}SELECT 1{% endif %}", True),
        ("SELECT 'suffix' AS s {# {{ suffix }} #} -- suffix", False),
        ("SELECT {{ 'suffix' | lit }} AS s", False),
    ],
)
def test_a_variable_is_asked_for_in_code_alone(body: str, asked: bool) -> None:
    assert asks_for(body, "suffix") is asked


def library_with(folder: Path, kind: str, name: str, header: str, body: str) -> Library:
    (folder / kind).mkdir()
    (folder / kind / f"{name}.sql").write_text(f"/*---\ndoc: A test.\nversion: 1\n{header}---*/\n{body}\n")
    return Library((folder,))


HEADER = """params:
  least: {type: int, default: 3}
  most: {type: int, default: null}
stats:
  size: {type: BIGINT}
bounds:
  size: [least, most]
"""


@pytest.mark.parametrize(
    ("more", "conditional"),
    [
        (", {{ text }} <> '' AS keep", True),
        (""", {{ text }} <> '' AS "keep\"""", True),
        (", {{ text }} <> '' keep", True),
        (" -- AS keep", False),
        (" /* AS keep */", False),
        ("", False),
    ],
)
def test_a_condition_besides_bounds_is_seen_in_the_statement(tmp_path: Path, more: str, conditional: bool) -> None:
    body = f"SELECT length({{{{ text }}}}) + length(' AS keep ') AS size{more}"
    library = library_with(tmp_path, "filters", "size_filter", HEADER, body)
    recipe = loads("process: [size_filter]", library=library, need_inputs=False)
    _, chain = build(recipe.steps, library, Schema(True, {}), ("text",))
    assert chain.conditions == ({1} if conditional else set())


def test_fields_that_operators_read(tmp_path: Path) -> None:
    body = """SELECT {{ field("score") }} IS NOT NULL {# {{ field('comment') }} #} AND {{ field(by) }} <> 'field(''sql'')' AS keep"""
    library = library_with(tmp_path, "filters", "read_filter", "params: {by: {type: str, default: lang}}\n", body)
    recipe = loads("process: [read_filter]", library=library, need_inputs=False)
    found = [(named.field, named.by) for named in PlanSettings.of(recipe, library).names.named]
    assert found == [("text", "text_keys"), ("score", "read_filter"), ("lang", "read_filter.by")]


def test_a_script_names_the_functions_that_it_calls(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    recipe: dict[str, Any] = {
        "dataset_path": str(tmp_path / "in.jsonl"),
        "export_path": str(tmp_path / "out.jsonl"),
        "process": [{"sql_filter": {"where": "text <> 'hamming_pairs(1)' /* set_member(2) */"}}],
    }
    assert "because it calls" not in refinery.compile(recipe)


def test_tokens() -> None:
    assert tokens_of("SELECT 'a /* b */' /* c */ -- d\n, \"e\"") == [
        ("SELECT", "SELECT"),
        ("STRING", "a /* b */"),
        ("COMMA", ","),
        ("IDENTIFIER", "e"),
    ]
    with pytest.raises(ValueError):
        tokens_of("SELECT 'a")


def test_lines_of_texts_are_no_comments() -> None:
    sql = "-- first\nSELECT 'a\n-- b\n' AS x, -- c\n-- second\n1 AS y\n"
    assert split_comments(sql) == (["-- first", "-- second"], "SELECT 'a\n-- b\n' AS x, -- c\n1 AS y\n")


def test_a_script_keeps_texts_with_lines_that_look_like_comments(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    recipe: dict[str, Any] = {
        "dataset_path": str(tmp_path / "in.jsonl"),
        "export_path": str(tmp_path / "out.jsonl"),
        "process": [{"sql_filter": {"where": "text <> 'x\n-- looks like one\ny'"}}],
    }
    assert not [line for line in refinery.compile(recipe).split("\n\n") if line.startswith("-- looks like one")]
    assert refinery.compile(recipe).count("x\n-- looks like one\ny") == 2  # the condition, and the reason in the ledger
