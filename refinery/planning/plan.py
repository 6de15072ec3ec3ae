"""Prepares a recipe before any data is processed: finds and cuts its inputs, compiles and binds its stages."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from refinery.common.fields import keys_of
from refinery.common.paths import shorter
from refinery.compiler.filter_order import FilterOrder, movable
from refinery.compiler.model import Chain, CompileContext, Schema, Stat
from refinery.compiler.program import Program, build, pretty
from refinery.compiler.stages import Stage, cut_at_barriers, ordered
from refinery.compiler.step_columns import needs_of
from refinery.errors import DataError, Problem, RecipeError, by_place, did_you_mean
from refinery.io.mixture import sample
from refinery.io.model import Shard, Source
from refinery.io.python_data.kinds import in_memory
from refinery.io.sources import carrier, cut, find
from refinery.io.unchanged import Stamps, stamps
from refinery.kernels.core.jit import expect
from refinery.operators import Library
from refinery.planning.binding import bind
from refinery.planning.field_check import missing_fields, text_fields
from refinery.planning.filter_costs import Costs, by_class, keep, measured, order_notes, ordering, recorded
from refinery.planning.input_schema import input_schema, part_of
from refinery.planning.kernel_callers import certain_callers, kernel_callers
from refinery.planning.shard_cut import Capacity, ShardCut, shard_cut
from refinery.planning.sizes import Sizes, batch_sizes, mean_row
from refinery.planning.stored_stages import binds_alike, stage_key, store_stage, stored_stage
from refinery.recipe import Recipe
from refinery.recipe.lost import MissingStatistics
from refinery.recipe.model import StatSummary
from refinery.security.sql_paths import folders_of
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url
from refinery.workers.statement_limits import seconds_of
from refinery.workers.threads import cores


@dataclass(frozen=True)
class CompiledStage:
    """A stage with its compiled program and chain.

    key: of the stage in the user's cache folder, see `stored_stages`. stored: it comes from there.
    """

    stage: Stage
    program: Program
    chain: Chain
    key: str | None = None
    stored: bool = False

    @property
    def all_steps(self) -> list[Any]:
        """Steps that a worker of the stage computes something for: those of the chain, and the deduplicators' parts."""
        return [*self.steps, *([self.stage.after] if self.stage.after is not None else [])]

    @property
    def steps(self) -> list[Any]:
        """Steps of the chain, after the deduplicator that removes units from texts, if there is one."""
        before = [self.stage.before] if self.program.removed else []
        return [*before, *self.stage.steps]


@dataclass
class Plan:
    """A recipe with its inputs found and cut, and its stages compiled.

    cut: size of the shards, with the reason. schema: of the input. capacity: of the cluster; None for a run on this machine.
    """

    recipe: Recipe
    library: Library
    stages: tuple[CompiledStage, ...]
    sources: list[Source]
    shards: list[Shard]
    workers: int
    cut: ShardCut
    schema: Schema
    capacity: Capacity | None = None
    notes: list[str] = field(default_factory=list)
    orderings: tuple[FilterOrder, ...] = ()
    sizes: Sizes = Sizes()
    stamps: Stamps = field(default_factory=dict)

    @property
    def shard_size(self) -> int:
        """Most input bytes of a shard."""
        return self.cut.size

    @property
    def fingerprint(self) -> str:
        """A digest of all steps, without the order in which they run."""
        last = self.stages[-1].stage
        return last.of_recipe or last.fingerprint

    def order_key(self) -> str:
        """A digest of everything that the order of the steps depends on."""
        inputs = [{**item, "path": shorter(item["path"])} for item in self.inputs()]
        found = [self.fingerprint, self.recipe.reorders, inputs]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def keep_order(self, run_dir: RunDir) -> None:
        """Store the order of steps, if `fusion_strategy` set one, for a run that continues this one."""
        if self.orderings:
            keep(run_dir.order, self.order_key(), self.orderings)

    @property
    def lines(self) -> bool:
        """True if samples are carried as JSON lines."""
        return self.stages[0].program.lines

    @property
    def stats(self) -> list[Stat]:
        """The statistics of all stages."""
        return [stat for planned in self.stages for stat in planned.program.stats]

    @property
    def beside(self) -> dict[str, str]:
        """Digests of everything besides the samples that results depend on, by name; known when a run begins."""
        return {name: digest for planned in self.stages for name, digest in planned.program.beside.items()}

    def inputs(self) -> list[dict[str, Any]]:
        """The input files as they are now: path, format, size, time of change."""
        found = []
        for source in self.sources:
            modified = source.state()[2] if source.table is None else 0
            found.append({"path": source.path, "format": source.format, "size": source.size, "modified": modified})
        return found

    def inodes(self) -> dict[str, int]:
        """Times at which inodes of local input files changed last (ns), which nobody can set, by path."""
        paths = [source.path for source in self.sources if source.table is None and not is_url(source.path)]
        return {path: os.stat(path).st_ctime_ns for path in paths}


