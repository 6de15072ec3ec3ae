"""The work of a run's audit: how many removed samples it compares, and how long it reads the input for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refinery.execution.audited_texts import audited_steps
from refinery.inspect.forecast.estimates import StepEstimate
from refinery.inspect.forecast.reading import reading_alone, seconds_per_byte
from refinery.planning.plan import Plan
from refinery.results.audit.draw import FEW, LARGE_SHARE, MOST, to_audit
from refinery.results.open_tables import open_tables


@dataclass(frozen=True)
class AuditWork:
    """Work of an audit. samples: removed ones that it compares. seconds: of processor time in which it reads the input."""

    samples: float
    seconds: float


def audit_work(plan: Plan, rows: float, steps: Sequence[StepEstimate], sampled: Path) -> AuditWork:
    """The work of a run's audit. rows: of the input. sampled: database of the sample's run."""
    samples, shards = 0.0, 0.0
    with open_tables(sampled) as con:
        connecting = to_audit(con, few=0)
    asked = plan.recipe.audit
    changed = {
        planned.stage.after.index: _is_written(plan, place)
        for place, planned in enumerate(plan.stages)
        if planned.stage.after
    }
    audited = {one.step.index for one in audited_steps(plan.stages, plan.library.operators)}
    for step in steps:
        arrived, rows = rows, step.rows.value
        if step.step not in audited:
            continue
        if asked is None and not (is_suspicious(step, arrived) or step.step in connecting):
            continue
        compared = min(float(MOST if asked is None else asked), step.removed)
        samples += compared
        if not changed[step.step]:
            shards += _drawn(2 * compared, len(plan.shards))
    return AuditWork(
        samples, shards / max(1, len(plan.shards)) * reading_alone(plan.shards, seconds_per_byte) if shards else 0.0
    )


def is_suspicious(step: StepEstimate, arrived: float) -> bool:
    """Return whether a step is audited because few samples reach it, or because it removes many. arrived: samples that reach it."""
    return arrived <= FEW or arrived - step.rows.value > LARGE_SHARE * arrived


def _drawn(samples: float, shards: int) -> float:
    """Shards that have at least one of some samples."""
    return shards * -math.expm1(-samples / max(1, shards))


def _is_written(plan: Plan, place: int) -> bool:
    """Return whether a deduplicator's samples were written by a stage, so that they aren't read from the input. place: of its stage."""
    return any(planned.program.outs for planned in plan.stages[: place + 1])
