"""The request of `refinery analyze`: a recipe whose filters only measure, made from a recipe or from data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from refinery.assets.find import find
from refinery.assets.names import needs
from refinery.common.paths import absolute
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.execution.open import changes_of, open_recipe
from refinery.io.writers.registry import NOTHING
from refinery.operators import Library, Operator, is_shipped
from refinery.recipe import Recipe
from refinery.recipe.override import Override, parse_variables

_RECIPES = (".yaml", ".yml")
_WITH_STATS = ("filter", "stats")


@dataclass(frozen=True)
class AnalysisRequest:
    """A measuring recipe, its operators, and the names of the statistics to describe (empty: all)."""

    recipe: Recipe
    library: Library
    names: tuple[str, ...]


def is_recipe(path: str) -> bool:
    """Return whether a path names a recipe; everything else is data, JSON too."""
    return path.lower().endswith(_RECIPES)


def from_command_line(
    path: str | None,
    options: Sequence[str],
    sets: Sequence[str],
    variables: Sequence[str],
    operators: Sequence[str],
    names: Sequence[str],
    group_by: str | None,
    folder: str | None,
    recipe: bool | None = None,
) -> AnalysisRequest:
    """The request of a command: DATA or RECIPE, changes of keys, --stats and --group-by.

    recipe: whether the path names a recipe; None: its suffix decides. Raises RecipeError.
    """
    changes = changes_of(options, sets, variables)
    if path is None:
        raise RecipeError([Problem("", "nothing to analyze is given", "Write refinery analyze docs.jsonl.")])
    if group_by:
        changes.append(Override(("stat_summary", "group_by"), group_by, "--group-by", is_text=False))
    if recipe if recipe is not None else is_recipe(path):
        opened, library = open_recipe(path, changes, parse_variables(variables), operators)
        opened = _appended(opened, library, _missing(opened, library, names))
        if not any(change.path == ("stat_summary", "export") for change in changes):
            # The recipe's statistics files cover the samples that reach its filters; an analysis would replace them.
            opened = replace(opened, stat_summary=replace(opened.stat_summary, export=None))
        default = Path(opened.work_dir) / "analysis"
    else:
        opened, library = _of_data(path, changes, operators, names)
        default = Path("outputs") / f"{stem(path)}_analysis"
        default = default / opened.portion.folder if opened.portion is not None else default
    return AnalysisRequest(_measuring(opened, folder or str(default)), library, tuple(names))


def _measuring(recipe: Recipe, folder: str) -> Recipe:
    """The recipe for the analysis: no sample is removed or written."""
    own = recipe.stat_summary  # moments are always computed, for all statistics
    summary = replace(own, groups=tuple(dict.fromkeys(("summary", *own.groups))), stats=())
    quiet = replace(recipe, export_type=NOTHING, keep_stats_in_res_ds=False)
    return replace(quiet, measure_only=True, work_dir=absolute(folder), stat_summary=summary)


def _of_data(
    path: str, changes: Sequence[Override], operators: Sequence[str], names: Sequence[str]
) -> tuple[Recipe, Library]:
    library = Library(tuple(operators))
    steps = operators_of(names, library) if names else default_operators(library)
    content: dict[str, Any] = {"project_name": stem(path), "dataset_path": [path], "process": list(steps)}
    return open_recipe(content, changes, operators=operators)


def stem(path: str) -> str:
    """Name of a file, folder or pattern, without suffixes and pattern characters."""
    name = os.path.basename(os.path.normpath(path)).partition(".")[0]
    kept = "".join(c if c.isalnum() or c in "-_" else "_" for c in name).strip("_")
    return kept or "data"


def default_operators(library: Library) -> list[str]:
    """Filters that compute statistics with their defaults alone: no parameter, file or package is missing.

    Of shipped filters those of Data-Juicer, as its analyzer has it: other pipelines measure the same in other words.
    """
    return [
        name
        for name, operator in library.operators.items()
        if operator.kind == "filter" and operator.bounds and not operator.alias_of
        if "Data-Juicer" in operator.peer or not is_shipped(operator.path)
        if _runs_by_default(operator)
    ]


def _runs_by_default(operator: Operator) -> bool:
    if any(param.required for param in operator.params.values()):
        return False
    if any(find_spec(module.partition(".")[0]) is None for module in operator.needs):
        return False
    params = _defaults(operator)
    for need in needs(params, operator.params):  # models and word lists that are on this machine are used
        params[need.param], _ = find(need)
        if params[need.param] is None:
            return False
    return not operator.check(params)


def _defaults(operator: Operator) -> dict[str, Any]:
    return {name: param.default for name, param in operator.params.items()}


def operators_of(names: Iterable[str], library: Library) -> list[str]:
    """Operators for names of operators, or of statistics that an operator computes by default.

    Raises RecipeError with every name that is neither.
    """
    operators: list[str] = []
    problems: list[Problem] = []
    measuring = {name: op for name, op in library.operators.items() if op.kind in _WITH_STATS and not op.alias_of}
    stats: dict[str, str] = {}
    for name, operator in sorted(measuring.items(), key=lambda item: _WITH_STATS.index(item[1].kind)):
        for stat in operator.stats_of(_defaults(operator)):
            stats.setdefault(stat, name)
    for name in dict.fromkeys(names):
        if name in measuring and measuring[name].stats:
            operators.append(name)
        elif name in stats:
            operators.append(stats[name])
        else:
            problems.append(_unknown(name, library, [*measuring, *stats]))
    if problems:
        raise RecipeError(problems)
    return list(dict.fromkeys(operators))


def _unknown(name: str, library: Library, known: Iterable[str]) -> Problem:
    if name in library.operators:
        return Problem(
            "--stats", f"{name} computes no statistic", "`refinery ops NAME` shows what an operator computes."
        )
    return Problem("--stats", f"there is no operator or statistic {name!r}{did_you_mean(name, known)}")


def _missing(recipe: Recipe, library: Library, names: Sequence[str]) -> list[str]:
    """Operators to add to a recipe for the statistics that its own steps do not compute."""
    known = {step.name for step in recipe.steps}
    for step in recipe.steps:
        stats = library.operators[step.name].stats_of(step.params)
        known |= {*stats, *(f"{name}_{step.index}" for name in stats)}
    return operators_of([name for name in names if name not in known], library)


def _appended(recipe: Recipe, library: Library, operators: Sequence[str]) -> Recipe:
    """The recipe with further operators at its end, which measure the texts as its mappers leave them."""
    if not operators:
        return recipe
    content = {"dataset_path": "-", "process": list(operators)}
    added, _ = open_recipe(content, operators=recipe.operators)
    last = len(recipe.steps)
    steps = tuple(replace(step, index=last + step.index, file="--stats") for step in added.steps)
    return replace(recipe, steps=(*recipe.steps, *steps))