def prepare(
    recipe: Recipe,
    library: Library,
    dataset: Any = None,
    shard_size: int | None = None,
    orderings: Sequence[FilterOrder] | None = None,
    binds: bool = True,
    looks: bool = True,
    capacity: Capacity | None = None,
    runs: bool = True,
) -> Plan:
    """Find the inputs, compile the recipe and let DuckDB bind it, before any data is processed.

    dataset: an Arrow table or a frame in place of files. orderings: of the stages of an earlier run that
    is explained or continued; by default those that the recipe's `fusion_strategy` finds. binds: False if it is known that
    DuckDB binds the statements. looks: False if it is known that the samples have the fields. capacity: of the cluster that
    the run is for. runs: False for a command that runs nothing: it sees the types of fields in a part of a large input. Raises RecipeError for SQL that does not bind, DataError for inputs that cannot be read.
    """
    expect(partial(kernel_callers, recipe, library), partial(certain_callers, recipe, library))
    sources, notes = (
        find(recipe.inputs, recipe.suffixes, recipe.path, library.readers.values())
        if dataset is None
        else ([_in_memory(dataset)], [])
    )
    texts = text_fields(recipe)
    sources = [replace(source, texts=texts) if texts else source for source in sources]
    found = stamps(sources)
    lines = carrier(sources) == "lines"
    workers = max(1, min(recipe.np, cores()))
    shape = (
        ShardCut(shard_size, "as the run has cut it") if shard_size else shard_cut(recipe, sources, workers, capacity)
    )
    shards, few = cut(sources, shape.size, workers), list[str]()
    differs = shape.difference(len(shards))
    unlike, lacking = missing_fields(recipe, library, shards) if binds and looks else ([], [])
    if unlike:
        raise RecipeError(by_place(unlike))
    if dataset is None:
        shards, few = _drawn(recipe, shards, workers)
    stages = cut_at_barriers(recipe.steps, library, recipe.measure_only)
    seen = shards if runs else part_of(shards)
    schema = input_schema(recipe, library, lines, seen, workers)
    planned = compile_stages(recipe, library, stages, schema, shards if binds else None)
    notes = [*notes, *few, *differs, *lacking, *_left_out(recipe, library), *_undeclared(recipe, lines)]
    notes += _of_part(schema, len(seen), len(shards))
    prepared = Plan(recipe, library, planned, sources, shards, workers, shape, schema, capacity, notes, stamps=found)
    if recipe.adaptive_batch_size:
        chains = [stage.chain for stage in planned]
        prepared.sizes = batch_sizes(mean_row(shards), chains, recipe.memory_limit, workers)
    return _reordered(prepared, schema, orderings) if recipe.reorders or orderings else prepared


def _reordered(prepared: Plan, schema: Schema, orderings: Sequence[FilterOrder] | None) -> Plan:
    """Put the filters of the stages into the order of `fusion_strategy`."""
    recipe, library = prepared.recipe, prepared.library
    if not orderings:
        orderings = recorded(RunDir(Path(recipe.work_dir)).order, prepared.order_key())
    if not orderings:
        orderings = [_ordering(prepared, planned, schema) for planned in prepared.stages]
    stages = [planned.stage for planned in prepared.stages]
    moved = ordered(stages, [found.steps for found in orderings])
    if any(found.moved for found in orderings):
        prepared.stages = compile_stages(recipe, library, moved, schema, prepared.shards)
        prepared.notes += order_notes(orderings, prepared.stats)
    prepared.orderings = tuple(orderings)
    return prepared


def _ordering(prepared: Plan, planned: CompiledStage, schema: Schema) -> FilterOrder:
    """Find the order in which the steps of a stage should run."""
    strategy, needs = str(prepared.recipe.reorders), needs_of(planned.chain, planned.program.steps)
    if not movable(needs):
        return FilterOrder(strategy, tuple(need.step for need in needs))
    if strategy == "greedy":
        return ordering(strategy, needs, by_class(planned.program, planned.chain, prepared.library))
    return ordering(strategy, needs, measured_costs(prepared, planned, schema))


