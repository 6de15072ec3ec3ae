"""`refinery sql --explain`: the execution of each step, and its costs on a part of the input."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from refinery.common.fitted import Fitted, broken_label, narrower
from refinery.common.numbers import size
from refinery.common.parquet import table_of
from refinery.common.printable import printable
from refinery.compiler.explain import BarrierPlan, StepPlan, barrier_plan, step_plans
from refinery.compiler.filter_order import FilterOrder
from refinery.compiler.step_columns import needs_of
from refinery.execution.local_backend import LocalBackend
from refinery.execution.stage_runner import StageRunner
from refinery.io.model import Part, Shard
from refinery.io.readers.parts import source_of_part
from refinery.io.readers.read import read
from refinery.io.writers.write import PartWriter
from refinery.operators.resources import of_steps, resources_of
from refinery.planning.plan import CompiledStage, Plan
from refinery.planning.sizes import BATCH, Sizes, rows_of_step
from refinery.recipe.model import Step
from refinery.results.stage_result import StageResult
from refinery.storage.open import open_store
from refinery.workers.worker import Worker

# Input bytes that `--explain analyze` runs over.
_SAMPLE = 16 << 20
# Widest names in the table of moved filters, which has eight columns.
_NAME = 28


def planned(prepared: Plan, duckdb_plan: bool) -> Iterator[Any]:
    """Describe each stage: its steps, how each runs, what they share; and the deduplicators between.

    duckdb_plan: with DuckDB's plan of each stage.
    """
    yield f"input: {prepared.cut.described(prepared.shards)}"
    for stage in prepared.stages:
        yield from _stage(prepared, stage)
        if duckdb_plan and not stage.program.copies:
            yield from _plan_of_duckdb(stage, prepared.shards)
        after = stage.stage.after
        if after is not None:
            yield from _barrier(barrier_plan(after, prepared.library.operators[after.name]), printable(after.label))


def _stage(prepared: Plan, stage: CompiledStage) -> Iterator[Any]:
    program, after = stage.program, stage.stage.after
    asked, labels = of_steps(stage.all_steps, prepared.library.operators), _labels(prepared.recipe.steps)
    workers = prepared.capacity.cores if prepared.capacity is not None else prepared.workers
    shards, workers = len(prepared.shards), min(workers, asked.workers or workers)
    if program.copies:
        yield f"stage {stage.stage.number}: no steps; the remaining samples are written unchanged"
        return
    marks = f", and what step {after.index} compares," if after is not None else ""
    yield _tree(
        f"stage {stage.stage.number}: {_many(len(program.steps), 'step')}{marks} fused into one pass over "
        f"{_many(shards, 'shard')} with {_many(workers, 'worker')}",
        step_plans(program, stage.chain, prepared.library, after),
        labels,
        [*_resources(stage), _batches(stage, prepared.sizes, labels)],
    )
    if prepared.orderings:
        yield from _order(stage, prepared.orderings[stage.stage.number - 1], labels)


def _labels(steps: Sequence[Step]) -> dict[int, str]:
    """Operator and name of each step."""
    return {step.index: printable(step.label) for step in steps}


def _resources(stage: CompiledStage) -> list[str]:
    """Lines on the resources of a stage, and on the reason why it is alone."""
    operators = stage.inputs.library.operators
    asked = of_steps(stage.all_steps, operators)
    if not (of_stage := asked.described()):
        return []
    by_step = [(step, resources_of(step, operators[step.name])) for step in stage.all_steps]
    parts = [f"step {step.index} {of_step}" for step, each in by_step if (of_step := each.described())]
    alone = ["a stage of its own, for the GPU"] if asked.gpus else []
    return ["; ".join([f"resources: {of_stage}", *alone, *parts])]


def _batches(stage: CompiledStage, sizes: Sizes, labels: Mapping[int, str]) -> str:
    """Line on the sizes of batches: the most samples that each operator is given at a time."""
    operators = stage.inputs.library.operators
    rows = {step.index: rows_of_step(sizes, step, operators[step.name]) for step in stage.all_steps}
    own = [f"step {step} {labels[step]} {most:,}" for step, most in rows.items() if most != sizes.rows]
    most = f"batches of up to {sizes.rows:,} samples and {size(sizes.bytes)} for each operator"
    return f"{most}; {', '.join(own)} at a time" if own else most


def _tree(stage: str, plans: Sequence[StepPlan], labels: dict[int, str], more: Sequence[str] = ()) -> Any:
    """A stage and its steps: `6 alphanumeric_filter: kernel profile, shares _profile_text_5, line 23`. more: lines."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(stage))
    for line in more:
        tree.add(Text(line))
    for plan in plans:
        how = " ".join([plan.runs, ", ".join(plan.functions)]).strip()
        shared = [f"shares {', '.join(plan.shared)}"] if plan.shared else []
        line = plan.where.rpartition(":")[2]
        where = [f"line {line}"] if line.isdigit() else [plan.where]
        tree.add(Text(f"{plan.index} {_label(labels[plan.index], plan.kind)}: {', '.join([how, *shared, *where])}"))
    return tree


