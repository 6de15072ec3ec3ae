"""The order of filters, for recipes with a `fusion_strategy`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refinery.compiler.filter_order import FilterOrder, movable
from refinery.compiler.program import pretty
from refinery.compiler.stages import ordered
from refinery.compiler.step_columns import needs_of
from refinery.errors import error_of
from refinery.io.model import Shard
from refinery.planning.binding import bind_stages
from refinery.planning.compilation import compile_probe, compile_stages
from refinery.planning.filter_costs import Costs, best_order, class_costs, measure_costs
from refinery.planning.plan import CompiledStage


def reorder(
    stages: Sequence[CompiledStage], shards: Sequence[Shard], strategy: str, known: Sequence[FilterOrder] | None
) -> tuple[tuple[CompiledStage, ...], tuple[FilterOrder, ...]]:
    """The stages with their filters in the order of a `fusion_strategy`, and the order of each with its reason.

    shards: of the input, on which costs are measured. known: orders of an earlier run that is explained or continued, else
    they are found. Raises one error with all problems of the reordered stages.
    """
    orderings = tuple(known or [_ordering(strategy, planned, shards) for planned in stages])
    if not any(order.moved for order in orderings):
        return tuple(stages), orderings
    return _compile_again(stages, shards, orderings), orderings


def _compile_again(
    stages: Sequence[CompiledStage], shards: Sequence[Shard], orderings: Sequence[FilterOrder]
) -> tuple[CompiledStage, ...]:
    """Compile the stages in their new order: what moves is known from the compiled stages alone."""
    moved = ordered([planned.stage for planned in stages], [order.steps for order in orderings])
    phase = compile_stages(moved, stages[0].inputs)
    if problems := [*phase.problems, *bind_stages(phase.value, shards).problems]:
        raise error_of(problems)
    return phase.value


def _ordering(strategy: str, planned: CompiledStage, shards: Sequence[Shard]) -> FilterOrder:
    """Find the order in which the steps of a stage should run."""
    needs = needs_of(planned.chain, planned.program.steps)
    if not movable(needs):
        return FilterOrder(strategy, tuple(need.step for need in needs))
    if strategy == "greedy":
        return best_order(strategy, needs, class_costs(planned.program, planned.chain, planned.inputs.library))
    return best_order(strategy, needs, probe_costs(planned, shards))


def probe_costs(planned: CompiledStage, shards: Sequence[Shard]) -> Costs:
    """Costs of the steps of a stage, measured on samples of the input."""
    program, chain = compile_probe(planned)
    sql = pretty(chain.select([*chain.pass_columns(), *chain.passes.values()]))
    probing = replace(program, pass_sql=sql, folders=planned.program.folders)
    return measure_costs(probing, chain, shards)