def measured_costs(prepared: Plan, planned: CompiledStage, schema: Schema) -> Costs:
    """Costs of the steps of a stage, measured on samples of the input."""
    recipe, library, stage = prepared.recipe, prepared.library, planned.stage
    earlier = [stat for p in prepared.stages if p.stage.number < stage.number for stat in p.program.stats]
    around = CompileContext(stage.before, stage.after, tuple(earlier), probe=True, first=stage.first)
    program, chain = build(stage.steps, library, schema, planned.program.text_key, recipe.op_fusion, around=around)
    sql = pretty(chain.select([*chain.pass_columns(), *chain.passes.values()]))
    probing = replace(program, pass_sql=sql, folders=planned.program.folders)
    return measured(probing, chain, prepared.shards)


def _undeclared(recipe: Recipe, lines: bool) -> list[str]:
    """A line on declared types that say nothing: columns of tables have their own."""
    if lines or not recipe.fields:
        return []
    return [f"{recipe.place_of('fields')}: fields has no effect on columns of tables, which have types of their own"]


def _of_part(schema: Schema, seen: int, shards: int) -> list[str]:
    """A line on types of fields that a run may find to be others."""
    if seen == shards or not any(schema.columns.values()):
        return []
    return [f"types of fields are those in {seen} of {shards} shards: a run looks at all values, and may find others"]


def _left_out(recipe: Recipe, library: Library) -> list[str]:
    """A line for each deduplicator that `measure_only` leaves out."""
    steps = recipe.steps if recipe.measure_only else ()
    left = [step for step in steps if library.operators[step.name].kind == "deduplicator"]
    return [f"step {step.index}: {step.name} is left out, because measure_only is on" for step in left]


def compile_stages(
    recipe: Recipe, library: Library, stages: Sequence[Stage], schema: Schema, shards: list[Shard] | None
) -> tuple[CompiledStage, ...]:
    """Compile and bind every stage. shards: None to compile without binding.

    Raises RecipeError with the problems of all stages.
    """
    text_key = keys_of(recipe.text_key)
    found: list[CompiledStage] = []
    problems: list[Problem] = []
    earlier: list[Stat] = []
    for stage in stages:
        last = stage is stages[-1]
        try:
            planned = compile_stage(stage, recipe, library, schema, text_key, earlier, last)
            if shards is not None and not (planned.stored and binds_alike(planned.program)):
                alone = partial(_only, stage, recipe, library, schema, tuple(earlier))
                bind(planned.program, stage, alone, shards, recipe.stat_summary, library)
                if planned.key and not planned.stored:
                    store_stage(planned.key, planned.program, planned.chain, library)
        except RecipeError as error:
            problems += _sure(error.problems, schema)
            problems += _problems_of_rest(stage, error, recipe, library, schema, earlier, shards)
            schema = _without(schema, library, stage.steps)
            continue
        found.append(planned)
        earlier += planned.program.stats
        schema = with_written(schema, planned.program)
    problems += _unknown_stats(recipe.stat_summary, earlier, schema.lost)
    if problems:
        raise RecipeError(problems)
    return tuple(found)


def with_written(schema: Schema, program: Program) -> Schema:
    """The schema for stages after one whose mappers write fields."""
    written = {keys[0]: kind for keys, kind in program.written.items()}
    known = {**schema.written, **written}
    return replace(schema, columns={**schema.columns, **written}, written=known) if written else schema


def _without(schema: Schema, library: Library, steps: Sequence[Any]) -> Schema:
    """The schema for steps that come after others which are not compiled: names of their statistics are not wrong."""
    lost = schema.lost.copy()
    for step in steps:
        lost.add(step.index, library.operators[step.name].stats_of(step.params))
    return replace(schema, lost=lost)


def _problems_of_rest(
    stage: Stage,
    error: RecipeError,
    recipe: Recipe,
    library: Library,
    schema: Schema,
    earlier: Sequence[Stat],
    shards: list[Shard] | None,
) -> Sequence[Problem]:
    """Problems that DuckDB finds in the parts of a stage that have none yet."""
    wrong, summary = {problem.where for problem in error.problems}, recipe.stat_summary
    steps = tuple(step for step in stage.steps if step.where not in wrong)
    before, after = (step if step is None or step.where not in wrong else None for step in (stage.before, stage.after))
    rest = replace(stage, steps=steps, before=before, after=after, order=())
    if summary.where in wrong or summary.by in wrong:
        recipe = replace(recipe, stat_summary=StatSummary())
    if shards is None or (rest == replace(stage, order=()) and recipe.stat_summary is summary):
        return ()
    if not (steps or before or after or recipe.stat_summary.grouped):
        return ()
    schema = _without(schema, library, [step for step in stage.steps if step not in steps])
    text_key = keys_of(recipe.text_key)
    try:
        planned = compile_stage(rest, recipe, library, schema, text_key, earlier, False)
        alone = partial(_only, rest, recipe, library, schema, earlier)
        bind(planned.program, rest, alone, shards, recipe.stat_summary, library)
    except RecipeError as found:
        return _sure(found.problems, schema)
    return ()


