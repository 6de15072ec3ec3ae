"""Transfer and requests of a run on a cluster, by the plan of its tasks: what storage adds to the times of `bench.cluster_model`.

Arithmetic, as there. MinHash over uncompressed JSON Lines: both stages read the input, the second one writes the samples that stay, and a task for each
part of the export reads and writes them once more. All samples are taken to stay, which is the most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bench.cluster_model import (
    Cluster,
    Costs,
    Times,
    divide_tasks,
    joins_of,
    partitions_of,
    piece_tasks,
    read_by,
    shard_count,
    simulate,
    star_tasks,
)

# Bytes of a block that a task requests of an object (refinery.storage.object_stream).
BLOCK = 8 << 20
# Requests to open an object or a Parquet file before its data come.
OPEN = 3
# Files that a shard leaves in a stage, done mark included; files that a task for tables leaves.
LEFT, TABLES = 4, 8


@dataclass(frozen=True)
class Storage:
    """Requests a second that storage answers, below one prefix: those of Amazon S3. None: no limit."""

    gets: float | None = 5500
    puts: float | None = 3500


@dataclass(frozen=True)
class Traffic:
    """Demands of a phase on storage. read, written: bytes. gets, puts: requests."""

    read: float = 0.0
    written: float = 0.0
    gets: float = 0.0
    puts: float = 0.0

    def seconds(self, cluster: Cluster, storage: Storage) -> float:
        """Seconds that links and storage take at least: reading and writing go in both directions of a link at once."""
        nodes = -(-cluster.workers // cluster.per_node)
        links = max(self.read, self.written) / (cluster.link * nodes) if nodes > 1 else 0.0
        limits = ((self.gets, storage.gets), (self.puts, storage.puts))
        return max(links, *(count / rate for count, rate in limits if rate is not None), 0.0)


def traffic(costs: Costs, size: float, cluster: Cluster) -> Mapping[str, Traffic]:
    """Demands of each phase of a run on storage, by the phases of `Times`."""
    rows, workers, shards = size * costs.rows_per_byte, cluster.workers, shard_count(costs, size, cluster)
    blocks = math.ceil(size / shards / BLOCK) + OPEN
    pieces = piece_tasks(rows, workers, shards)
    return {
        "shards": Traffic(2 * size, size, shards * (2 * blocks + 2 * OPEN), 2 * shards * LEFT),
        "barrier": Traffic(rows * costs.moved, rows * costs.moved, *_of_barrier(costs, rows, workers, shards)),
        "tables": Traffic(gets=2 * OPEN * shards, puts=TABLES * pieces),
        "export": Traffic(size, size, shards * blocks, shards),
    }


def _of_barrier(costs: Costs, rows: float, workers: int, shards: int) -> tuple[float, float]:
    """Requests of the tasks of a deduplicator; each task reads its parts of what the phase before has left, one request a part."""
    joins, partitions = joins_of(costs, workers), partitions_of(rows, workers)
    divides, stars = divide_tasks(rows, workers, shards), star_tasks(costs, rows, workers)
    parts = {
        "equal": read_by(divides, joins),
        "gather": read_by(joins, partitions),
        "star": read_by(partitions, stars) + (2 * costs.rounds - 1) * read_by(stars, stars),
        "reply": read_by(stars, stars) + stars * partitions,
        "spread": read_by(stars, partitions),
        "settle": read_by(partitions, partitions),
        "remove": read_by(partitions, partitions),
        "in_order": 2 * read_by(partitions, partitions),
    }
    files = divides + joins + 3 * partitions + 2 * costs.rounds * stars + stars + partitions + 8 * partitions
    return sum(parts.values()) + 2 * OPEN * shards, files


@dataclass(frozen=True)
class Total:
    """Seconds of a run: of its cores, and what links and storage add by phase. requests: GETs and PUTs of the whole run."""

    cores: float
    added: Mapping[str, float]
    gets: float
    puts: float

    @property
    def total(self) -> float:
        return self.cores + sum(self.added.values())


def with_storage(costs: Costs, size: float, cluster: Cluster, storage: Storage) -> Total:
    """A run with the time of links and storage, which is added to that of the cores: nothing is taken to overlap."""
    asked = traffic(costs, size, cluster)
    added = {name: phase.seconds(cluster, storage) for name, phase in asked.items()}
    gets, puts = (sum(getattr(phase, name) for phase in asked.values()) for name in ("gets", "puts"))
    return Total(of_cores(simulate(costs, size, cluster)), added, gets, puts)


def of_cores(times: Times) -> float:
    """Seconds of a run without links and storage."""
    return times.total - times.moving
