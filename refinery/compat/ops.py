"""Load steps, measure them on a few samples, and put them in order.

`load_ops` checks steps, `probe_small_batch` measures them, `fuse_operators` orders them. What they return are items of a
recipe's `process`, so `refinery.run({"process": ops, ...})` runs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from refinery.compiler.filter_order import StepColumns, movable
from refinery.compiler.step_columns import needs_of
from refinery.errors import Problem, RecipeError
from refinery.execution.open import open_recipe
from refinery.io.python_data.kinds import in_memory, is_batch, tables_of
from refinery.io.python_data.spool import Spool
from refinery.operators import Library
from refinery.planning.filter_costs import Costs, best_order, class_costs
from refinery.planning.ordering import probe_costs
from refinery.planning.pipeline import prepare
from refinery.planning.sizes import batch_sizes, mean_row
from refinery.recipe import Recipe
from refinery.recipe.input_config import InputConfig
from refinery.recipe.model import Step
from refinery.storage.open import open_store

_SAMPLES = 1000  # of a small batch


class Op(dict[str, Any]):
    """One step: an item of `process`, such as {"words_num_filter": {"min_num": 10}}.

    name: the operator. kind: mapper, filter, deduplicator or statistics. params: all parameters, defaults filled in.
    """

    def __init__(self, step: Step, kind: str) -> None:
        given = {name: step.params[name] for name in sorted(step.given)}
        super().__init__({step.name: given or None} | ({"name": step.title} if step.title else {}))
        self.name, self.kind, self.params = step.name, kind, dict(step.params)


class Probe(list[dict[str, Any]]):
    """Measurements of steps, one dict for each: operator, time (s per MB), speed (samples/s), keeps (share, filters).

    What is not measured is None: deduplicators compare all samples, so a few say nothing of them. `fuse_operators` reads
    the costs of each stage.
    """

    def __init__(self, ops: Sequence[Mapping[str, Any]], stages: Sequence[tuple[Sequence[StepColumns], Costs]]) -> None:
        super().__init__()
        self.ops, self.stages = [dict(op) for op in ops], tuple(stages)


def load_ops(process: Iterable[Any], operators: Sequence[str | Path] = ()) -> list[Op]:
    """The steps of a recipe's `process`, checked. operators: folders of your own. Raises RecipeError with all problems."""
    recipe, library = _opened(list(process), operators)
    return [Op(step, library.operators[step.name].kind) for step in recipe.steps]


def probe_small_batch(
    dataset: Any, ops: Sequence[Mapping[str, Any]], operators: Sequence[str | Path] = ()
) -> tuple[Probe, list[int]]:
    """Measure steps on the first samples of a dataset, which is whatever `refinery.run` takes, or a path.

    Returns the measurements and, for each step, the rows of a batch. An iterator is advanced by the samples taken.
    """
    recipe, library = _opened(list(ops), operators)
    with TemporaryDirectory(prefix="refinery_") as folder:
        if not isinstance(dataset, (str, Path)):
            Spool(open_store(folder), {}).write(_first(dataset))
            dataset = folder
        recipe = replace(recipe, inputs=(InputConfig(str(dataset)),), work_dir=str(Path(folder) / "run"))
        prepared = prepare(recipe, library)
        row = mean_row(prepared.shards)
        stages = [
            (needs_of(stage.chain, stage.program.steps), probe_costs(stage, prepared.shards))
            for stage in prepared.stages
        ]
    probe = Probe(ops, stages)
    spent = {need.step: float(costs.spent[need.step]) for needs, costs in stages for need in needs}
    keeps = {step: share for _, costs in stages for step, share in costs.passes().items()}
    for step in recipe.steps:
        seconds = spent.get(step.index)
        speed = 1e6 / seconds / row if seconds and row else None
        probe.append({"operator": step.name, "time": seconds, "speed": speed, "keeps": keeps.get(step.index)})
    rows = batch_sizes(row, [stage.chain for stage in prepared.stages], recipe.memory_limit, 1).rows
    return probe, [rows] * len(recipe.steps)


def fuse_operators(
    ops: Sequence[Mapping[str, Any]], probe_res: Probe | None = None, operators: Sequence[str | Path] = ()
) -> list[Op]:
    """The steps in the order in which cheap, strict filters come first and the same rows are kept.

    probe_res: of `probe_small_batch` for these steps; without it, costs are those of the steps' classes. Steps between
    two deduplicators are one statement of SQL, whatever their order, and share what they compute.
    """
    recipe, library = _opened(list(ops), operators)
    if probe_res is not None and probe_res.ops != [dict(op) for op in ops]:
        raise ValueError("probe_res is of other steps; measure these with probe_small_batch")
    strategy = "probe" if probe_res is not None else "greedy"
    stages = _class_costs(recipe, library) if probe_res is None else probe_res.stages
    order = [step for needs, costs in stages for step in _ordered(strategy, needs, costs)]
    loaded = {step.index: Op(step, library.operators[step.name].kind) for step in recipe.steps}
    barriers = {step.index for step in recipe.steps if step.index not in order}
    return [loaded[step] for step in _with_barriers(order, sorted(barriers))]


def _opened(process: list[Any], operators: Sequence[str | Path]) -> tuple[Recipe, Library]:
    if not process:
        raise RecipeError([Problem("process", "there is no step", "Name at least one operator.")])
    items = [dict(op) if isinstance(op, Op) else op for op in process]
    return open_recipe({"process": items}, operators=operators, need_inputs=False)


def _first(dataset: Any) -> Any:
    """The first samples of a dataset."""
    table = in_memory(dataset)
    if table is not None:
        return table.slice(0, _SAMPLES)
    tables = tables_of(dataset)
    if tables is not None:
        return _first_rows(tables)
    items = iter(dataset)
    first = next(items, None)
    if is_batch(first):
        return first
    return iter([] if first is None else list(chain((first,), islice(items, _SAMPLES - 1))))


def _first_rows(tables: Iterable[pa.Table]) -> pa.Table:
    first: list[pa.Table] = []
    for table in tables:
        first.append(table)
        if sum(len(one) for one in first) >= _SAMPLES:
            break
    return pa.concat_tables(first).slice(0, _SAMPLES)


def _class_costs(recipe: Recipe, library: Library) -> list[tuple[Sequence[StepColumns], Costs]]:
    """Columns and costs of the stages' steps, without any data."""
    stages = prepare(recipe, library, reads=False, binds=False).stages
    return [
        (needs_of(stage.chain, stage.program.steps), class_costs(stage.program, stage.chain, library))
        for stage in stages
    ]


def _ordered(strategy: str, needs: Sequence[StepColumns], costs: Costs) -> Sequence[int]:
    return best_order(strategy, needs, costs).steps if movable(needs) else [need.step for need in needs]


def _with_barriers(order: Sequence[int], barriers: Sequence[int]) -> list[int]:
    """The order with the deduplicators, each behind all steps before it: no filter moves over one."""
    whole_order = list(order)
    for barrier in barriers:
        whole_order.insert(sum(step < barrier for step in whole_order), barrier)
    return whole_order