def _sure(problems: Sequence[Problem], schema: Schema) -> Sequence[Problem]:
    """The problems without those that only a name of unknown type has: DuckDB cannot choose a function for its NULL."""
    if not schema.unknown and schema.lost.since is None:
        return problems
    return [problem for problem in problems if not ("best candidate" in problem.what and '"NULL"' in problem.what)]


def _unknown_stats(summary: StatSummary, stats: Sequence[Stat], lost: MissingStatistics) -> list[Problem]:
    """Statistics that are to be summed up, and that no step computes."""
    known = [*(stat.column for stat in stats), *lost.stats]
    wrong = [name for name in summary.stats if name not in known and not lost.may_be(name)]
    return [
        Problem(summary.where, f"stat_summary.stats names {name!r}, which no step computes{did_you_mean(name, known)}")
        for name in wrong
    ]


def compile_stage(
    stage: Stage,
    recipe: Recipe,
    library: Library,
    schema: Schema,
    text_key: tuple[str, ...],
    earlier: Sequence[Stat],
    last: bool,
) -> CompiledStage:
    """Compile one stage. earlier: statistics of the stages before. Raises RecipeError."""
    around, stats = around_of(stage, recipe, earlier), recipe.keep_stats_in_res_ds and last
    steps = [step for step in (stage.before, *stage.running, stage.after) if step is not None]
    key = stage_key(steps, library, stage, around, schema, text_key, recipe.op_fusion, stats)
    stored = stored_stage(key, stage.running) if key else None
    program, chain = stored or build(stage.running, library, schema, text_key, recipe.op_fusion, stats, around)
    program = replace(program, folders=folders_of(recipe, library), seconds=seconds_of(recipe.row_timeout))
    return CompiledStage(stage, program, chain, key, stored is not None)


def around_of(stage: Stage, recipe: Recipe, earlier: Sequence[Stat]) -> CompileContext:
    """Context of a stage in its recipe."""
    summary = recipe.stat_summary if recipe.stat_summary.grouped else None
    return CompileContext(
        stage.before,
        stage.after,
        tuple(earlier),
        measure=recipe.measure_only,
        summary=summary,
        first=stage.first,
        shown=tuple(stat for stat in earlier if stat.step > stage.since),
    )


def compile_comparison(prepared: Plan, step: Any) -> Program:
    """The program that computes the shingles for a deduplicator's exact comparison, over its input samples."""
    text_key = prepared.stages[0].program.text_key
    around = CompileContext(after=step, compare=True)
    return build([], prepared.library, prepared.schema, text_key, around=around)[0]


def _only(
    stage: Stage,
    recipe: Recipe,
    library: Library,
    schema: Schema,
    earlier: Sequence[Stat],
    steps: Sequence[Any],
    summary: StatSummary | None = None,
) -> Program:
    """Some steps of a stage, its deduplicators among them where they are listed."""
    before = stage.before if stage.before in steps else None
    after = stage.after if stage.after in steps else None
    chain = [step for step in steps if step is not before and step is not after]
    schema = _without(schema, library, [step for step in stage.steps if step not in chain])
    known, measure = tuple(earlier), recipe.measure_only
    around = CompileContext(before, after, known, measure=measure, summary=summary, first=stage.first)
    return build(chain, library, schema, keys_of(recipe.text_key), around=around)[0]


def _drawn(recipe: Recipe, shards: list[Shard], workers: int) -> tuple[list[Shard], list[str]]:
    """The shards with the samples that `max_sample_num` and the weights select; all samples without these settings."""
    return sample(shards, [source.weight for source in recipe.inputs], recipe.max_sample_num, workers)


def _in_memory(dataset: Any) -> Source:
    table = in_memory(dataset)
    if table is None:
        raise DataError(
            f"a {type(dataset).__name__} is read once, as a stream, which only refinery.run does. Give a table instead, "
            "pyarrow.Table.from_pylist of a few samples, for example"
        )
    return Source.of_table(table)
