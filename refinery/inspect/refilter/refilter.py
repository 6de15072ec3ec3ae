"""New bounds on a finished run: a run of the changed recipe, made from stored results of the old run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import DataError, OutputError, Problem, RecipeError
from refinery.execution.local_backend import LocalBackend
from refinery.execution.needs import require
from refinery.execution.open import open_recipe
from refinery.execution.result_store import NoResultStore
from refinery.execution.run import Outcome, Progress, execute_prepared
from refinery.execution.stage_runner import StageRunner
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.change import RecipeChange, StoredChain, compare
from refinery.inspect.refilter.copied_export import CopiedExport
from refinery.inspect.refilter.shard_positions import positions
from refinery.inspect.refilter.stored_run_facts import StoredRunFacts
from refinery.io.writers.registry import NOTHING
from refinery.planning.compilation import compile_chains
from refinery.planning.input_schema import input_schema
from refinery.planning.phase import Phase
from refinery.planning.pipeline import prepare, require_bound
from refinery.planning.plan import CompileInputs, Plan
from refinery.planning.settings import PlanSettings
from refinery.recipe import Recipe
from refinery.recipe.override import Override, overrides_of, parse_set
from refinery.recipe.step_items import begin_of
from refinery.results.delivery import not_as_left
from refinery.storage.store import Store
from refinery.storage.urls import is_stdout
from refinery.storage.workplace import Workplace

# Keys of a recipe that do not affect the fate of a sample: they may differ from the run.
_FREE = {
    "steps", "project_name", "export_path", "export_type", "export_shard_size", "export_in_parallel",
    "export_aws_credentials", "export_fields", "partition_by", "repeat_by", "max_partitions", "removed_path", "removed_partition_by",
    "work_dir", "temp_dir", "np", "open_tracer", "op_list_to_trace", "trace_num", "trace_keys",
    "keep_stats_in_res_ds", "add_suffix", "op_fusion", "fusion_strategy", "adaptive_batch_size", "memory_limit", "threads", "measure_only", "stat_summary",
    "audit",
}  # fmt: skip

# Folder of the statistics files within the new run's folder, if the recipe has the run write them.
STATISTICS = "statistics"


@dataclass(frozen=True)
class Refiltered:
    """Result of a refilter. again: samples that ran again, up to the stage of the change. notes: for the user.

    deciding: seconds until the fate of every sample was known and the export was written.
    """

    outcome: Outcome
    again: int
    notes: tuple[str, ...]
    deciding: float


def refilter(
    run: Path,
    sets: Sequence[str],
    export: str | None = None,
    work_dir: str | None = None,
    writes: bool = True,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Refiltered:
    """Make a run of the changed recipe from the stored results of the run in folder `run`.

    sets: `process.11.min_num=30`. export: where kept samples go; by default into the new folder. work_dir: the new
    folder, by default one beside the old. writes: whether samples are exported at all. overwrite: replace even files
    that no run has written.

    Raises RecipeError for changes that need a run of their own, DataError when the inputs have changed since the run,
    and the errors of a run.
    """
    clock = time.perf_counter(), datetime.now(UTC)
    with FinishedRun.open(run) as stored:
        stored.require_recipe_order()
        stored.require_side_files()
        recipe = changed_recipe(stored, [parse_set(text) for text in sets], export, work_dir, writes)
        size = stored.manifest["shard_size"]
        prepared = prepare(recipe, stored.library, shard_size=size, binds=False)
        places, change = positions(stored, prepared), compare(_ran(stored, prepared), prepared.stages)
        if change.unknown is not None or not _binds(stored, change):
            require_bound(prepared)
        require(Phase(prepared), overwrite=overwrite)
        facts = StoredRunFacts(prepared, stored, change, places)
        outcome = execute_prepared(prepared, progress, None, partial(_runner, facts), clock, overwrite)
        again = facts.rows_again()
        notes = [
            *not_as_left(stored.manifest),
            *_not_written(stored.recipe),
            *_notes(prepared, change, again, outcome.counts.read),
        ]
        return Refiltered(outcome, again, tuple(notes), facts.decided - clock[0])


def _runner(facts: StoredRunFacts, prepared: Plan, store: Store) -> StageRunner:
    """The stages of the changed recipe: on this machine, from stored facts, which are not stored again."""
    backend = LocalBackend(prepared, store)
    target = Workplace.of(prepared.recipe.work_dir).file_of_export(prepared.recipe.export_path)
    sink = CopiedExport(facts, target, backend.sink())
    return StageRunner(prepared, store, backend, facts, NoResultStore(), sink)


def changed_recipe(
    stored: FinishedRun, changes: list[Override], export: str | None, work_dir: str | None, writes: bool
) -> Recipe:
    """The run's recipe with the changes. Raises RecipeError for changes that need a run of their own."""
    old = stored.recipe
    folder = work_dir or folder_beside(stored.run_dir.root)
    values: dict[str, Any] = {"measure_only": False, "work_dir": folder, "audit": 0}  # the texts are not there
    if not writes:
        values["export_type"] = NOTHING
    elif not old.exports:
        values["export_type"] = None
    if export is None:
        name = "kept.jsonl" if is_stdout(old.export_path) else os.path.basename(old.export_path)
        export = os.path.join(folder, name)
    values["export_path"] = export
    # One file with the kept samples, whatever the run has written.
    values |= {"partition_by": None, "removed_path": None, "removed_partition_by": None}
    summary_changes = {change.path[:2] for change in changes} & {("stat_summary",), ("stat_summary", "export")}
    if old.stat_summary.export and not summary_changes:
        values["stat_summary.export"] = os.path.join(folder, STATISTICS)
    recipe, _ = open_recipe(stored.run_dir.recipe, [*overrides_of(values), *changes], need_inputs=False)
    _see_that_it_can(stored, old, recipe)
    _keep_the_old(stored, recipe)
    steps = _as_written(stored, recipe, changes)
    return replace(recipe, steps=steps, path=stored.manifest.get("recipe"), fusion_strategy=None)


