"""Plans of a change: over the data of some parts, or without data from the schema of the parts before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.checkpoints.dependencies import with_digests
from refinery.checkpoints.keys import program_key
from refinery.common.fields import keys_of
from refinery.compiler.model import Schema
from refinery.compiler.stages import cut_at_barriers
from refinery.corpus.engine import Change, PartInput
from refinery.errors import error_of
from refinery.planning.compilation import compile_stages
from refinery.planning.pipeline import PlanRequest, walk
from refinery.planning.plan import CompileInputs, Plan
from refinery.planning.settings import PlanSettings
from refinery.planning.shard_cut import ShardCut, worker_count
from refinery.recipe import Recipe
from refinery.recipe.stat_summary import StatSummary


def plan_of_parts(change: Change, parts: Sequence[PartInput], scratch: Path) -> Plan:
    """Plan over what is left of some parts. Raises one error with all problems."""
    inputs = tuple(replace(config, left_out=part.left_out, weight=1.0) for part in parts for config in part.inputs)
    recipe = replace(_samples_alone(change.recipe, scratch), inputs=inputs, suffixes=())
    phase = walk(PlanRequest(recipe, change.library))
    if phase.problems:
        raise error_of(phase.problems)
    plan = phase.value
    plan.stages = with_digests(plan.stages, recipe.outputs, plan.sources)
    return plan


def plan_without_data(change: Change, scratch: Path, schema: dict[str, Any]) -> Plan:
    """Plan over no samples. schema: see `schema_as_json`. Raises one error with all problems."""
    recipe, library = _samples_alone(change.recipe, scratch), change.library
    known = Schema(**{**schema, "declared": {keys_of(name): kind for name, kind in recipe.fields}})
    inputs = CompileInputs(PlanSettings.of(recipe, library).compile, library, known)
    phase = compile_stages(cut_at_barriers(recipe.steps, library), inputs)
    if phase.problems:
        raise error_of(phase.problems)
    stages = with_digests(phase.value, recipe.outputs, ())
    return Plan(recipe, library, stages, [], [], worker_count(recipe.np), ShardCut(0, ""), known)


def _samples_alone(recipe: Recipe, scratch: Path) -> Recipe:
    """The recipe of kept samples, without what a run writes besides."""
    return replace(
        recipe,
        max_sample_num=None,
        export_path=str(scratch / "kept.jsonl"),
        export_type="jsonl",
        work_dir=str(scratch),
        removed_path=None,
        removed_partition_by=None,
        stat_summary=StatSummary(),
        keep_fields=(),
        open_tracer=False,
        digests=False,
    )


def schema_as_json(schema: Schema) -> dict[str, Any]:
    """A schema's columns; what the recipe declares is left out."""
    return {
        "lines": schema.lines,
        "columns": dict(schema.columns),
        "unknown": schema.unknown,
        "structures": dict(schema.structures),
    }


def same_columns(schema: Schema, known: dict[str, Any]) -> bool:
    """Return whether samples are carried as before, and have the columns of tables before. known: see `schema_as_json`."""
    if schema.lines or known["lines"]:
        return bool(schema.lines == known["lines"])
    return list(schema.columns.items()) == list(known["columns"].items())


def program_keys(plan: Plan) -> list[str]:
    """Keys of the stages' computations: SQL, functions, side files, versions."""
    limit = plan.recipe.row_timeout
    limits = {} if limit is None else {"row_timeout": limit}
    return [program_key(planned, plan.library, limits) for planned in plan.stages]


def depends_on_types(plan: Plan) -> bool:
    """Return whether statements depend on types of JSON fields that are those of all values of the input."""
    if not plan.schema.lines:
        return False
    declared = {keys[0] for keys in plan.schema.declared}
    return any(kind and name not in declared for name, kind in plan.schema.columns.items())
