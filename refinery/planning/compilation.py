"""Fifth phase: the stages compiled to SQL.

Parts of a stage without problems are compiled where other parts have some, so that DuckDB can look at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AnySet
from dataclasses import replace
from typing import Any

from refinery.compiler.chain import KEEP, PARTITION, REPEAT, compile_chain
from refinery.compiler.model import Chain, CompileContext, Schema, Stat
from refinery.compiler.program import Program, build
from refinery.compiler.stages import Stage
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.operators import Library
from refinery.operators.versions import sources_changed
from refinery.planning.phase import Phase
from refinery.planning.plan import CompiledStage, CompileInputs, CompileSettings
from refinery.planning.stored_stages import stage_key, stored_stage
from refinery.recipe.lost import MissingStatistics
from refinery.recipe.stat_summary import StatSummary


def compile_stages(stages: Sequence[Stage], inputs: CompileInputs) -> Phase[tuple[CompiledStage, ...]]:
    """Compile every stage. inputs: of the first one."""
    inputs = replace(inputs, keyed=not sources_changed())
    compiled: list[CompiledStage] = []
    problems: list[Problem] = []
    for stage in stages:
        try:
            planned = compile_stage(stage, inputs, stage is stages[-1])
        except RecipeError as error:
            error = _placed(error, inputs.settings)
            problems += sure(error.problems, inputs.schema)
            part = compile_rest(stage, inputs, {problem.where for problem in error.problems})
            problems += part.problems
            compiled += [part.value] if part.value is not None else []
            inputs = replace(inputs, schema=_without(inputs.schema, inputs.library, stage.steps))
            continue
        compiled.append(planned)
        inputs = inputs_after(planned)
    problems += _unknown_stats(inputs.settings.summary, inputs.earlier, inputs.schema.lost)
    return Phase(tuple(compiled), tuple(problems))


def compile_stage(stage: Stage, inputs: CompileInputs, is_last: bool = False) -> CompiledStage:
    """Compile one stage. Raises RecipeError."""
    settings, library, schema = inputs.settings, inputs.library, inputs.schema
    around, stats = context_of(stage, inputs), settings.exports_stats and is_last
    around = replace(around, keeps_removed=settings.keeps_removed)
    around = replace(around, partition=settings.partition, repeat=settings.repeat) if is_last else around
    steps = [step for step in (stage.before, *stage.running, stage.after) if step is not None]
    compiled_from = (stage, around, schema, settings.text_key, settings.shares, stats)
    key = stage_key(steps, library, *compiled_from) if inputs.keyed else None
    stored = stored_stage(key, stage.running) if key else None
    program, chain = stored or build(stage.running, library, schema, settings.text_key, settings.shares, stats, around)
    program = replace(program, folders=settings.folders, seconds=settings.seconds)
    return CompiledStage(stage, inputs, program, chain, key, stored is not None)


def _placed(error: RecipeError, settings: CompileSettings) -> RecipeError:
    """The error with the places of `partition_by`, `repeat_by` and `keep_fields` in the recipe."""
    places = {PARTITION: settings.partition_place, REPEAT: settings.repeat_place, KEEP: settings.keep_place}
    return RecipeError([replace(one, where=places.get(one.where, one.where)) for one in error.problems])


def compile_rest(stage: Stage, inputs: CompileInputs, wrong: AnySet[str]) -> Phase[CompiledStage | None]:
    """Compile the parts of a stage that are at no wrong place; None where that is all or nothing of it."""
    settings = inputs.settings
    steps = tuple(step for step in stage.steps if step.where not in wrong)
    before, after = (step if step is None or step.where not in wrong else None for step in (stage.before, stage.after))
    rest = replace(stage, steps=steps, before=before, after=after, order=())
    if {settings.summary.where, settings.summary.by} & wrong:
        settings = replace(settings, summary=StatSummary())
    same = rest == replace(stage, order=()) and settings is inputs.settings
    if same or not (steps or before or after or settings.summary.grouped):
        return Phase(None)
    schema = _without(inputs.schema, inputs.library, [step for step in stage.steps if step not in steps])
    try:
        return Phase(compile_stage(rest, replace(inputs, settings=settings, schema=schema)))
    except RecipeError as error:
        return Phase(None, tuple(sure(error.problems, schema)))


def compile_part(planned: CompiledStage, steps: Sequence[Any], summary: StatSummary | None = None) -> Program:
    """Compile some steps of a stage, its deduplicators among them where they are listed. Raises RecipeError."""
    stage, inputs = planned.stage, planned.inputs
    before = stage.before if stage.before in steps else None
    after = stage.after if stage.after in steps else None
    chain = [step for step in steps if step is not before and step is not after]
    schema = _without(inputs.schema, inputs.library, [step for step in stage.steps if step not in chain])
    measure = inputs.settings.measures
    around = CompileContext(before, after, inputs.earlier, measure=measure, summary=summary, first=stage.first)
    return build(chain, inputs.library, schema, inputs.settings.text_key, around=around)[0]


def compile_probe(planned: CompiledStage) -> tuple[Program, Chain]:
    """Compile a stage whose filters remove nothing, each with a column of the rows that it would keep."""
    stage, inputs = planned.stage, planned.inputs
    around = CompileContext(stage.before, stage.after, inputs.earlier, probe=True, first=stage.first)
    settings = inputs.settings
    return build(stage.steps, inputs.library, inputs.schema, settings.text_key, settings.shares, around=around)


def compile_chains(stages: Sequence[Stage], inputs: CompileInputs) -> list[Chain]:
    """Compile the chains of stages whose results are stored, so that their programs are not needed. Raises RecipeError."""
    settings, library, schema = inputs.settings, inputs.library, inputs.schema
    chains: list[Chain] = []
    for stage in stages:
        context = context_of(stage, inputs)
        chains.append(compile_chain(stage.running, library, schema, settings.text_key, settings.shares, context))
        inputs = replace(inputs, earlier=(*inputs.earlier, *chains[-1].stats))
    return chains


def compile_comparison(first: CompiledStage, step: Any) -> Program:
    """The program that computes the shingles for a deduplicator's exact comparison, over its input samples.

    first: stage of the run, which gets the samples of the input.
    """
    inputs, around = first.inputs, CompileContext(after=step, compare=True)
    return build([], inputs.library, inputs.schema, first.program.text_key, around=around)[0]


def context_of(stage: Stage, inputs: CompileInputs) -> CompileContext:
    """Context of a stage in its recipe."""
    settings = inputs.settings
    return CompileContext(
        stage.before,
        stage.after,
        inputs.earlier,
        measure=settings.measures,
        summary=settings.summary if settings.summary.grouped else None,
        first=stage.first,
        keep_fields=settings.keep_fields if stage.first else (),
        shown=tuple(stat for stat in inputs.earlier if stat.step > stage.since),
    )


def inputs_after(planned: CompiledStage) -> CompileInputs:
    """Inputs of the stage after a compiled one: its statistics are known, and the fields that its mappers write."""
    inputs, schema = planned.inputs, planned.inputs.schema
    written = {keys[0]: kind for keys, kind in planned.program.written.items()}
    if written:
        columns, known = {**schema.columns, **written}, {**schema.written, **written}
        schema = replace(schema, columns=columns, written=known)
    return replace(inputs, schema=schema, earlier=(*inputs.earlier, *planned.program.stats))


def sure(problems: Sequence[Problem], schema: Schema) -> Sequence[Problem]:
    """The problems without those that only a name of unknown type has: DuckDB cannot choose a function for its NULL."""
    if not schema.unknown and schema.lost.since is None:
        return problems
    return [problem for problem in problems if not ("best candidate" in problem.what and '"NULL"' in problem.what)]


def _without(schema: Schema, library: Library, steps: Sequence[Any]) -> Schema:
    """The schema for steps that come after others which are not compiled: names of their statistics are not wrong."""
    lost = schema.lost.copy()
    for step in steps:
        lost.add(step.index, library.operators[step.name].stats_of(step.params))
    return replace(schema, lost=lost)


def _unknown_stats(summary: StatSummary, stats: Sequence[Stat], lost: MissingStatistics) -> list[Problem]:
    """Statistics that are to be summed up, and that no step computes."""
    known = [*(stat.column for stat in stats), *lost.stats]
    wrong = [name for name in summary.stats if name not in known and not lost.may_be(name)]
    return [
        Problem(summary.where, f"stat_summary.stats names {name!r}, which no step computes{did_you_mean(name, known)}")
        for name in wrong
    ]
