"""Opens a recipe: its text, the operators that it may use, what the command line changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.errors import Problem, RecipeError
from refinery.library import Library
from refinery.recipe import Recipe, load
from refinery.recipe.override import Override, overrides_of, parse_overrides, parse_set, parse_variables


class _Opener:
    """Makes the library once the recipe has said which folders it needs."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        self._given = tuple(folders)
        self.library = Library()

    def __call__(self, folders: Sequence[str] = ()) -> Library:
        self.library = Library(tuple(dict.fromkeys((*self._given, *folders))))
        return self.library


def open_recipe(
    recipe: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Sequence[Override] = (),
    variables: Mapping[str, Any] | None = None,
    operators: Sequence[str | Path] = (),
    need_inputs: bool = True,
) -> tuple[Recipe, Library]:
    """Load and check a recipe; returns it with the operators that it was checked against.

    need_inputs: False when the samples are handed over otherwise. Raises RecipeError with every problem at once.
    """
    changes = overrides_of(overrides) if isinstance(overrides, Mapping) else list(overrides)
    opener = _Opener(operators)
    loaded = load(recipe, changes, variables, library=opener, need_inputs=need_inputs)
    if operators:  # noted as the recipe's own, for those who open the run's recipe later
        loaded = replace(loaded, operators=tuple(dict.fromkeys((*map(str, operators), *loaded.operators))))
    return loaded, opener.library


def open_from_command_line(
    recipe: str | None, options: Sequence[str], sets: Sequence[str], variables: Sequence[str], operators: Sequence[str]
) -> tuple[Recipe, Library]:
    """Open what a command was given: the recipe's path, `--key value` options, `--set` and `--var`."""
    if recipe is None:
        raise RecipeError([Problem("", "no recipe is given", "Write refinery run recipe.yaml.")])
    changes = [*parse_overrides(options), *(parse_set(text) for text in sets)]
    return open_recipe(recipe, changes, parse_variables(variables), operators)
