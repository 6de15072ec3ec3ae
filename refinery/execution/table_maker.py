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


def table_order(prepared: Plan, exports: bool) -> TableOrder:
    """The settings of a run's tables. exports: statistics of kept samples are written beside the export."""
    recipe, stages, traces = prepared.recipe, prepared.stages, prepared.recipe.traces
    return TableOrder(
        summary=SummaryPlan.of([stage.program for stage in stages], recipe.stat_summary),
        traced=trace.conditions(stages, traces.operators) if traces.are_on else {},
        trace_limit=traces.limit,
        written=tuple(stat.column for stat in prepared.stats) if exports else (),
        cells=step_cells(recipe.steps, prepared.library.operators, prepared.sizes),
    )


def most_in_database(executor_type: str) -> int:
    """Most samples of a run whose tables are made in its database."""
    return ON_CLUSTER if on_cluster(executor_type) else HERE


def maker_of(
    order: TableOrder, most: int, executor: Executor, done: Sequence[StageResult], source: Store, parts: Store
) -> TableMaker:
    """The maker of a run's tables. most: samples for which they are made in the database; tasks of the executor make larger ones.

    source: store of the shards' files. parts: store of parts of tables.
    """
    samples = sum(blocks.samples_of(done))
    if samples <= most:
        return WholeTables()
    piece = piece_size(samples, executor.capacity())
    return PartTables([stage.planned for stage in done], order, executor, source, parts, piece, SIZE)


def piece_size(samples: int, cores: int) -> int:
    """Least samples of a task: so many that each core has some tasks, and at most a block, so that there are few files."""
    return min(SIZE, max(LEAST, -(-samples // (cores * EACH))))
