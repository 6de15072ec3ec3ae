"""The text of `refinery schema`, which is also `recipes/schema.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from refinery.operators import Library
from refinery.recipe.schema import recipe_schema


def page(operators: Sequence[str] = ()) -> str:
    """The JSON Schema of recipes with the shipped operators and those of some folders."""
    return json.dumps(recipe_schema(Library(tuple(operators))), indent=1, ensure_ascii=False)
