"""Walks a recipe through the phases of its plan, before any data is processed.

The phases: discover the inputs, cut them, check the samples, find their schema, compile the stages, bind them. Each gives
its value for what is sound and the problems of the rest, so that all problems of a recipe are known at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from refinery.common.fields import field_name
from refinery.compiler.filter_order import FilterOrder
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import error_of
from refinery.io.input_part import sources_of
from refinery.io.unchanged import stamps
from refinery.kernels.core.library import require_kernels
from refinery.operators import Library
from refinery.planning.binding import bind_stages
from refinery.planning.compilation import compile_stages
from refinery.planning.discovery import discover
from refinery.planning.field_check import FieldNames
from refinery.planning.filter_costs import order_notes, stored_orders
from refinery.planning.input_schema import ANY_FIELDS, find_schema
from refinery.planning.ordering import reorder
from refinery.planning.phase import Findings, Phase
from refinery.planning.plan import CompileInputs, Plan
from refinery.planning.samples import UNKNOWN, Samples, SampleSettings, check_samples, choose_samples
from refinery.planning.settings import PlanSettings
from refinery.planning.shard_cut import Capacity, CutInput, cut_input
from refinery.planning.short_texts import notes_on_short_texts
from refinery.planning.sizes import batch_sizes, mean_row, sizes_within
from refinery.recipe import Recipe
from refinery.recipe.lost import MissingStatistics
from refinery.storage.run_folder import RunDir


@dataclass(frozen=True)
class PlanRequest:
    """A recipe to plan.

    reads: False if the samples are not there yet. lost: statistics
    of steps that were left out of the recipe because of errors. orderings: of the stages of an earlier run that is
    explained or continued; by default those that the recipe's `fusion_strategy` finds. shard_size: of that run. binds: False if it is known
    that DuckDB binds the statements. looks: False if it is known that the samples have the fields. capacity: of the
    cluster that the run is for. runs: False for a command that runs nothing: it sees the types of fields in a part of a
    large input.
    """

    recipe: Recipe
    library: Library
    reads: bool = True
    lost: MissingStatistics = field(default_factory=MissingStatistics)
    shard_size: int | None = None
    orderings: Sequence[FilterOrder] | None = None
    binds: bool = True
    looks: bool = True
    capacity: Capacity | None = None
    runs: bool = True


def prepare(recipe: Recipe, library: Library, dataset: Any = None, **options: Any) -> Plan:
    """Plan a recipe. options: of `PlanRequest`. Raises one error with all problems.

    That is RecipeError if the recipe has one, else DataError.
    """
    phase = walk(PlanRequest(recipe, library, **options), dataset)
    if phase.problems:
        raise error_of(phase.problems)
    return phase.value


def walk(request: PlanRequest, dataset: Any = None) -> Phase[Plan]:
    """The plan of what is sound in a recipe, the problems of the rest, and notes.

    dataset: an Arrow table or a frame in place of the recipe's files.

    What reads much of the input is left out where there are problems. Raises OperatorError if DuckDB refuses a statement
    and no step is to blame.
    """
    library, findings = request.library, Findings()
    if request.reads:
        require_kernels()
    settings = PlanSettings.of(request.recipe, library)
    settings = settings if dataset is None else settings.without_files()
    place, names = settings.inputs.place, settings.names
    sources = findings.value_of(discover(settings.inputs, dataset, names.texts)) if request.reads else []
    as_found = stamps(sources)
    cut = findings.value_of(cut_input(settings.cut, sources, request.shard_size, request.capacity, place))
    looks, samples = request.binds and request.looks, UNKNOWN
    if cut.shards or (request.reads and not findings.problems):
        samples = _samples(settings.samples, names, cut, looks, findings)
    complete = request.runs and not findings.problems
    schema = findings.value_of(find_schema(settings.schema, samples, complete, place))
    bound = [] if schema is ANY_FIELDS else samples.bound
    schema = replace(schema, lost=request.lost)
    stages = cut_at_barriers(settings.steps, library, settings.compile.measures)
    compiled = findings.value_of(compile_stages(stages, CompileInputs(settings.compile, library, schema)))
    if request.binds and bound is not None:
        findings.value_of(bind_stages(compiled, bound))
    notes = [*_of_part(settings), *findings.notes, *_without_effect(settings, library, samples.lines)]
    if looks and not findings.problems:
        notes += notes_on_short_texts(settings.steps, library, field_name(settings.compile.text_key), samples.shards)
    if settings.samples.limit is not None:
        sources = sources_of(samples.shards, sources)
    plan = Plan(
        request.recipe,
        library,
        compiled,
        sources,
        samples.shards,
        settings.cut.workers,
        cut.size,
        schema,
        request.capacity,
        notes,
        stamps=as_found,
    )
    if not findings.problems:
        _finish(plan, settings, request.orderings)
    return Phase(plan, tuple(findings.problems), tuple(plan.notes))


def require_bound(plan: Plan) -> None:
    """Bind the stages of a plan that was made with `binds=False`. Raises one error with all problems."""
    findings, place = Findings(), plan.recipe.places.get("dataset_path", "")
    names = PlanSettings.of(plan.recipe, plan.library).names
    samples = findings.value_of(check_samples(names, CutInput(plan.shards, plan.cut, plan.lines), place))
    findings.value_of(bind_stages(plan.stages, samples.bound or []))
    plan.notes += findings.notes
    if findings.problems:
        raise error_of(findings.problems)


def _samples(settings: SampleSettings, names: FieldNames, cut: CutInput, looks: bool, findings: Findings) -> Samples:
    """The samples that a run takes; all of them where there are problems, as choosing reads the whole input."""
    samples = Samples(cut.shards, cut.shards, cut.lines)
    if looks:
        samples = findings.value_of(check_samples(names, cut, settings.place))
    return samples if findings.problems else findings.value_of(choose_samples(settings, samples))


def _of_part(settings: PlanSettings) -> list[str]:
    """A line on the part of the recipe that is run."""
    portion, folder = settings.portion, settings.cut.work_dir
    return [f"not the whole recipe: {portion.description}; results are in {folder}"] if portion else []


def _finish(plan: Plan, settings: PlanSettings, orderings: Sequence[FilterOrder] | None) -> None:
    """Choose sizes of batches and the order of filters, which are measured."""
    chains, limit = [planned.chain for planned in plan.stages], settings.cut.memory_limit
    if settings.cut.fits:
        plan.sizes = batch_sizes(mean_row(plan.shards), chains, limit, plan.workers)
    elif limit:
        plan.sizes = sizes_within(chains, limit, plan.workers)
    if settings.strategy or orderings:
        known = orderings or stored_orders(RunDir(Path(settings.cut.work_dir)).order, plan.order_key())
        plan.stages, plan.orderings = reorder(plan.stages, plan.shards, str(settings.strategy), known)
        plan.notes += order_notes(plan.orderings, plan.stats)


def _without_effect(settings: PlanSettings, library: Library, lines: bool) -> list[str]:
    """Lines on deduplicators that `measure_only` leaves out, and on declared types of columns, which have their own."""
    steps = settings.steps if settings.compile.measures else ()
    left_out = [step for step in steps if library.operators[step.name].kind == "deduplicator"]
    notes = [f"step {step.index}: {step.name} is left out, because measure_only is on" for step in left_out]
    if settings.fields_place and not lines:
        notes.append(
            f"{settings.fields_place}: fields has no effect on columns of tables, which have types of their own"
        )
    return notes
