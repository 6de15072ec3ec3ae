"""The choice of how the tables of a run are made: in the database, or as parts by tasks."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.planning.plan import Plan
from refinery.recipe.executors import on_cluster
from refinery.results import blocks, trace
from refinery.results.part_tables import PartTables, TableOrder
from refinery.results.stage_result import StageResult
from refinery.results.stat_summary import BLOCK as SIZE
from refinery.results.summary_rows import SummaryPlan
from refinery.results.tables import step_cells
from refinery.results.whole_tables import TableMaker, WholeTables
from refinery.storage.store import Store
from refinery.workers.executor import Executor

# Samples of a run from which on tasks make the tables: on a cluster, and on one machine.
ON_CLUSTER, HERE = SIZE, 1 << 24
# Least samples of a task for tables, and tasks for each core.
LEAST, EACH = 1 << 16, 2


def maker_of(
    prepared: Plan, executor: Executor, done: Sequence[StageResult], source: Store, parts: Store, exports: bool
) -> TableMaker:
    """The maker of a run's tables. executor: runs tasks. source: store of the shards' files. parts: store of parts of tables."""
    recipe = prepared.recipe
    most = ON_CLUSTER if on_cluster(recipe.executor_type) else HERE
    if sum(blocks.samples_of(done)) <= most:
        return WholeTables()
    order = TableOrder(
        summary=SummaryPlan.of([stage.program for stage in prepared.stages], recipe.stat_summary),
        traced=trace.conditions(prepared.stages, recipe.op_list_to_trace) if recipe.open_tracer else {},
        trace_limit=recipe.trace_limit,
        written=tuple(stat.column for stat in prepared.stats) if exports else (),
        cells=step_cells(prepared),
    )
    piece = piece_size(sum(blocks.samples_of(done)), executor.capacity())
    return PartTables(prepared.stages, order, executor, source, parts, piece, SIZE)


def piece_size(samples: int, cores: int) -> int:
    """Least samples of a task: so many that each core has some tasks, and at most a block, so that there are few files."""
    return min(SIZE, max(LEAST, -(-samples // (cores * EACH))))
