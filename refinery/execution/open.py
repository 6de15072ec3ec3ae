"""Opens a recipe: its text, the operators that it may use, the changes from the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.common.paths import absolute
from refinery.errors import Problem, RecipeError
from refinery.execution.needs import with_the_rest
from refinery.operators import Library
from refinery.recipe import Recipe, load
from refinery.recipe.load import Guard as AnyGuard
from refinery.recipe.override import Override, overrides_of, parse_overrides, parse_set, parse_variables
from refinery.security.safe_mode import SafeRecipe, default_roots


class _Opener:
    """Makes the library when the operator folders of the recipe are known."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        self._folders = tuple(folders)
        self.library = Library()

    def __call__(self, folders: Sequence[str] = ()) -> Library:
        self.library = Library(tuple(dict.fromkeys((*self._folders, *folders))))
        return self.library


def open_recipe(
    recipe: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Sequence[Override] = (),
    variables: Mapping[str, Any] | None = None,
    operators: Sequence[str | Path] = (),
    need_inputs: bool = True,
    guard: AnyGuard | None = None,
) -> tuple[Recipe, Library]:
    """Load and check a recipe; return it with the operators that it was checked against.

    need_inputs: False if the samples do not come from the recipe's inputs. guard: of `--safe`. Raises RecipeError with
    every problem at once, including those of the data and of the places to write to.
    """
    changes = overrides_of(overrides) if isinstance(overrides, Mapping) else list(overrides)
    opener = _Opener(operators)
    try:
        loaded = load(recipe, changes, variables, library=opener, need_inputs=need_inputs, guard=guard)
    except RecipeError as error:
        raise with_the_rest(error, need_inputs) from None
    if operators:  # stored in the recipe, for commands that open the run's recipe later
        folders = (absolute(str(folder)) for folder in operators)
        loaded = replace(loaded, operators=tuple(dict.fromkeys((*folders, *loaded.operators))))
    return loaded, opener.library


def open_from_command_line(
    recipe: str | None,
    options: Sequence[str],
    sets: Sequence[str],
    variables: Sequence[str],
    operators: Sequence[str],
    roots: Sequence[str] | None = None,
) -> tuple[Recipe, Library]:
    """Open a command's recipe with its `--key value` options, `--set` and `--var`.

    roots: of `--safe`, the folders that the recipe may name; empty: the recipe's own and the current one. None: not safe.
    """
    changes = changes_of(options, sets, variables)
    if recipe is None:
        raise RecipeError([Problem("", "no recipe is given", "Write refinery run recipe.yaml.")])
    guard = SafeRecipe(roots or default_roots(recipe)) if roots is not None else None
    if guard is not None and operators:
        raise RecipeError(
            [Problem("--operators", "--safe: folders of operators are code", "Leave out one of the two.")]
        )
    return open_recipe(recipe, changes, parse_variables(variables), operators, guard=guard)


def changes_of(options: Sequence[str], sets: Sequence[str], variables: Sequence[str]) -> list[Override]:
    """Changes from the command line. Raises RecipeError with the problems of all options."""
    changes: list[Override] = []
    problems: list[Problem] = []

    def look(read: Callable[[Any], Any], argument: Any) -> Any:
        try:
            return read(argument)
        except RecipeError as error:
            problems.extend(error.problems)
            return []

    changes += look(parse_overrides, options)
    changes += [change for text in sets if (change := look(parse_set, text))]
    look(parse_variables, variables)
    if problems:
        raise RecipeError(problems)
    return changes