def _plan_of_duckdb(stage: CompiledStage, shards: Sequence[Shard]) -> Iterator[str]:
    worker = Worker(stage.program)
    try:
        yield f"DuckDB's plan for one batch of up to {BATCH >> 20} MB:"
        yield worker.explain(shards)
    finally:
        worker.close()


def _order(stage: CompiledStage, ordering: FilterOrder, labels: Mapping[int, str]) -> Iterator[Any]:
    """Describe the order of filters: the moved filters, why they may move, and the costs behind the order."""
    unit = "ms a megabyte" if ordering.passes else "by class"
    scale = 1000 if ordering.passes else 1
    before, after = (f"{scale * cost:.3g}" for cost in (ordering.before, ordering.after))
    if not ordering.moved:
        yield f"fusion_strategy {ordering.strategy}: the recipe's order stays; expected cost {before} {unit}\n"
        return
    yield f"fusion_strategy {ordering.strategy}: expected cost {after} {unit}, in the recipe's order {before}"
    table = _table(
        "step", "operator", "reads", "changes", "measures", "names", "keeps", "costs", right=("step", "keeps", "costs")
    )
    for need in needs_of(stage.chain, stage.program.steps):
        keeps = f"{100 * ordering.passes[need.step]:.1f} %" if need.step in ordering.passes else ""
        stats = [stat.column for stat in stage.program.stats if stat.step == need.step]
        named = sorted(need.asked & {name for other in stage.program.stats for name in (other.name, other.column)})
        texts = (", ".join(sorted(need.reads)), need.writes or "", ", ".join(stats), ", ".join(named))
        table.add_row(
            str(need.step),
            broken_label(labels[need.step], _NAME),
            *texts,
            keeps,
            f"{scale * ordering.costs.get(need.step, 0.0):.3g}",
        )
    yield table
    for move in ordering.moves:
        yield f"step {move.step} {labels[move.step]} runs before"
        yield from (f"    step {step}: {why}" for step, why in move.passed)
    yield ""


def _label(name: str, kind: str) -> str:
    """An operator's name, with the part of its work that a row describes."""
    return name + {"marks": ": marks", "deduplicator": ": takes out"}.get(kind, "")


def _barrier(plan: BarrierPlan, label: str) -> Iterator[str]:
    lines = [f"between stages: step {plan.index} {label} ({plan.where}), set SQL over the match keys of all shards"]
    first, *more = plan.compares
    lines += [f"  compares  {first}", *(f"            {line}" for line in more)]
    lines += [f"  stays     {plan.stays}", f"  limits    {plan.limits}"]
    lines += [f"  index     {plan.index_folder}"] if plan.index_folder else []
    for name, when, sql in plan.statements:
        lines += [f"  sql/deduplicators/{name}: {when}", *(f"    {line}" for line in sql.splitlines())]
    yield "\n".join([*lines, ""])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _table(*names: str, right: tuple[str, ...] = ("step",)) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in names:
        wide = name in ("reads", "measures", "names")
        table.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=not wide)
    return table


def analyzed(prepared: Plan) -> Iterator[Any]:
    """Report seconds, rows and speed per step, measured on the first 16 MB of the input; see `planned`."""
    with TemporaryDirectory(prefix="refinery_") as folder:
        shards = _sample(prepared.shards, Path(folder))
        sampled = replace(prepared, shards=shards, workers=1, stages=tuple(map(_forgiving, prepared.stages)))
        _run(sampled, Path(folder) / "first")  # loads or compiles the kernels, outside of the measurement
        done = _run(sampled, Path(folder) / "second")
        for stage in done:
            if not stage.program.copies:
                name = f"stage {stage.planned.stage.number}: " if len(done) > 1 else ""
                yield from _measured(stage, name, _labels(prepared.recipe.steps))
        yield from (f"note: {note}" for stage in done if stage.findings is not None for note in stage.findings.notes)


