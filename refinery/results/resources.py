"""Tables of a run's use of the machine: `monitor`, and `step_resources`, which is derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import of_rows
from refinery.operators import read_sql
from refinery.planning.plan import CompiledStage
from refinery.results.database import Database

_PLACED = pa.schema([("step", pa.int32()), ("stage", pa.int32()), ("phase", pa.string())])

# Phases of a stage, in order.
SHARDS, COMPARING = "shards", "deduplicator"


def fill(db: Database, measured: pa.Table, stages: Sequence[CompiledStage]) -> None:
    """Make both tables. measured: the result of `RunMonitor.table`."""
    db.table("monitor", measured)
    db.con.register("placed", of_rows(_placed(stages), _PLACED))
    db.run(read_sql("tables/step_resources.sql"))
    db.con.unregister("placed")


def _placed(stages: Sequence[CompiledStage]) -> list[dict[str, Any]]:
    """The phase in which each step runs: the steps of a stage share a statement, a deduplicator runs alone."""
    placed = []
    for planned in stages:
        number = planned.stage.number
        placed += [{"step": step.index, "stage": number, "phase": SHARDS} for step in planned.stage.steps]
        if planned.stage.after is not None:
            placed.append({"step": planned.stage.after.index, "stage": number, "phase": COMPARING})
    return placed
