"""Processor time of clusters by partitions, and of the driver: match keys are synthetic, tasks run one after another.

    python -m bench.clusters 1e6

Samples are in groups of copies (`--copies` of them have one); copies share most of their bands. Each task's time is its own; on a
cluster, tasks of one kind run side by side. `one driver` finds the same clusters with union-find in one process.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.markdown import table
from refinery.dedup.barrier import DedupInput, DedupResult, find_duplicates
from refinery.dedup.match_keys import SqlLimits
from refinery.execution.ray import cluster_tasks, joins
from refinery.execution.ray.cluster_tasks import ClusterTasks, Partitions
from refinery.io.model import Part
from refinery.kernels.core.digest import Digest
from refinery.operators import Library
from refinery.storage.local import LocalStore
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import to_json

BANDS, SHARES, SHARD, SIGNATURE = 25, 16, 1 << 18, 16  # signatures are short: only their number of bytes would differ


def keys_of(folder: Path, samples: int, copies: float, shard: int) -> list[str]:
    """Files of match keys, a shard each."""
    rng, names = np.random.default_rng(1), []
    text = np.arange(samples)
    is_copy = rng.random(samples) < copies
    text[is_copy] = (text[is_copy] * rng.random(is_copy.sum())).astype(np.int64)  # of any earlier sample
    found = {"_row": np.arange(samples) % shard + ((np.arange(samples) // shard) << SHARD_BITS)}
    for band in range(BANDS):
        key = text * 1_000_003 + band
        own = rng.random(samples) < 0.3  # a band that the copy does not share
        found[f"band_{band}"] = np.where(own, rng.integers(1 << 62, size=samples), key)
    found["signature"] = pa.array([b"\0" * SIGNATURE]).take(pa.array(np.zeros(samples, np.int64)))
    whole = pa.table(found)
    for number, start in enumerate(range(0, samples, shard)):
        name = f"stage_1/{number:05d}.marks.parquet"
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(whole.slice(start, shard), path, compression="none")
        names.append(name)
    return names


class OneByOne:
    """Runs tasks in this process, and adds up their time by kind."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    @property
    def total(self) -> float:
        return sum(map(sum, self.seconds.values()))

    def __call__(
        self,
        cluster: Any,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        _: Any = None,
        label: str = "",
        shared: Sequence[Any] = (),
    ) -> list[str]:
        found = []
        for call in calls:
            began = time.process_time()
            found.append(work(*shared, *call))
            self.seconds[work.__name__].append(time.process_time() - began)
        return found


@dataclass(frozen=True)
class Measured:
    """Processor seconds a sample: of each kind of task, of the driver, of one process alone. longest: seconds of a task.

    scan: of each task that joins a share of a band. join: of a whole band, over all of its tasks, besides.
    """

    samples: int
    removed: int
    tasks: dict[str, float]
    longest: dict[str, float]
    number: dict[str, int]
    driver: float
    alone: float
    scan: float
    join: float


def measure(samples: int, copies: float = 0.3, partitions: int = 4) -> Measured:
    """Find clusters by partitions, and in one process; both remove the same samples."""
    with tempfile.TemporaryDirectory(prefix="clusters-") as made:
        folder, every = Path(made), OneByOne()
        store, names = LocalStore(folder), keys_of(folder, samples, copies, SHARD)
        given = _input(folder, names, samples)
        place = (store.url, "2GB", given.room.folder)
        cluster_tasks.every = every  # type: ignore[assignment]
        parts, findings = Partitions.of(given, partitions), DedupResult(1)
        links = [f"stage_1/joined/found_{band:05d}.parquet" for band in range(BANDS)]
        calls = [(place, names, [(f"band_{band}", band)], 0, 1, parts.bounds, links[band]) for band in range(BANDS)]
        linked = [json.loads(answer) for answer in every(None, joins.equal, calls)]
        began, before = time.process_time(), every.total
        ClusterTasks(None, place, store, "stage_1", parts).settle(given, links, linked, findings)  # type: ignore[arg-type]
        for shard in range(len(given.alive)):  # parameters of each shard of the next stage
            removed = findings.of_shard(shard)
            to_json(Part(None, rows="", removed=removed))
            Digest().update(removed)
        driver = time.process_time() - began - (every.total - before)
        shared = OneByOne()
        shared(
            None,
            joins.equal,
            [(place, names, [("band_0", 0)], 0, SHARES, parts.bounds, "stage_1/joined/share.parquet")],
        )
        began = time.process_time()
        whole = find_duplicates(replace(given, files=[str(store.fetch(name)) for name in names]))
        alone = time.process_time() - began
    if not np.array_equal(whole.removed, findings.removed):
        raise RuntimeError("partitions have removed other samples")
    seconds, of_share = every.seconds, shared.total / samples
    of_band = sum(seconds["equal"]) / samples / BANDS
    join = (of_band - of_share) * SHARES / (SHARES - 1)
    return Measured(
        samples,
        len(whole.removed),
        {name: sum(each) / samples for name, each in seconds.items()},
        {name: max(each) for name, each in seconds.items()},
        {name: len(each) for name, each in seconds.items()},
        driver / samples,
        alone / samples,
        of_band - join,
        join,
    )


def _input(folder: Path, names: list[str], samples: int) -> DedupInput:
    """The input of a MinHash deduplicator without a limit of clusters."""
    operator = Library().operators["document_minhash_deduplicator"]
    step = SimpleNamespace(index=1, name=operator.name, where="bench", params={"max_cluster_size": None})
    alive = [min(SHARD, samples - start) for start in range(0, samples, SHARD)]
    limits, nothing = SqlLimits(1, "2GB", str(folder / "spill")), [0] * len(alive)
    return DedupInput(step, operator, names, (), [""] * len(alive), alive, nothing, folder, limits, cast(Any, None))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clusters by partitions.")
    parser.add_argument("samples", type=float)
    parser.add_argument("--copies", type=float, default=0.3)
    parser.add_argument("--partitions", type=int, default=4)
    given = parser.parse_args()
    found = measure(int(given.samples), given.copies, given.partitions)
    rows = [
        [name, f"{found.number[name]}", f"{each * 1e6:.2f}", f"{found.longest[name]:.2f}"]
        for name, each in found.tasks.items()
    ]
    rows += [
        ["driver", "", f"{found.driver * 1e6:.3f}", ""],
        ["one process, joins included", "", f"{found.alone * 1e6:.2f}", ""],
    ]
    print(
        f"{found.samples:,} samples, {found.removed:,} removed; of a band: scan {found.scan * 1e6:.3f}, join {found.join * 1e6:.2f} µs"
    )
    print(*table(("task", "number", "µs a sample", "the longest, s"), rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
