"""Seconds of a run on a Ray cluster: arithmetic on costs measured on this machine, as in docs/scaling-study.md.

Assumed are cores as fast as those of this machine, all of them busy; shared storage beside the nodes, read and written through a link of
each node; and a cluster that is there, so no machine has to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refinery.execution.table_maker import LEAST, ON_CLUSTER
from refinery.inspect.forecast.costs import PER_CELL, Load, RunCosts, StageCost

# How much longer a core takes where all cores of its machine work. Cores of a node, and bytes a second of its link.
CROWD, NODE, LINK = 1.15, 160, 3.1e9
# Seconds to hand out a task and to receive its answer, and to connect to the cluster.
TASK, CONNECT = 0.0015, 5.0
# Tasks of a deduplicator between its shards: phases, each of which waits for the last task of the one before.
_PHASES, _LATENCY = 10, 0.05
# What a forecast says of these.
ASSUMED = (
    f"cores as fast as this machine's, but {100 * (CROWD - 1):.0f} % slower where all of a machine work; {NODE} cores a machine with a link of {8 * LINK / 1e9:.0f} Gbit/s "
    f"to shared storage; {1000 * TASK:g} ms to hand out a task, {CONNECT:g} s to connect; machines that are there; memory is that of one process of this machine"
)
# Shards for each core, and their least bytes, as refinery cuts an input for a cluster.
_EACH, _LEAST = 6, 16e6


@dataclass(frozen=True)
class ClusterSeconds:
    """Seconds of each part of a run on a cluster. tasks: number of the shards of a stage."""

    start: float
    shards: float
    moving: float
    barriers: float
    tables: float
    tasks: int = 0

    @property
    def total(self) -> float:
        """All parts."""
        return self.start + self.shards + self.moving + self.barriers + self.tables


def shards_on(cores: int, size: float, most: int) -> int:
    """Number of shards of an input. size: its bytes. most: bytes of a shard."""
    return max(1, round(size / min(float(most), max(_LEAST, size / (cores * _EACH)))))


def cluster_seconds(costs: RunCosts, load: Load, cores: int, moved: Sequence[float]) -> ClusterSeconds:
    """Seconds of a run. load: with the shards of the cluster. moved: bytes that cross links: read and written by each stage."""
    shards = 0.0
    for stage, size in zip(costs.stages, load.sizes, strict=True):
        each = stage.seconds(size, load.shards) / load.shards * CROWD
        rounds = -(-load.shards // cores)  # the last one is as long as the others
        shards += max(rounds * each, load.shards * TASK) + stage.begin * CROWD
    barriers = sum(_barrier(stage, rows, cores) for stage, rows in zip(costs.stages, load.matched, strict=True))
    audit = costs.audit.fixed + (costs.audit.unit * load.audited + load.reread) * CROWD / cores
    moving = sum(moved) / (LINK * -(-cores // NODE))
    begin = costs.start * (1 + CROWD) + CONNECT  # of the command, then of the processes of the cluster side by side
    return ClusterSeconds(begin, shards, moving, barriers, _tables(costs, load, cores) + audit, load.shards)


def _barrier(stage: StageCost, rows: float, cores: int) -> float:
    """Seconds of a stage's deduplicator, if it has one."""
    if stage.barrier is None:
        return 0.0
    return _PHASES * _LATENCY + (stage.barrier.fixed + stage.barrier.unit * rows / cores) * CROWD


def _tables(costs: RunCosts, load: Load, cores: int) -> float:
    """Seconds of the tables and the export. The driver makes the tables of few rows, tasks those of many; a task writes the export of a shard."""
    cells = load.rows * costs.cells * PER_CELL
    export = max(0.0, costs.tables.unit * load.written - cells)  # what the sample took besides
    tasks = min(cores, max(1.0, load.rows / LEAST)) if load.rows > ON_CLUSTER else 1
    return costs.tables.fixed + (cells / tasks + export / min(cores, load.shards)) * CROWD
