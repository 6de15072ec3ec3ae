"""Processor time and memory of a cluster's driver for a deduplicator, beside those of a driver that works alone.

    python -m bench.driver 1e6 --kind verify|index|semantic

Match keys and shingles are synthetic, so the time of reading texts is in neither. Another process runs the tasks one after another; their
time is not the driver's. Both ways must remove the same samples.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.clusters import SHARD, keys_of
from bench.markdown import table
from refinery.common.arrays import read_array
from refinery.compiler.program import Program
from refinery.dedup.barrier import Barrier
from refinery.dedup.index import extending, open_index
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.matchers.hyperplanes import bands
from refinery.dedup.model import DedupInput
from refinery.dedup.tasks import candidates
from refinery.dedup.verify import Comparison
from refinery.io.model import Shard, Source
from refinery.kernels.core.arrow import ints
from refinery.operators import Library
from refinery.storage.local import LocalStore
from refinery.workers.executor import TaskPlace, ThreadExecutor
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.tasks import ShardResult, Task

SHINGLES, NUMBERS, COPIES, CORES = 100, 64, 0.3, 16
STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "verify": ("document_minhash_deduplicator", {"verify": True, "jaccard_threshold": 0.7}),
    "index": ("document_minhash_deduplicator", {"jaccard_threshold": 0.7}),
    "semantic": ("semantic_deduplicator", {"cosine_threshold": 0.95, "num_bands": 32, "band_bits": 16}),
}


def texts(samples: int) -> np.ndarray:
    """The text of each sample of `keys_of`, as a number."""
    rng = np.random.default_rng(1)
    found = np.arange(samples)
    is_copy = rng.random(samples) < COPIES
    found[is_copy] = (found[is_copy] * rng.random(is_copy.sum())).astype(np.int64)
    return found


def write_shingles(store: str, rows: np.ndarray, samples: int, name: str) -> str:
    """Write the shingles of samples; samples of one text have the same ones."""
    text = texts(samples)[(rows >> SHARD_BITS) * SHARD + (rows & ((1 << SHARD_BITS) - 1))]
    hashes = text[:, None] * (1 << 20) + np.arange(SHINGLES) * 7919
    offsets = ints(np.arange(len(rows) + 1, dtype=np.int32) * SHINGLES)
    lists = pa.ListArray.from_arrays(offsets, ints(hashes.astype(np.uint64).ravel()))
    path = Path(store) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"_row": ints(rows), "shingles": lists}), path)
    return name


class Shingles(Comparison):
    """Compares samples by synthetic shingles."""

    def __init__(self, store: LocalStore, samples: int, room: SqlLimits, program: Program, count: int) -> None:
        shards = [Shard(number, (Source("none", "jsonl", None, "", 0),)) for number in range(count)]
        super().__init__(lambda: program, lambda: shards, store, "stage_1/compared", room)
        self.samples = samples

    def _compute(self, rows: np.ndarray) -> None:
        wanted = np.setdiff1d(rows, self._known, assume_unique=True)
        if len(wanted):
            name = f"{self._folder}/{len(self._files):05d}.parquet"
            self._files.append(str(self._store.fetch(write_shingles(self._store.url, wanted, self.samples, name))))
            self._known = np.union1d(self._known, wanted)


def of_shard(place: TaskPlace, number: int, folder: str, samples: int) -> str:
    """Shingles of a shard, as its task leaves them."""
    store = place.store
    inside = read_array(Path(store) / candidates.rows_of(folder, number))
    return write_shingles(store, inside + (number << SHARD_BITS), samples, f"{folder}/{number:05d}.marks.parquet")


class Elsewhere:
    """Runs tasks in another process, one after another, and counts them. seconds: of that process."""

    worth, most = 100_000, sys.maxsize

    def __init__(self, store: LocalStore, spill: str, samples: int) -> None:
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        self.count, self._samples = 0, samples
        self.place = TaskPlace(store.url, "2GB", spill)

    def capacity(self) -> int:
        return CORES

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        self.count += len(calls)
        return [self.pool.submit(work, self.place, *shared, *call).result() for call in calls]

    def seconds(self) -> float:
        """Processor time of the tasks."""
        return self.pool.submit(time.process_time).result()

    def runner(self, step: Any, program: Program) -> Any:
        """Runs shards of the program of shingles."""
        return shingles_by(self, self._samples)


class Alone(ThreadExecutor):
    """Runs tasks in this process. samples: of all shards."""

    def __init__(self, store: LocalStore, spill: str, samples: int) -> None:
        super().__init__(store.url, 1, 2_000_000_000, spill)
        self._samples = samples

    def runner(self, step: Any, program: Program) -> Any:
        """Runs shards of the program of shingles."""
        return shingles_by(self, self._samples)


def shingles_by(executor: Any, samples: int) -> Any:
    """Runner of shards of the program of shingles."""

    def run(shards: Sequence[Shard], task: Callable[[Shard], Task]) -> list[ShardResult]:
        found = executor.map(of_shard, [(shard.index, task(shard).folder, samples) for shard in shards])
        return [ShardResult(shard.index, match_keys=name) for shard, name in zip(shards, found, strict=True)]

    return SimpleNamespace(run=run, close=lambda: None)


def make(kind: str, folder: Path, samples: int) -> None:
    """Write the match keys, and an index."""
    if kind == "semantic":
        _embeddings(folder, samples)
        return
    names = keys_of(folder, samples, COPIES, SHARD)
    if kind == "index":
        given = _input(kind, folder, samples)
        whole = pa.concat_tables(pq.read_table(folder / name) for name in names)
        some = whole.slice(0, samples // 2)
        row = ints(np.arange(len(some), dtype=np.int64))
        pq.write_table(some.set_column(0, "_row", row), folder / "added.parquet", row_group_size=1 << 17)
        index = open_index(given.step.params["index"], given.step, given.operator)
        with extending([(index, folder / "added.parquet")]) as publish:
            publish("before", "bench")


def _embeddings(folder: Path, samples: int) -> None:
    rng, texts_of = np.random.default_rng(2), texts(samples)
    for number, start in enumerate(range(0, samples, SHARD)):
        text = texts_of[start : start + SHARD]
        vectors = np.stack([np.random.default_rng(int(one)).standard_normal(NUMBERS) for one in text])
        vectors = (vectors + 0.05 * rng.standard_normal(vectors.shape)).astype(np.float32)
        found = bands(vectors / np.abs(vectors).max(), 32, 16)
        offsets = ints(np.arange(len(text) + 1, dtype=np.int32) * NUMBERS)
        columns = {"_row": ints(np.arange(len(text)) + (number << SHARD_BITS))}
        columns |= {f"band_{band}": ints(found[:, band]) for band in range(32)}
        columns["embedding"] = pa.ListArray.from_arrays(offsets, ints(vectors.ravel()))
        path = folder / f"stage_1/{number:05d}.marks.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False, write_statistics=False)


def _input(kind: str, folder: Path, samples: int) -> DedupInput:
    name, params = STEPS[kind]
    operator = Library().operators[name]
    given = {key: param.default for key, param in operator.params.items()} | params
    given |= {"max_cluster_size": None, "index": str(folder / "index") if kind == "index" else None}
    step = SimpleNamespace(index=1, name=operator.name, where="bench", params=given)
    alive = [min(SHARD, samples - start) for start in range(0, samples, SHARD)]
    names = [f"stage_1/{number:05d}.marks.parquet" for number in range(len(alive))]
    room, starts = SqlLimits(1, "2GB", str(folder / "spill")), np.cumsum([0, *alive])[:-1].tolist()
    program: Any = SimpleNamespace(functions=operator.functions)
    compare = Shingles(LocalStore(folder), samples, room, program, len(alive))
    return DedupInput(step, operator, names, (), [""] * len(alive), alive, starts, folder, room, compare)


def find(kind: str, folder: Path, samples: int, alone: bool) -> dict[str, Any]:
    """Find duplicates; the driver's seconds, its memory before and at its peak in MB, the tasks' seconds."""
    given, store = _input(kind, folder, samples), LocalStore(folder)
    tasks = Elsewhere(store, given.room.folder, samples)
    threads = Alone(store, given.room.folder, samples)
    began, before = time.process_time(), _memory()
    findings = Barrier(threads if alone else tasks, store, store, "stage_1").find(given)
    if findings.writing is not None:
        findings.writing.result()
    driver = time.process_time() - began
    found = {} if alone else {"tasks": tasks.count, "tasks, s": round(tasks.seconds(), 2)}
    tasks.pool.shutdown()
    digests = "".join(place.digest for _, place in sorted(findings.removed_in.items()))
    digest = hashlib.sha256(digests.encode()).hexdigest()[:8]
    same = f"{findings.count} {digest}"
    return {"driver, s": round(driver, 2), "before": before, "driver, MB": _memory(), "removed": same, **found}


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the driver of a cluster.")
    parser.add_argument("samples", type=float)
    parser.add_argument("--kind", choices=sorted(STEPS), default="verify")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of a process that this one starts
    parser.add_argument("--part", choices=["make", "alone", "tasks"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    samples = int(given.samples)
    if given.part == "make":
        make(given.kind, given.folder, samples)
        return 0
    if given.part:
        print(json.dumps(find(given.kind, given.folder, samples, given.part == "alone")))
        return 0
    rows = []
    with tempfile.TemporaryDirectory(prefix="driver-") as folder:
        command = [
            sys.executable,
            "-m",
            "bench.driver",
            str(samples),
            "--kind",
            given.kind,
            "--folder",
            folder,
            "--part",
        ]
        subprocess.run([*command, "make"], check=True)
        answers = [json.loads(subprocess.check_output([*command, part])) for part in ("alone", "tasks")]
    if answers[0]["removed"] != answers[1]["removed"]:
        raise RuntimeError(f"other samples: {answers}")
    for part, one in zip(("the driver alone", "with tasks"), answers, strict=True):
        memory = f"{one['driver, MB']} ({one['before']} before)"
        rows.append([part, f"{one['driver, s']}", memory, f"{one.get('tasks, s', '')}", f"{one.get('tasks', '')}"])
    print(f"{given.kind}: {samples:,} samples, {answers[0]['removed'].split()[0]} removed")
    print(*table(("", "driver, s", "driver, MB", "tasks, s", "tasks"), rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