def folder_beside(root: Path) -> str:
    """Name of the first folder beside the run's that does not exist yet."""
    number = 1
    while True:
        folder = root.with_name(f"{root.resolve().name}-refiltered" + (f"-{number}" if number > 1 else ""))
        if not folder.exists():
            return str(folder)
        number += 1


def _see_that_it_can(stored: FinishedRun, old: Recipe, new: Recipe) -> None:
    """Check that refilter can apply the changes. Raises RecipeError, with the command of the run that can."""
    command = f"refinery run {stored.run_dir.recipe}"
    problems = []
    for field in fields(Recipe):
        name = field.name
        if field.compare and name not in _FREE and getattr(old, name) != getattr(new, name):
            name = {"inputs": "dataset_path"}.get(name, name)
            what = f"{name} differs from that of the run and decides which samples are read"
            problems.append(Problem(name, what, f"{command} --set {name}=... runs with it."))
    if [step.name for step in old.steps] != [step.name for step in new.steps]:
        what = "the steps differ from the run's: only parameters can be changed"
        problems.append(Problem("process", what, f"Change the recipe; {command} runs it."))
    if new.measure_only and not old.measure_only:
        what = "the run has removed samples before all was measured"
        problems.append(Problem("--set measure_only", what, f"{command} --set measure_only=true measures them all."))
    if new.exports and new.repeat_by is not None:
        what = "refilter writes each kept sample once, and the recipe repeats samples"
        problems.append(Problem("repeat_by", what, f"Use --no-export, or {command} with the changes as --set."))
    for step in new.steps:
        if step.params.get("index"):
            what = f"{step.name} has an index, to which every run adds its samples"
            problems.append(Problem(step.where, what, f"{command} runs it."))
    if problems:
        raise RecipeError(problems)


def _keep_the_old(stored: FinishedRun, recipe: Recipe) -> None:
    """Check that nothing overwrites the old run. Raises OutputError."""
    if os.path.realpath(recipe.work_dir) == os.path.realpath(stored.run_dir.root):
        raise OutputError(f"{recipe.work_dir}: the run that is refiltered is here. Name another --work-dir")
    outputs = {os.path.realpath(output["path"]) for output in stored.manifest["outputs"]}
    if recipe.exports and os.path.realpath(os.path.expanduser(recipe.export_path)) in outputs:
        raise OutputError(f"{recipe.export_path}: belongs to the run that is refiltered. Name another --export")
    if recipe.stat_summary.export and recipe.stat_summary.export == stored.recipe.stat_summary.export:
        what = f"{recipe.stat_summary.export}: the statistics of the run that is refiltered are here"
        raise OutputError(f"{what}. Name another folder with --set stat_summary.export=...")
    files = _statistics_of_another(recipe)
    if files:
        raise OutputError(
            f"{files}: statistics of another run are here. Name another folder with --set stat_summary.export=..."
        )


