"""The work of a run's audit: how many removed samples it compares, and how long it reads the input for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refinery.execution.audited_texts import audited_steps
from refinery.inspect.forecast.estimates import StepEstimate
from refinery.inspect.forecast.reading import reading_alone, seconds_per_byte
from refinery.io.model import Shard
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
    with open_tables(sampled) as con:
        connecting = to_audit(con, few=0)
    asked, compared = plan.recipe.audit, dict[int, float]()
    for step in steps:
        arrived, rows = rows, step.rows.value
        if asked is not None or is_suspicious(step, arrived) or step.step in connecting:
            compared[step.step] = min(float(MOST if asked is None else asked), step.removed)
    return work_of(plan, plan.shards, compared)


def audited_work(plan: Plan, shards: Sequence[Shard], database: Path) -> AuditWork:
    """The work of an audit that was made. shards: those of its run, over which the plan was run."""
    with open_tables(database) as con:
        compared = dict(con.execute("SELECT step, count(*) FROM audit GROUP BY step").fetchall())
    return work_of(plan, shards, compared)


def work_of(plan: Plan, shards: Sequence[Shard], compared: Mapping[int, float]) -> AuditWork:
    """The work of an audit. compared: samples by step."""
    auditable = {one.step.index for one in audited_steps(plan.stages, plan.library.operators)} & compared.keys()
    read = sum(_drawn(2 * compared[step], len(shards)) for step in auditable if _reads_input(plan, step))
    seconds = read / len(shards) * reading_alone(shards, seconds_per_byte) if read else 0.0
    return AuditWork(float(sum(compared[step] for step in auditable)), seconds)


def is_suspicious(step: StepEstimate, arrived: float) -> bool:
    """Return whether a step is audited because few samples reach it, or because it removes many. arrived: samples that reach it."""
    return arrived <= FEW or arrived - step.rows.value > LARGE_SHARE * arrived


def _drawn(samples: float, shards: int) -> float:
    """Shards that have at least one of some samples."""
    return shards * -math.expm1(-samples / max(1, shards))


def _reads_input(plan: Plan, step: int) -> bool:
    """Return whether the samples that reach a deduplicator are those of the input: no stage has written them."""
    [place] = [
        at for at, planned in enumerate(plan.stages) if planned.stage.after and planned.stage.after.index == step
    ]
    return not any(planned.program.outs for planned in plan.stages[: place + 1])
