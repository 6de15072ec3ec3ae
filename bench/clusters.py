"""Processor time of clusters by partitions, and of the driver: match keys are synthetic, tasks run one after another.

    python -m bench.clusters 1e6
    python -m bench.clusters --keys outputs/minhash

Samples are in groups of copies (`--copies` of them have one); copies share most of their bands. With `--keys`, match keys are those of
a run with `use_cache: true` and one stage with a MinHash deduplicator. Each task's time is its own; on a cluster, tasks of one kind
run side by side. `one process` finds the same clusters with union-find.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.markdown import table
from refinery.dedup import clustering
from refinery.dedup.barrier import Barrier
from refinery.dedup.clustering import ClusterTasks
from refinery.dedup.exchange import Exchange, read_shares, write_groups
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.tasks import joins
from refinery.operators import Library
from refinery.storage.local import LocalStore
from refinery.workers.executor import ThreadExecutor
from refinery.workers.match_keys import SHARD_BITS, removed_from

# Samples of a shard of 128 MB.
BANDS, SHARD, SIGNATURE = 25, 1 << 15, 512


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
        pq.write_table(whole.slice(start, shard), path, compression="none", use_dictionary=False)
        names.append(name)
    return names


class OneByOne(ThreadExecutor):
    """Runs tasks in this thread, and adds up their time by kind."""

    def __init__(self, store: str, spill: str) -> None:
        super().__init__(store, 1, 2_000_000_000, spill)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.apart = 0

    @property
    def total(self) -> float:
        return sum(map(sum, self.seconds.values()))

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        """Call a function, one call after another."""
        found = []
        for call in calls:
            began = time.process_time()
            found.append(work(self.place, *shared, *call))
            self.seconds[work.__name__].append(time.process_time() - began)
            if work.__name__ == "gather":
                self.apart += json.loads(found[-1])[0]
        return found


@dataclass(frozen=True)
class Measured:
    """Processor seconds a sample: of each kind of task, of the driver, of one process alone. longest: seconds of a task.

    rounds: that resolve equal roots. apart: equalities of them for a sample. part: seconds to write or read one part of a file, whatever
    its rows. moved: bytes of a sample that tasks read.
    """

    samples: int
    removed: int
    tasks: dict[str, float]
    longest: dict[str, float]
    number: dict[str, int]
    rounds: int
    apart: float
    driver: float
    alone: float
    part: float
    moved: float


def measure(samples: int, copies: float = 0.3, partitions: int = 4) -> Measured:
    """Find clusters by partitions, and in one process; both remove the same samples."""
    with tempfile.TemporaryDirectory(prefix="clusters-") as made:
        folder = Path(made)
        return of_keys(folder, LocalStore(folder), keys_of(folder, samples, copies, SHARD), partitions)


def of_run(run: Path, partitions: int) -> Measured:
    """As `measure`, with the match keys of a run, which stay as they are."""
    with tempfile.TemporaryDirectory(prefix="clusters-") as made:
        folder, names = Path(made), []
        (folder / "stage_1").mkdir()
        for path in sorted((run / ".refinery" / "parts" / "stage_1").glob("*.marks.parquet")):
            names.append(f"stage_1/{path.name}")
            shutil.copyfile(path, folder / names[-1])
        return of_keys(folder, LocalStore(folder), names, partitions)


def of_keys(folder: Path, store: LocalStore, names: list[str], partitions: int) -> Measured:
    """As `measure`, with match keys of files, one for each shard."""
    schema = pq.read_schema(folder / names[0])
    bands = [name for name in schema.names if name.startswith("band_")]
    given = _input(folder, names, [pq.read_metadata(folder / name).num_rows for name in names])
    samples = sum(given.alive)
    every = OneByOne(store.url, given.room.folder)
    clustering._FEW = clustering._EACH = 1  # many equalities, as a large run has
    parts, findings = Partitions.of(given, partitions), DedupResult(1)
    began = time.process_time()
    every.map(joins.look, [(names,)], (None,))
    divided = [f"stage_1/joined/divided_{number:05d}.parts" for number in range(partitions)]
    groups = [(names[number::partitions], divided[number]) for number in range(partitions)]
    between = Exchange(every, "stage_1/joined")
    places = [json.loads(answer) for answer in every.map(joins.divide, groups, (["_row"], bands, 1))]
    shares = between.shares(divided, places, len(bands))
    links = [f"stage_1/joined/found_{band:05d}.parquet" for band in range(len(bands))]
    calls = [([(band, shares[band])], name) for band, name in enumerate(links)]
    linked = [json.loads(answer) for answer in every.map(joins.equal, calls, (parts.bounds,))]
    tasks = ClusterTasks(every, between, "stage_1", parts, lambda names: None)
    tasks.settle(given, LinkFiles(links, linked), findings)()
    driver = time.process_time() - began - every.total
    made = sum(path.stat().st_size for path in (folder / "stage_1").rglob("*") if path.is_file())
    began = time.process_time()
    alone_in = ThreadExecutor(store.url, 1, 2_000_000_000, given.room.folder)
    whole = Barrier(alone_in, store, store, "alone").find(given)
    if whole.writing is not None:
        whole.writing.result()
    alone = time.process_time() - began
    if findings.count != whole.count or any(
        not np.array_equal(removed_from(store, found), removed_from(store, whole.removed_in[shard]))
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
        every.apart / samples,
        driver / samples,
        alone / samples,
        of_part(folder, store),
        made / samples,
    )


def of_part(folder: Path, store: LocalStore, parts: int = 1000) -> float:
    """Processor seconds to write or read one part of a file, the mean of both."""
    table = pa.table(
        {"_row": np.arange(parts), "root": np.arange(parts), "via": np.arange(parts), "how": np.arange(parts)}
    )
    began = time.process_time()
    places = write_groups(table, "_row", range(parts + 1), folder / "many.parts")
    for _, start, size in places:
        read_shares(store, [("many.parts", start, size)])
    return (time.process_time() - began) / parts / 2


def _input(folder: Path, names: list[str], alive: list[int]) -> DedupInput:
    """The input of a MinHash deduplicator without a limit of clusters."""
    operator = Library().operators["document_minhash_deduplicator"]
    step = SimpleNamespace(
        index=1, name=operator.name, where="bench", params={"max_cluster_size": None, "jaccard_threshold": 0.7}
    )
    limits, nothing = SqlLimits(1, "2GB", str(folder / "spill")), [0] * len(alive)
    return DedupInput(step, operator, names, (), [""] * len(alive), alive, nothing, folder, limits, cast(Any, None))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clusters by partitions.")
    parser.add_argument("samples", type=float, nargs="?", default=1e6)
    parser.add_argument("--keys", type=Path, help="the folder of a run")
    parser.add_argument("--copies", type=float, default=0.3)
    parser.add_argument("--partitions", type=int, default=4)
    given = parser.parse_args()
    if given.keys:
        found = of_run(given.keys, given.partitions)
    else:
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
        f"{found.samples:,} samples, {found.removed:,} removed, {found.apart:.4f} equalities of roots a sample in {found.rounds} rounds, "
        f"{found.moved:.0f} bytes a sample; "
        f"a part is written or read in {found.part * 1e6:.0f} µs"
    )
    print(*table(("task", "number", "µs a sample", "the longest, s"), rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
