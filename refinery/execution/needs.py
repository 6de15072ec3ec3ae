"""Plans a recipe and checks what its run needs besides samples: places to write to, packages, assets, statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AnySet
from functools import partial
from importlib.util import find_spec
from typing import Any

from refinery.common.extras import install_command
from refinery.errors import Problem, RecipeError, by_place, error_of
from refinery.execution.assets import require_locked
from refinery.operators import Library
from refinery.planning.phase import Findings, Phase, attempt
from refinery.planning.pipeline import PlanRequest, walk
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.executors import EXECUTORS
from refinery.results.output_checks import keep_inputs, require_folders, require_own, require_place
from refinery.stats import step as merging
from refinery.storage.urls import is_url

# The operator whose shares may repeat samples.
BY_BUCKET = "sample_by_bucket"


def ready(
    recipe: Recipe,
    library: Library,
    dataset: Any = None,
    probes: bool = True,
    overwrite: bool = False,
    **options: Any,
) -> Plan:
    """Plan a recipe whose run can begin.

    probes: test that the URL of the export can be written to. overwrite: accept existing files that no run has written.
    options: of `PlanRequest`. Raises one error with all problems: RecipeError if the recipe has one, else DataError,
    else OutputError.
    """
    phase = walk(PlanRequest(recipe, library, **{"runs": False, **options}), dataset)
    require(phase, probes, overwrite)
    return phase.value


def require(phase: Phase[Plan], probes: bool = True, overwrite: bool = False) -> None:
    """Check that the run of a plan can begin. Raises one error with the problems of the plan and of its run's needs."""
    plan = phase.value
    problems = [*phase.problems, *check_needs(plan, probes).problems]
    if not problems:  # what a run writes is known of a sound plan alone
        place = plan.recipe.places.get("export_path", "")
        problems += attempt(
            partial(require_own, plan.recipe.outputs, plan.stages, overwrite, probes), None, place
        ).problems
    if problems:
        raise error_of(problems)


def with_the_rest(error: RecipeError, reads: bool = True) -> RecipeError:
    """The error of a recipe that could not be read, with the problems of the rest of the recipe.

    reads: the recipe names its inputs.
    """
    rest = error.partial
    if rest is None:
        return error
    phase = walk(PlanRequest(rest.recipe, rest.library, reads=reads, lost=rest.lost, runs=False))
    needs = check_needs(phase.value, wrong={problem.where for problem in error.problems})
    return RecipeError(by_place([*error.problems, *phase.problems, *needs.problems]))


def check_needs(plan: Plan, probes: bool = True, wrong: AnySet[str] = frozenset()) -> Phase[None]:
    """Check what a run needs besides its samples. wrong: places of the recipe with known problems."""
    recipe, findings = plan.recipe, Findings()
    for key, look in _looks(plan, probes):
        place = recipe.places.get(key)
        is_derived = key == "work_dir" and place is None and any(known.kind == "output" for known in findings.problems)
        if not is_derived and (place not in wrong or key == "process"):
            findings.take(attempt(look, None, place or ""))
    return Phase(None, tuple(findings.problems))


def _looks(plan: Plan, probes: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """Checks, each with the key of the recipe that it is about."""
    recipe = plan.recipe
    yield "executor_type", partial(_require_package, recipe)
    yield "process", partial(merging.check, recipe)
    yield "process", partial(require_locked, recipe.path, recipe.assets_of_steps)
    yield "process", partial(_require_repeats, recipe)
    yield "process", partial(_require_whole_for_index, recipe)
    yield "export_path", partial(keep_inputs, recipe.outputs, plan.sources)
    if probes or not is_url(recipe.export_path):
        yield "export_path", partial(require_place, recipe.export)
    if recipe.removed is not None and (probes or not is_url(recipe.removed.path)):
        yield "removed_path", partial(require_place, recipe.removed)
    yield "work_dir", partial(require_folders, recipe.outputs)


def _require_whole_for_index(recipe: Recipe) -> None:
    """Check that no index would be extended by a part of the samples, which later runs would take for copies of it."""
    steps = [step for step in recipe.steps if step.params.get("index")] if recipe.portion is not None else []
    what = f"the index would remember {recipe.portion.description if recipe.portion else ''}"
    cure = "Leave out limit, sample and skip, or skip this step, too."
    if steps:
        raise RecipeError([Problem(step.where, f"{step.name}: {what}", cure) for step in steps])


def _require_package(recipe: Recipe) -> None:
    package = EXECUTORS[recipe.executor_type].package
    if package is not None and find_spec(package) is None:
        what = f"executor_type: {recipe.executor_type} needs the Python package {package}"
        cure = f"Install it: {install_command(package)}"
        raise RecipeError([Problem(recipe.place_of("executor_type"), what, cure)])


def _require_repeats(recipe: Recipe) -> None:
    """Check that shares above 1, which repeat samples, are followed by the export."""
    if recipe.repeat_by is not None or not recipe.exports:
        return
    what = f"{BY_BUCKET}: shares above 1 repeat samples, and the recipe has no repeat_by, so each would be written once"
    hint = "Add repeat_by: bucket_repeats to the recipe, or use shares up to 1."
    steps = [step for step in recipe.steps if step.name == BY_BUCKET and _largest_share(step.params) > 1]
    if steps:
        raise RecipeError([Problem(step.where, what, hint) for step in steps])


def _largest_share(params: Mapping[str, Any]) -> float:
    shares = params["shares"]
    return max([params["others"], *(shares.values() if isinstance(shares, Mapping) else shares)])
