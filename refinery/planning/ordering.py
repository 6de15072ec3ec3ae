"""The order of a plan's filters, for recipes with a `fusion_strategy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from refinery.compiler.filter_order import FilterOrder, movable
from refinery.compiler.program import pretty
from refinery.compiler.stages import ordered
from refinery.compiler.step_columns import needs_of
from refinery.errors import error_of
from refinery.io.model import Shard
from refinery.planning.binding import bind_stages
from refinery.planning.compilation import compile_probe, compile_stages
from refinery.planning.filter_costs import Costs, best_order, class_costs, measure_costs, order_notes, stored_orders
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.run_folder import RunDir


def reorder(prepared: Plan, orderings: Sequence[FilterOrder] | None) -> None:
    """Put the filters of a plan's stages into the order of its recipe's `fusion_strategy`.

    orderings: of the stages of an earlier run that is explained or continued.
    """
    if not orderings:
        orderings = stored_orders(RunDir(Path(prepared.recipe.work_dir)).order, prepared.order_key())
    if not orderings:
        orderings = [_ordering(prepared, planned) for planned in prepared.stages]
    prepared.orderings = tuple(orderings)
    if any(order.moved for order in orderings):
        _compile_again(prepared)


def _compile_again(prepared: Plan) -> None:
    """Compile the stages in their new order: what moves is known from the compiled stages alone."""
    stages = ordered([planned.stage for planned in prepared.stages], [order.steps for order in prepared.orderings])
    phase = compile_stages(stages, prepared.stages[0].inputs)
    if problems := [*phase.problems, *bind_stages(phase.value, prepared.shards).problems]:
        raise error_of(problems)
    prepared.stages = phase.value
    prepared.notes += order_notes(prepared.orderings, prepared.stats)


def _ordering(prepared: Plan, planned: CompiledStage) -> FilterOrder:
    """Find the order in which the steps of a stage should run."""
    strategy, needs = str(prepared.recipe.reorders), needs_of(planned.chain, planned.program.steps)
    if not movable(needs):
        return FilterOrder(strategy, tuple(need.step for need in needs))
    if strategy == "greedy":
        return best_order(strategy, needs, class_costs(planned.program, planned.chain, prepared.library))
    return best_order(strategy, needs, probe_costs(planned, prepared.shards))


def probe_costs(planned: CompiledStage, shards: Sequence[Shard]) -> Costs:
    """Costs of the steps of a stage, measured on samples of the input."""
    program, chain = compile_probe(planned)
    sql = pretty(chain.select([*chain.pass_columns(), *chain.passes.values()]))
    probing = replace(program, pass_sql=sql, folders=planned.program.folders)
    return measure_costs(probing, chain, shards)
