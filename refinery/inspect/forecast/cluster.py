"""Seconds of a run on a Ray cluster: arithmetic on costs measured on this machine, as in docs/scaling-study.md.

Assumed are cores as fast as those of this machine, all of them busy; shared storage beside the nodes, read and written through a link of
each node; and a cluster that is there, so no machine has to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refinery.inspect.forecast.costs import PER_CELL, PER_MATCHED_ROW, Load, RunCosts

# How much longer a core takes where all cores of its machine work. Cores of a node, and bytes a second of its link.
CROWD, NODE, LINK = 1.15, 160, 3.1e9
# Seconds to hand out a task and to receive its answer, and to connect to the cluster.
TASK, CONNECT = 0.0015, 5.0
# Tasks of a deduplicator between its shards: phases, each of which waits for the last task of the one before.
_PHASES, _LATENCY = 10, 0.05
# Shards for each core, and their least bytes, as refinery cuts an input for a cluster.
_EACH, _LEAST = 6, 16e6


@dataclass(frozen=True)
class ClusterSeconds:
    """Seconds of each part of a run on a cluster."""

    start: float
    shards: float
    moving: float
    barriers: float
    tables: float

    @property
    def total(self) -> float:
        """All parts."""
        return self.start + self.shards + self.moving + self.barriers + self.tables


def shards_on(cores: int, size: float, most: int) -> int:
    """Number of shards of an input. size: its bytes. most: bytes of a shard."""
    return max(1, round(size / min(float(most), max(_LEAST, size / (cores * _EACH)))))


def cluster_seconds(costs: RunCosts, load: Load, cores: int, moved: Sequence[float]) -> ClusterSeconds:
    """Seconds of a run. load: with the shards of the cluster. moved: bytes that cross links: read and written by each stage."""
    nodes = -(-cores // NODE)
    shards = 0.0
    for stage, size in zip(costs.stages, load.sizes, strict=True):
        each = stage.seconds(size, load.shards) / load.shards * CROWD
        rounds = -(-load.shards // cores)  # the last one is as long as the others
        shards += max(rounds * each, load.shards * TASK) + stage.begin * CROWD
    matched = [rows for stage, rows in zip(costs.stages, load.matched, strict=True) if stage.matched]
    barriers = sum(_PHASES * _LATENCY + rows * PER_MATCHED_ROW * CROWD / cores for rows in matched)
    tables = costs.tables.fixed + load.rows * costs.cells * PER_CELL * CROWD / cores
    moving = sum(moved) / (LINK * nodes) if nodes > 1 else 0.0
    begin = costs.start * (1 + CROWD) + CONNECT  # of the command, then of the processes of the cluster side by side
    return ClusterSeconds(begin, shards, moving, barriers, tables)
