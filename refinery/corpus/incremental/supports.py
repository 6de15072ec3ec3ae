"""Recipes that the incremental engine can run, and reasons why it cannot run others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refinery.compiler.stages import cut_at_barriers
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.operators import Library
from refinery.planning.plan import Plan
from refinery.recipe import Recipe
from refinery.recipe.executors import on_cluster

# Rules of deduplicators of units whose statements treat every key by itself.
_RULES = {"more_documents_than", "first_stays"}
# Parameters of deduplicators that look at all samples.
_GLOBAL = ("index", "max_cluster_size", "max_removed_share")


def refusals(recipe: Recipe, library: Library) -> list[str]:
    """Reasons why the incremental engine cannot run a recipe; none if it can."""
    return [
        *_of_keys(recipe),
        *(reason for step in recipe.steps for reason in _of_step(step, library)),
        *_of_stages(recipe, library),
    ]


def plan_refusals(plan: Plan) -> list[str]:
    """Reasons that are known when a recipe is compiled."""
    reasons = []
    for planned in plan.stages:
        kinds = {column.kind for column in planned.program.batch_columns}
        if "row" in kinds:
            reasons.append("a step's SQL names the number of the sample, _row, which changes with withdrawals")
        if "suffix" in kinds and not planned.stage.first:
            reasons.append("a step after a deduplicator reads the suffix of the sample's file")
    return list(dict.fromkeys(reasons))


def _of_keys(recipe: Recipe) -> Iterator[str]:
    """Keys of the recipe whose meaning depends on all samples, or that write further files."""
    given = {
        "limit": recipe.limit is not None,
        "sample": recipe.sample is not None,
        "skip": bool(recipe.skipped),
        "max_quarantined": recipe.max_quarantined is not None,
        "measure_only": recipe.measure_only,
        "fusion_strategy": recipe.reorders is not None,
        "partition_by": bool(recipe.partition_by),
        "repeat_by": recipe.repeat_by is not None,
        "add_suffix": recipe.add_suffix,
    }
    for name, is_there in given.items():
        if is_there:
            yield f"{recipe.place_of(name)}: {name}"
    if on_cluster(recipe.executor_type):
        yield f"{recipe.place_of('executor_type')}: executor_type: {recipe.executor_type}"


def _of_step(step: Any, library: Library) -> Iterator[str]:
    """Reasons of a deduplicator."""
    operator = library.operators[step.name]
    if operator.kind != "deduplicator":
        return
    if operator.matcher_path is not None:
        yield f"{step.where}: {step.name} compares samples in a way of its own"
    elif isinstance(operator.matcher, SubstringMatcher):
        if (
            step.params["unit"] == "token"
        ):  # white space between passages that touch goes or stays with the copies they have
            yield f"{step.where}: {step.name}: unit: token"
    elif operator.matcher.takes_units:
        if not operator.matcher.by_value or operator.rule.get("kind") not in _RULES:
            yield f"{step.where}: {step.name} compares units in a way of its own"
    elif not operator.matcher.by_value or not _has_columns(operator.sample_matcher, step.params):
        yield f"{step.where}: {step.name} compares all samples with each other"
    for name in _GLOBAL:
        if step.params.get(name) is not None:
            yield f"{step.where}: {step.name}: {name}"


def _has_columns(matcher: Any, params: Any) -> bool:
    """Return whether samples that match are equal in some column."""
    names = [f"{column.each}_0" if column.form == "columns" else column.name for column in matcher.columns]
    return bool(matcher.equal_columns(names, params) or matcher.candidate_columns(names, params))


def _of_stages(recipe: Recipe, library: Library) -> Iterator[str]:
    """Stages that end for another reason than a deduplicator."""
    stages = cut_at_barriers(recipe.steps, library, recipe.measure_only)
    for stage in stages[:-1]:
        if stage.after is None:
            yield "a step needs a GPU"
            return
