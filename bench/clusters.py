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
from refinery.dedup.row_groups import read_parts, write_groups
from refinery.execution.ray import cluster_tasks, joins
from refinery.execution.ray.cluster_tasks import ClusterTasks, Partitions
from refinery.operators import Library
from refinery.storage.local import LocalStore
from refinery.workers.match_keys import SHARD_BITS, removed_from

# Samples of a shard of 128 MB.
BANDS, SHARD, SIGNATURE = 25, 1 << 15, 16  # signatures are short: only their number of bytes would differ


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

    rounds: that resolve equal roots. part: seconds to write or read one part of a file, whatever its rows.
    """

    samples: int
    removed: int
    tasks: dict[str, float]
    longest: dict[str, float]
    number: dict[str, int]
    rounds: int
    driver: float
    alone: float
    part: float


def measure(samples: int, copies: float = 0.3, partitions: int = 4) -> Measured:
    """Find clusters by partitions, and in one process; both remove the same samples."""
    with tempfile.TemporaryDirectory(prefix="clusters-") as made:
        folder, every = Path(made), OneByOne()
        store, names = LocalStore(folder), keys_of(folder, samples, copies, SHARD)
        return of_keys(folder, store, names, samples, partitions, every)


def of_keys(
    folder: Path, store: LocalStore, names: list[str], samples: int, partitions: int, every: OneByOne
) -> Measured:
    """As `measure`, with match keys of files."""
    given = _input(folder, names, samples)
    place = (store.url, "2GB", given.room.folder)
    cluster_tasks.every = every  # type: ignore[assignment]
    cluster_tasks._FEW = 1  # many equalities, as a large run has
    parts, findings = Partitions.of(given, partitions), DedupResult(1)
    began = time.process_time()
    every(None, joins.look, [(names,)], shared=(place,))
    divided = [f"stage_1/joined/divided_{number:05d}.parts" for number in range(partitions)]
    bands = [f"band_{band}" for band in range(BANDS)]
    groups = [(names[number::partitions], divided[number]) for number in range(partitions)]
    every(None, joins.divide, groups, shared=(place, ["_row"], bands, 1))
    links = [f"stage_1/joined/found_{band:05d}.parquet" for band in range(BANDS)]
    calls = [([(band, band)], links[band]) for band in range(BANDS)]
    linked = every(None, joins.equal, calls, shared=(place, json.dumps(divided), parts.bounds))
    ClusterTasks(None, place, store, "stage_1", parts).settle(given, links, [*map(int, linked)], findings)  # type: ignore[arg-type]
    driver = time.process_time() - began - every.total
    began = time.process_time()
    whole = find_duplicates(replace(given, files=[str(store.fetch(name)) for name in names]))
    alone = time.process_time() - began
    if findings.count != whole.count or any(
        not np.array_equal(removed_from(store, found), whole.of_shard(shard))
        for shard, found in findings.removed_in.items()
    ):
        raise RuntimeError("partitions have removed other samples")
    seconds = every.seconds
    return Measured(
        samples,
        whole.count,
        {name: sum(each) / samples for name, each in seconds.items()},
        {name: max(each) for name, each in seconds.items()},
        {name: len(each) for name, each in seconds.items()},
        len(seconds.get("star", ())) // partitions // 2,
        driver / samples,
        alone / samples,
        of_part(folder, store),
    )


def of_part(folder: Path, store: LocalStore, parts: int = 1000) -> float:
    """Processor seconds to write or read one part of a file, the mean of both."""
    table = pa.table(
        {"_row": np.arange(parts), "root": np.arange(parts), "via": np.arange(parts), "how": np.arange(parts)}
    )
    began = time.process_time()
    write_groups(table, "_row", range(parts + 1), folder / "many.parts")
    read_parts(store, ["many.parts"] * parts, parts // 2)
    return (time.process_time() - began) / parts / 2


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
        f"{found.samples:,} samples, {found.removed:,} removed, {found.rounds} rounds; "
        f"a part is written or read in {found.part * 1e6:.0f} µs"
    )
    print(*table(("task", "number", "µs a sample", "the longest, s"), rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
