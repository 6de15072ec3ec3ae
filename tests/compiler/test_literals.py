"""A text that is no number cannot be compared with a column of numbers: each sample would fail."""

from __future__ import annotations

import pytest

from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.errors import RecipeError
from refinery.operators import Library
from refinery.recipe import loads

SCHEMA = Schema(True, {"id": "BIGINT", "score": "DOUBLE", "name": "VARCHAR", "tags": "BIGINT[]"})


def compiled(where: str) -> None:
    library = Library()
    recipe = loads(f'process: [sql_filter: {{where: "{where}"}}]', library=library, need_inputs=False)
    build(recipe.steps, library, SCHEMA, ("text",))


@pytest.mark.parametrize("where", ["id = '1a'", "'x' < score", "id IN (1, 'two')", "score BETWEEN '0' AND 'many'"])
def test_a_text_that_is_no_number_is_refused(where: str) -> None:
    with pytest.raises(RecipeError, match=r"is no number; compare it with a number, or CAST it AS VARCHAR"):
        compiled(where)


@pytest.mark.parametrize("where", ["score < 9007199254740993", "score IN (1, 9007199254740993)"])
def test_a_number_that_a_double_would_round_is_refused(where: str) -> None:
    with pytest.raises(
        RecipeError, match="score is DOUBLE, in which 9007199254740993 would be 9007199254740992; declare"
    ):
        compiled(where)


@pytest.mark.parametrize(
    "where",
    [
        "score = CASE WHEN id = 9007199254740993 THEN 1 END",
        f"score < 1{'0' * 400}",
        "score < 9007199254740992",
        "id < 9007199254740993",
        "id = '1'",
        "score > '0.5'",
        "name = '1a'",
        "CAST(id AS VARCHAR) = '1a'",
        "tags[1] = 3",
        "'1a' = name AND id = 3",
    ],
)
def test_other_comparisons_are_not(where: str) -> None:
    compiled(where)
