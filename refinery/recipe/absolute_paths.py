"""Absolute paths of a recipe, set on loading, so that processes in other folders and machines read the same files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from refinery.common.paths import TYPES, absolute, absolute_input, shorter, with_paths
from refinery.recipe.model import Recipe
from refinery.storage.urls import is_stdout


def located(recipe: Recipe) -> Recipe:
    """The recipe with absolute paths, except in its steps; relative paths are below the current folder."""
    summary = recipe.stat_summary
    return replace(
        recipe,
        inputs=tuple(replace(source, path=absolute_input(source.path)) for source in recipe.inputs),
        export_path=recipe.export_path if is_stdout(recipe.export_path) else absolute(recipe.export_path),
        work_dir=absolute(recipe.work_dir),
        corpus=absolute(recipe.corpus) if recipe.corpus else None,
        publish=_located_target(recipe.publish) if recipe.publish else None,
        temp_dir=absolute(recipe.temp_dir) if recipe.temp_dir else None,
        removed_path=absolute(recipe.removed_path) if recipe.removed_path else None,
        assets=tuple(dict.fromkeys(map(absolute, recipe.assets))),
        operators=tuple(dict.fromkeys(map(absolute, recipe.operators))),
        stat_summary=replace(summary, export=absolute(summary.export)) if summary.export else summary,
    )


def _located_target(text: str) -> str:
    """`duckdb:FILE` with an absolute path; other places, such as `ducklake:postgres:...`, as they are."""
    scheme, separator, place = text.partition(":")
    return f"{scheme}:{absolute(place)}" if separator and place and ":" not in place else text


def located_params(params: Mapping[str, Any], specs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a step, with absolute paths in those that name files. specs: the operator's declarations."""
    return _changed(params, specs, absolute)


def seen_from_here(recipe: Recipe, operators: Mapping[str, Any]) -> Recipe:
    """The recipe with relative paths below the current folder, for readable scripts."""
    summary = recipe.stat_summary
    steps = (replace(s, params=_changed(s.params, operators[s.name].params, shorter)) for s in recipe.steps)
    return replace(
        recipe,
        steps=tuple(steps),
        inputs=tuple(replace(source, path=shorter(source.path)) for source in recipe.inputs),
        export_path=shorter(recipe.export_path),
        removed_path=shorter(recipe.removed_path) if recipe.removed_path else None,
        stat_summary=replace(summary, export=shorter(summary.export)) if summary.export else summary,
    )


def _changed(params: Mapping[str, Any], specs: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    return {
        name: with_paths(value, change) if name in specs and specs[name].type in TYPES else value
        for name, value in params.items()
    }
