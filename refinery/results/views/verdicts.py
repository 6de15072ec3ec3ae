"""Verdicts of the steps that may remove samples, as SQL over the tables of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.model import Chain
from refinery.compiler.stages import cut_at_barriers
from refinery.compiler.stored_predicates import verdicts
from refinery.operators import Library
from refinery.planning.compilation import compile_chains
from refinery.planning.plan import CompiledStage

UNKNOWN = "CAST(NULL AS BOOLEAN)"
# Relations that a verdict reads: the outcome alone, or the statistics, too.
OUTCOMES, STATISTICS = "row_outcomes", "row_outcomes JOIN stats USING (_row)"


@dataclass(frozen=True)
class StepVerdict:
    """A step. removes: SQL over `source`, true if it removes the sample, NULL if that is not known."""

    step: int
    removes: str
    source: str


def verdicts_of_run(
    stages: Sequence[CompiledStage], steps: Sequence[Any], con: duckdb.DuckDBPyConnection
) -> tuple[StepVerdict, ...]:
    """Verdicts of a run. steps: of its recipe, also those that no stage has. con: has its tables."""
    chains, inputs = [planned.chain for planned in stages], stages[0].inputs
    if not inputs.settings.measures:
        order = [number for planned in stages for number in planned.stage.numbers()]
        return by_outcome(_filters(chains, inputs.library), order)
    inputs = replace(inputs, settings=replace(inputs.settings, measures=False))
    chains = compile_chains(cut_at_barriers(steps, inputs.library), inputs)
    return by_statistics(verdicts(chains), _filters(chains, inputs.library), con)


def _filters(chains: Sequence[Chain], library: Library) -> list[int]:
    """Numbers of the steps that may remove samples by themselves, in the recipe's order."""
    steps = {step.index: step for chain in chains for step in chain.steps}
    removing = {number for chain in chains for number in chain.alive if number in steps}
    return sorted(number for number in removing if library.operators[steps[number].name].kind != "deduplicator")


def by_outcome(steps: Iterable[int], order: Sequence[int]) -> tuple[StepVerdict, ...]:
    """Verdicts of steps that removed samples: those on samples that an earlier step removed are not known.

    order: of all steps, as they ran.
    """
    places = {step: place for place, step in enumerate(order)}
    return tuple(StepVerdict(step, _outcome(step, order[places[step] + 1 :]), OUTCOMES) for step in steps)


def _outcome(step: int, later: Sequence[int]) -> str:
    after = f" OR _dropped IN ({', '.join(map(str, later))})" if later else ""
    return f"CASE WHEN _dropped = {step} THEN TRUE WHEN _dropped IS NULL{after} THEN FALSE END"


def by_statistics(
    conditions: Mapping[int, str | None], steps: Iterable[int], con: duckdb.DuckDBPyConnection
) -> tuple[StepVerdict, ...]:
    """Verdicts of filters that only measured. conditions: for keeping a sample; None where statistics do not decide."""
    found = []
    for step in steps:
        condition = conditions.get(step)
        decides = condition is not None and _binds(condition, con)
        found.append(StepVerdict(step, f"NOT ({condition})" if decides else UNKNOWN, STATISTICS))
    return tuple(found)


def _binds(condition: str, con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether DuckDB alone can compute a condition over the tables."""
    try:
        con.execute(f"SELECT {condition} FROM {STATISTICS} LIMIT 0").fetchall()
    except duckdb.Error:
        return False
    return True