def _sample(whole: Sequence[Shard], folder: Path) -> list[Shard]:
    """Write the first samples of the input to files of their own; return these as shards."""
    shards: list[Shard] = []
    size = 0
    for shard in whole:
        rows, lines = [], []
        with PartWriter(folder / f"{shard.index:05d}", shard.lines, None) as writer:
            for batch in read(shard, BATCH):
                writer.write(batch, np.arange(len(batch)), {}, {})
                rows.append(batch.rows)
                lines.append(batch.line_numbers)
                size += batch.table.nbytes
                if size >= _SAMPLE:
                    break
        if writer.path is not None:
            numbers = np.concatenate(rows)
            source = source_of_part(str(writer.path), shard.lines, Path(writer.path).stat().st_size)
            part = Part(source, np.arange(len(numbers)), numbers, np.concatenate(lines))
            shards.append(replace(shard, part=part))
        else:
            shards.append(replace(shard, part=Part(None, np.zeros(0, np.int64))))
        if size >= _SAMPLE:
            break
    return shards


def _forgiving(planned: CompiledStage) -> CompiledStage:
    """The stage with a deduplicator that only warns beyond its limits: for a part of the input, limits mean little."""
    after = planned.stage.after
    if after is None or "on_excess" not in after.params:
        return planned
    step = replace(after, params={**after.params, "on_excess": "warn"})
    return replace(planned, stage=replace(planned.stage, after=step))


def _run(prepared: Plan, folder: Path) -> list[StageResult]:
    # The run's own notes go into this folder too.
    prepared = replace(prepared, recipe=replace(prepared.recipe, work_dir=str(folder)))
    store = open_store(str(folder))
    with StageRunner(prepared, store, LocalBackend(prepared, store)) as stages:
        return stages.run()


def _measured(stage: StageResult, name: str, labels: Mapping[int, str]) -> Iterator[Any]:
    """Report the costs of a stage and of the deduplicator at its end. name: of the stage, before a line."""
    spent: dict[int, float] = defaultdict(float)
    ended: Counter[int | None] = Counter()
    for result in stage.results:
        for step, seconds in result.seconds.items():
            spent[step] += seconds
    for path in stage.files("facts"):
        ended.update(table_of(path, ["_dropped"])["_dropped"].to_pylist())
    size = sum(result.bytes for result in stage.results)
    rows = sum(result.rows - result.quarantined for result in stage.results)
    total = sum(spent.values()) or 1e-9
    speed = f"{total:.3f} s, {size / 1e6 / total:.0f} MB/s"
    yield f"{name}measured on {rows:,} rows, {size / 1e6:.1f} MB, by one thread: {speed}"
    yield _costs(stage, labels, spent, ended, rows, size)


def _costs(
    stage: StageResult,
    labels: Mapping[int, str],
    spent: dict[int, float],
    ended: Counter[int | None],
    rows: int,
    size: int,
) -> Any:
    after, findings = stage.planned.stage.after, stage.findings
    seconds_of_pairs = findings.seconds if findings is not None else 0.0
    total = (sum(spent.values()) + seconds_of_pairs) or 1e-9
    lines: list[tuple[str, ...]] = []

    def add(step: int | None, name: str, runs: str, rows_in: int, removed: int, seconds: float) -> None:
        speed = (
            f"{size / 1e6 * rows_in / max(rows, 1) / seconds:,.0f}" if seconds >= 0.0005 and step is not None else ""
        )
        gone = f"{removed:,}" if removed else ""
        share = f"{100 * seconds / total:.0f} %"
        lines.append((str(step or ""), name, runs, f"{rows_in:,}", gone, f"{seconds:.3f}", share, speed))

    left, planned = rows, stage.planned
    for plan in step_plans(stage.program, planned.chain, planned.inputs.library, after):
        add(plan.index, _label(labels[plan.index], plan.kind), plan.runs, left, ended[plan.index], spent[plan.index])
        left -= ended[plan.index]
    if after is not None and findings is not None:
        add(after.index, labels[after.index], "set SQL", left, findings.count, seconds_of_pairs)
    add(None, "reading and the rest", "", rows, 0, spent[0])
    return Fitted(partial(_costs_table, lines))


def _costs_table(lines: Sequence[tuple[str, ...]], excess: int) -> Any:
    numbers = ("step", "rows in", "removed", "seconds", "share", "MB/s")
    table = _table("step", "operator", "runs as", *numbers[1:], right=numbers)
    width = narrower([name for _, name, *_ in lines], excess)
    for step, name, *others in lines:
        table.add_row(step, broken_label(name, width), *others)
    return table
