"""A carriage return in a template stays one: it is a character of the SQL, not a line end."""

from __future__ import annotations

from pathlib import Path

import pytest

import refinery
from refinery.compiler.templates import template
from refinery.recipe.expression import evaluate

HEADER = "/*---\ndoc: A test.\nversion: 1\n---*/\n"
TEXT = "a\rb\nc\r\nd"


def refined(folder: Path, name: str, source: bytes) -> str:
    """The text after an operator file of the user."""
    (folder / "ops" / "mappers").mkdir(parents=True)
    (folder / "ops" / "mappers" / name).write_bytes(source)
    recipe = {
        "operators": [str(folder / "ops")],
        "export_path": str(folder / "out.jsonl"),
        "process": [name.partition(".")[0]],
    }
    return str(refinery.run(recipe, dataset=[{"text": TEXT}]).to_arrow()["text"][0].as_py())


def python_file(sql: str) -> bytes:
    """An operator file in Python with an SQL body."""
    return f"OPERATOR = {dict(doc='A test.', version=1, params={}, sql=sql)!r}\n".encode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("'\r' {{ '\r\n' }}{{ value }}\r\n;", "'\r' \r\nv\r\r\n;"),
        ("{# a\r #}{% if\r true %}x\r{% endif %}", "x\r"),
        ("a{{ value -}} \r\n b", "av\rb"),
        ("\x1f\x1e {{ '\x1f' }}", "\x1f\x1e \x1f"),
    ],
)
def test_a_rendered_template_has_the_carriage_returns_of_its_source(body: str, expected: str) -> None:
    assert template(body).render(value="v\r") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (HEADER + "SELECT replace({{ text }}, '\r', 'CR') AS text\n", "aCRb\ncCR\nd"),
        (HEADER + "-- note\r\nSELECT replace({{ text }},\n'\r\n', 'CRLF') AS text\n", "a\rb\ncCRLFd"),
        ((HEADER + "-- note\nSELECT replace({{ text }},\n'\n', 'LF') AS text\n").replace("\n", "\r\n"), "a\rbLFc\rLFd"),
        ((HEADER + "SELECT replace({{ text }},\n'\r', 'CR') AS text\n").replace("\n", "\r\n"), "aCRb\ncCR\nd"),
    ],
    ids=["lone", "mixed line ends", "line ends of Windows", "lone among line ends of Windows"],
)
def test_an_sql_file_keeps_its_carriage_returns(tmp_path: Path, source: str, expected: str) -> None:
    assert refined(tmp_path, "own_mapper.sql", source.encode()) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT replace({{ text }}, '\r', 'CR') AS text", "aCRb\ncCR\nd"),
        ("{% set end = '\r\n' %}\r\nSELECT replace({{ text }}, {{ end | lit }}, 'CRLF') AS text\r\n", "a\rb\ncCRLFd"),
    ],
)
def test_sql_of_a_python_file_keeps_its_carriage_returns(tmp_path: Path, sql: str, expected: str) -> None:
    assert refined(tmp_path, "own_mapper.py", python_file(sql)) == expected


def test_sql_of_a_recipe_keeps_its_carriage_returns(tmp_path: Path) -> None:
    step = {"sql_mapper": {"text": "replace(text, '\r', 'CR')"}}
    run = refinery.run({"process": [step], "export_path": str(tmp_path / "out.jsonl")}, dataset=[{"text": TEXT}])
    assert run.to_arrow()["text"][0].as_py() == "aCRb\ncCR\nd"


def test_an_expression_of_a_recipe_keeps_its_carriage_returns() -> None:
    assert evaluate("value ~ '\r\n'", {"value": "v"}) == "v\r\n"
