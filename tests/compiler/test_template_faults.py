"""A fault in a user's operator file is named with file, line and cure, before any data is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.errors import RecipeError
from refinery.operators import Library
from refinery.recipe import loads

HEADER = "/*---\ndoc: A test.\nversion: 1\n---*/\n"  # the body begins in line 5
ANY_FIELDS = Schema(True)


def fault(
    folder: Path,
    kind: str,
    name: str,
    body: str,
    features: tuple[tuple[str, str], ...] = (),
    schema: Schema = ANY_FIELDS,
) -> str:
    """The one problem of a recipe with an operator file of this body."""
    for place, file, source in ((kind, name, body), *(("features", *feature) for feature in features)):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / f"{file}.sql").write_text(HEADER + source + "\n")
    library = Library((folder,))
    with pytest.raises(RecipeError) as caught:
        build(loads(f"process: [{name}]", library=library, need_inputs=False).steps, library, schema, ("text",))
    (problem,) = caught.value.problems
    return problem.what


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("SELECT\n lower({{ txt }}) AS text", 6, "there is no variable 'txt'. Did you mean 'text'?"),
        ("SELECT lower({{ text }) AS text", 5, "the template cannot be read: unexpected '}'"),
        ("SELECT\n\n {{ text | litt }} AS text", 7, "there is no filter 'litt'. Did you mean 'lit'?"),
        ("SELECT {% if true %} 1 AS text", 5, "the template cannot be read: Unexpected end of template"),
        ("SELECT\n lower({{ text }} AS text", 6, "the SQL cannot be read: Expecting ), at 'AS'"),
        ("SELECT {{ feature('wordz') }} AS text", 5, "there is no feature 'wordz'. Did you mean 'words'?"),
        ("SELECT {{ 1 / 0 }} AS text", 5, "ZeroDivisionError: division by zero"),
        ("SELECT {{ text }} AS text,\n 1 AS txt\nFROM x", 5, "its body has FROM"),
        ("SELECT {{ text }} AS txt", 5, "a mapper must select `AS text` or `AS delta`"),
        ("SELECT\n unnest([{{ text }}]) AS text", 5, "gives more than one value for a sample"),
        ("SELECT generate_subscripts([{{ text }}], 1) AS text", 5, "gives more than one value for a sample"),
        ("SELECT max({{ text }}) AS text", 5, "looks at more than one row"),
    ],
)
def test_a_fault_of_a_template_has_its_file_and_line(tmp_path: Path, body: str, line: int, what: str) -> None:
    found = fault(tmp_path, "mappers", "own_mapper", body)
    assert found.startswith(f"own_mapper: {tmp_path}/mappers/own_mapper.sql:{line}: ")
    assert what in found


@pytest.mark.parametrize(
    ("kind", "name", "body"),
    [
        ("mappers", "own_mapper", "SELECT\n lower(titel) AS text"),
        ("filters", "own_filter", "SELECT\n titel IS NULL AS keep"),
        ("mappers", "own_mapper", "SELECT\n titel || 'x' AS _inner, upper(_inner) AS text"),
    ],
)
@pytest.mark.parametrize("lines", [True, False])
def test_a_field_that_no_sample_has_is_a_fault_of_the_template(
    tmp_path: Path, kind: str, name: str, body: str, lines: bool
) -> None:
    found = fault(tmp_path, kind, name, body, schema=Schema(lines, {"text": "VARCHAR", "title": "VARCHAR"}))
    assert found == f"{name}: {tmp_path}/{kind}/{name}.sql:6: no column or statistic 'titel'. Did you mean 'title'?"


@pytest.mark.parametrize("body", ["length({{ txt }})", "unnest([{{ text }}])"])
def test_a_fault_of_a_feature_has_the_file_of_the_feature(tmp_path: Path, body: str) -> None:
    found = fault(tmp_path, "mappers", "own_mapper", "SELECT {{ feature('own') }} AS text", (("own", body),))
    assert found.startswith(f"own_mapper: {tmp_path}/features/own.sql:5: ")


def test_a_fault_in_a_python_file_has_the_line_within_its_text(tmp_path: Path) -> None:
    (tmp_path / "mappers").mkdir()
    lines = [
        'OPERATOR = {"doc": "A test.", "version": 1, "params": {},',
        ' "sql": """',
        "  SELECT",
        "   {{ txt }} AS text",
        ' """}',
    ]
    (tmp_path / "mappers" / "own_mapper.py").write_text("\n".join(lines))
    library = Library((tmp_path,))
    recipe = loads("process: [own_mapper]", library=library, need_inputs=False)
    with pytest.raises(RecipeError, match=r"own_mapper\.py:4: there is no variable 'txt'"):
        build(recipe.steps, library, Schema(True), ("text",))
