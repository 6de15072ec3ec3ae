"""The first step of a changed recipe that may decide otherwise than in the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.common.lazy import duckdb, exp
from refinery.compiler.column_names import replaced
from refinery.compiler.model import Chain
from refinery.compiler.stages import Stage
from refinery.compiler.stored_predicates import verdicts
from refinery.planning.plan import CompiledStage

# Stands for the flags of earlier steps, which are in every expression but are no part of what a step computes.
_ALIVE = "_alive"


@dataclass(frozen=True)
class RecipeChange:
    """Differences of the changed recipe from the run.

    first: the first step that may decide otherwise; None: no step does. stage: the number of its stage; without `first`
    that of the last stage. verdicts: new conditions of filters in that stage, over stored columns. unknown: the first
    step that stored columns cannot decide; samples that reach it must run again.
    """

    first: int | None
    stage: int
    verdicts: dict[int, str]
    unknown: int | None

    def decision(self, planned: CompiledStage) -> str:
        """SQL for the step of the stage that removes a stored sample; NULL: no step does, or the step is unknown.

        The SQL reads the run's columns; `_dropped` is the step that removed the sample in the run.
        """
        whens = []
        for step in planned.chain.alive:
            if self.unknown is not None and step >= self.unknown:
                break
            if step in self.verdicts:
                reached = f"(_dropped IS NULL OR _dropped >= {step})"
                whens.append(f"WHEN {reached} AND NOT coalesce({self.verdicts[step]}, FALSE) THEN {step}")
            else:
                whens.append(f"WHEN _dropped = {step} THEN {step}")
        return f"CASE {' '.join(whens)} END" if whens else "CAST(NULL AS INTEGER)"


@dataclass(frozen=True)
class StoredChain:
    """A stage of the recipe that ran, with its compiled chain."""

    stage: Stage
    chain: Chain


def compare(before: Sequence[StoredChain], after: Sequence[CompiledStage]) -> RecipeChange:
    """Compare the stages `after` with the stages that ran; both have the same operators at the same places."""
    old, new = _definitions(before), _definitions(after)
    differ = {name for name, (sql, _) in new.items() if old.get(name, ("",))[0] != sql}
    conditions = {step: alive for planned in after for step, alive in planned.chain.alive.items()}
    decided_otherwise = {step for step, alive in conditions.items() if alive in differ}
    flags = {name for planned in after for name in planned.chain.columns_of("alive")}
    computed = {max(1, new[name][1]) for name in differ - flags}
    computed |= _barriers(before, after)
    decided = verdicts([planned.chain for planned in after])
    unknown = computed | {step for step in decided_otherwise if decided[step] is None}
    first = min(unknown | decided_otherwise, default=None)
    stage = after[-1] if first is None else next(planned for planned in after if _holds(planned, first))
    steps = {step for step in stage.chain.alive if step in decided_otherwise}
    known = {step: sql for step in steps if (sql := decided[step]) is not None}
    return RecipeChange(first, stage.stage.number, known, min(unknown, default=None))


def certain(con: duckdb.DuckDBPyConnection, change: RecipeChange) -> RecipeChange:
    """Return the change; a step whose condition fails for a stored sample becomes `unknown`.

    Samples that reach that step run again; samples for which the condition fails go into quarantine as in any run. con:
    has the tables `stats` and `row_outcomes` of the run.
    """
    for step, condition in sorted(change.verdicts.items()):
        if change.unknown is not None and step >= change.unknown:
            break
        asked = f"CASE WHEN _dropped IS NULL OR _dropped >= {step} THEN {condition} END"
        try:
            con.execute(f"SELECT count(*) FILTER ({asked}) FROM stats JOIN row_outcomes USING (_row)").fetchall()
        except duckdb.Error:
            return replace(change, unknown=step)
    return change


def _definitions(stages: Sequence[StoredChain | CompiledStage]) -> dict[str, tuple[str, int]]:
    """The expression of every column, and the first step that needs it."""
    definitions: dict[str, tuple[str, int]] = {}
    for planned in stages:
        alive = planned.chain.columns_of("alive")
        for definition in planned.chain.layers.definitions():
            sql = replaced(definition.expression, alive, exp.column(_ALIVE)).sql("duckdb")
            definitions[definition.name] = sql, definition.step
    return definitions


def _barriers(before: Sequence[StoredChain], after: Sequence[CompiledStage]) -> set[int]:
    """Deduplicators that are new or have other parameters."""
    old = {planned.stage.after.index: planned.stage.after.params for planned in before if planned.stage.after}
    steps: Mapping[int, Any] = {
        planned.stage.after.index: planned.stage.after for planned in after if planned.stage.after
    }
    return {index for index, step in steps.items() if old.get(index) != step.params}


def _holds(planned: CompiledStage, step: int) -> bool:
    after = planned.stage.after
    return any(step == own.index for own in planned.stage.steps) or (after is not None and after.index == step)
