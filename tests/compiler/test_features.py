"""Features with parameters, and features made of features: computed once for each version of a text and each value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.compiler.model import Schema
from refinery.compiler.program import Program, build
from refinery.errors import OperatorError, RecipeError
from refinery.execution.open import open_recipe

COUNTED = """/*---
doc: Times that a letter occurs.
version: 1
params: [letter]
---*/
length({{ text }}) - length(replace({{ text }}, {{ letter | lit }}, ''))
"""
DOUBLED = """/*---
doc: Twice the number of a letter.
version: 1
params: [letter]
---*/
2 * {{ feature('counted', letter=letter) }}
"""
FILTER = """/*---
doc: Keep samples with few letters of a kind.
version: 1
params: {letter: {type: str, doc: A letter.}, most: {type: int, default: 9, doc: Most.}}
stats: {letters: {type: BIGINT, doc: Number.}}
bounds: {letters: [most, most]}
---*/
SELECT {{ feature('%s', letter=letter) }} AS letters
"""
VARIABLES = '''"""Times that a letter occurs, as a share of a number that the file makes."""

FEATURE = {
    "doc": "Times that a letter occurs, and a number.",
    "version": 1,
    "params": ["letter"],
    "variables": "number",
    "functions": {},
    "sql": "instr({{ text }}, {{ letter | lit }}) + {{ more }}",
}


def number(params):
    return {"more": 100 * len(params["letter"])}
'''


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    (folder / "features").mkdir(parents=True)
    (folder / "filters").mkdir()
    (folder / "features" / "counted.sql").write_text(COUNTED)
    (folder / "features" / "doubled.sql").write_text(DOUBLED)
    (folder / "features" / "numbered.py").write_text(VARIABLES)
    for name in ("counted", "doubled", "numbered"):
        (folder / "filters" / f"{name}_filter.sql").write_text(FILTER % name)
    return folder


def compiled(operators: Path, *steps: dict[str, Any], share: bool = True) -> tuple[Program, Any]:
    recipe, library = open_recipe({"process": list(steps), "operators": [str(operators)]}, need_inputs=False)
    return build(recipe.steps, library, Schema(True), ("text",), share)


def test_one_column_for_each_value(operators: Path) -> None:
    steps = [{"counted_filter": {"letter": letter}} for letter in ("a", "b", "a")]
    _, chain = compiled(operators, *steps)
    assert list(chain.features.values()) == [[1, 3], [2]]
    _, chain = compiled(operators, *steps, share=False)
    assert list(chain.features.values()) == [[1], [2], [3]]


def test_made_of_another(operators: Path) -> None:
    """A step that uses a feature uses the features that this one is made of, also where it shares it."""
    steps: list[dict[str, Any]] = [{"doubled_filter": {"letter": "a"}}] * 2 + [{"counted_filter": {"letter": "a"}}]
    _, chain = compiled(operators, *steps)
    assert sorted(chain.features.values()) == [[1, 2], [1, 2, 3]]


def test_results(operators: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "abba"}\n{"text": "xaxaxax"}\n')
    steps = [{f"{name}_filter": {"letter": "a", "reversed_range": True}} for name in ("counted", "doubled", "numbered")]
    run = refinery.run(
        {
            "dataset_path": str(tmp_path / "docs.jsonl"),
            "export_path": str(tmp_path / "out.jsonl"),
            "operators": [str(operators)],
            "process": steps,
        }
    )
    assert run.sql("SELECT letters, letters_2, letters_3 FROM stats ORDER BY _row").fetchall() == [
        (2, 4, 101),
        (3, 6, 102),
    ]


@pytest.mark.parametrize("given", ["", ", letter='a', more=1", ", other='a'"])
def test_wrong_parameters(operators: Path, given: str) -> None:
    broken = FILTER.replace(", letter=letter", given) % "counted"
    (operators / "filters" / "counted_filter.sql").write_text(broken)
    with pytest.raises(RecipeError, match="feature counted gets the parameters"):
        compiled(operators, {"counted_filter": {"letter": "a"}})


@pytest.mark.parametrize("params", ["letter", "[text]", "[1]", "{a: 1}"])
def test_wrong_header(operators: Path, params: str) -> None:
    (operators / "features" / "counted.sql").write_text(COUNTED.replace("[letter]", params))
    with pytest.raises(OperatorError, match=r"params must be a list of names|cannot be named text"):
        compiled(operators, {"counted_filter": {"letter": "a"}})
