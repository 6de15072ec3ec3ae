"""Plans a recipe and checks what its run needs besides samples: places to write to, packages, assets, statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from functools import partial
from importlib.util import find_spec
from typing import Any

from refinery.common.extras import install_command
from refinery.errors import Problem, RecipeError, by_place, error_of
from refinery.execution.assets import require_locked
from refinery.io.model import Source
from refinery.operators import Library
from refinery.planning.phase import Findings, Phase, attempt
from refinery.planning.pipeline import PlanRequest, walk
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.executors import EXECUTORS
from refinery.recipe.model import Step
from refinery.recipe.portion import Portion
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
    problems = [*phase.problems, *check_needs(plan.recipe, plan.sources, probes).problems]
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
    needs = check_needs(rest.recipe, phase.value.sources, wrong={problem.where for problem in error.problems})
    return RecipeError(by_place([*error.problems, *phase.problems, *needs.problems]))


def check_needs(
    recipe: Recipe, sources: Sequence[Source], probes: bool = True, wrong: AnySet[str] = frozenset()
) -> Phase[None]:
    """Check what a run needs besides its samples. sources: of the input. wrong: places of the recipe with known problems."""
    findings = Findings()
    for key, look in _looks(recipe, sources, probes):
        place = recipe.places.get(key)
        is_derived = key == "work_dir" and place is None and any(known.kind == "output" for known in findings.problems)
        if not is_derived and (place not in wrong or key == "process"):
            findings.value_of(attempt(look, None, place or ""))
    return Phase(None, tuple(findings.problems))


def _looks(recipe: Recipe, sources: Sequence[Source], probes: bool) -> Iterator[tuple[str, Callable[[], None]]]:
    """Checks, each with the key of the recipe that it is about."""
    steps, outputs, portion = recipe.steps, recipe.outputs, recipe.portion
    yield "executor_type", partial(_require_package, recipe.executor_type, recipe.place_of("executor_type"))
    yield "process", partial(merging.check, () if recipe.measure_only else steps, recipe.stat_summary)
    yield "process", partial(require_locked, recipe.path, recipe.assets_of_steps)
    if recipe.exports and recipe.repeat_by is None:
        yield "process", partial(_require_no_repeats, steps)
    if portion is not None:
        yield "process", partial(_require_no_index, steps, portion)
    yield "export_path", partial(keep_inputs, outputs, sources)
    if probes or not is_url(outputs.export.path):
        yield "export_path", partial(require_place, outputs.export)
    if outputs.removed is not None and (probes or not is_url(outputs.removed.path)):
        yield "removed_path", partial(require_place, outputs.removed)
    yield "work_dir", partial(require_folders, outputs)


def _require_no_index(steps: Sequence[Step], portion: Portion) -> None:
    """Check that no index would be extended by a part of the samples, which later runs would take for copies of it."""
    steps = [step for step in steps if step.params.get("index")]
    what = f"the index would remember {portion.description}"
    cure = "Leave out limit, sample and skip, or skip this step, too."
    if steps:
        raise RecipeError([Problem(step.where, f"{step.name}: {what}", cure) for step in steps])


def _require_package(executor_type: str, place: str) -> None:
    package = EXECUTORS[executor_type].package
    if package is not None and find_spec(package) is None:
        what = f"executor_type: {executor_type} needs the Python package {package}"
        cure = f"Install it: {install_command(package)}"
        raise RecipeError([Problem(place, what, cure)])


def _require_no_repeats(steps: Sequence[Step]) -> None:
    """Check that no share is above 1, which repeats samples: the export would have each once."""
    what = f"{BY_BUCKET}: shares above 1 repeat samples, and the recipe has no repeat_by, so each would be written once"
    hint = "Add repeat_by: bucket_repeats to the recipe, or use shares up to 1."
    steps = [step for step in steps if step.name == BY_BUCKET and _largest_share(step.params) > 1]
    if steps:
        raise RecipeError([Problem(step.where, what, hint) for step in steps])


def _largest_share(params: Mapping[str, Any]) -> float:
    shares = params["shares"]
    return max([params["others"], *(shares.values() if isinstance(shares, Mapping) else shares)])