def _statistics_of_another(recipe: Recipe) -> Path | None:
    """A file that the run's statistics would replace; None if there is none or the folder is the run's own."""
    if not recipe.stat_summary.export:
        return None
    folder, own = Path(recipe.stat_summary.export), os.path.realpath(recipe.work_dir)
    if os.path.realpath(folder).startswith(own + os.sep):
        return None
    return next(folder.glob(f"*/*/{recipe.stat_summary.rank:05d}.json"), None)


def _as_written(stored: FinishedRun, recipe: Recipe, changes: list[Override]) -> tuple[Any, ...]:
    """The steps, each with its place in the recipe that ran and the parameters given there."""
    places = dict(stored.con.execute("SELECT step, recipe_line FROM steps").fetchall())
    plan = json.loads(stored.run_dir.plan.read_text(encoding="utf-8"))
    explicit = {step["step"]: step.get("given", ()) for stage in plan["stages"] for step in stage["steps"]}
    steps = []
    for step in recipe.steps:
        file, _, line = places.get(step.index, "").rpartition(":")
        where = {"file": file, "line": int(line)} if line.isdecimal() else {"file": "recipe", "line": 0}
        names = {*explicit.get(step.index, ()), *_set(step, recipe, changes)}
        steps.append(replace(step, given=frozenset(names) & step.params.keys(), **where))
    return tuple(steps)


def _set(step: Any, recipe: Recipe, changes: list[Override]) -> set[str]:
    """Names of a step's parameters that the changes set."""
    steps = [(each.name, each.title) for each in recipe.steps]
    paths = [change.path[1:] for change in changes if change.path[:1] == ("process",) and len(change.path) > 2]
    steps_and_rests = [begin_of(path, steps) for path in paths]
    rests = [
        rest[1:] if rest[:1] == [step.name] else rest for numbers, rest in steps_and_rests if step.index in numbers
    ]
    return {rest[0] for rest in rests if rest}


def _ran(stored: FinishedRun, prepared: Plan) -> list[StoredChain]:
    """The stages of the recipe that ran. Raises DataError when its operators have changed since."""
    old, library = stored.recipe, stored.library
    stages = cut_at_barriers(old.steps, library, old.measure_only)
    if stages[-1].fingerprint != stored.manifest["fingerprint"]:
        raise DataError(
            "the operators, or files that they read, have changed since the run, so its stored results cannot be used; run it again"
        )
    schema = input_schema(PlanSettings.of(old, library).schema, prepared.lines, prepared.shards)
    chains = compile_chains(stages, CompileInputs(PlanSettings.of(old, library).compile, library, schema))
    return [StoredChain(stage, chain) for stage, chain in zip(stages, chains, strict=True)]


def _binds(stored: FinishedRun, change: RecipeChange) -> bool:
    """Return whether DuckDB can bind the new conditions to the stored tables; the rest of the recipe is unchanged."""
    conditions = ", ".join(change.verdicts.values()) or "NULL"
    try:
        stored.con.execute(f"SELECT {conditions} FROM stats JOIN row_outcomes USING (_row) LIMIT 0").fetchall()
    except duckdb.Error:
        return False
    return True


def _not_written(old: Recipe) -> list[str]:
    """Notes on files of the run that refilter does not write again."""
    kinds = {"partition_by": old.partition_by, "removed_path": old.removed_path}
    return [
        f"{key} is not followed by refilter, which writes the kept samples to one place"
        for key, value in kinds.items()
        if value
    ]


def _notes(prepared: Plan, change: RecipeChange, again: int, rows: int) -> list[str]:
    """Notes on the rows that ran again."""
    base = (
        f"{again:,} of {rows:,} rows {'was' if again == 1 else 'were'} run again" if again else "no row was run again"
    )
    after = prepared.stages[change.stage - 1].stage.after
    from_here = f"the run was made again from stage {change.stage} of {len(prepared.stages)} on"
    if after is None:
        return [base if change.stage == len(prepared.stages) else f"{base}: {from_here}"]
    place = "compares" if after.index == change.first else f"comes after step {change.first} and compares"
    why = f"step {after.index}, {after.name}, {place} all samples that are left"
    return [f"{base}: {why}, so {from_here}"]
