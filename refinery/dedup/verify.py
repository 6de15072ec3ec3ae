"""True Jaccard similarity of candidate pairs, whose shingles are computed again for candidates only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import duckdb
from refinery.compiler.program import Program
from refinery.compiler.templates import lit
from refinery.dedup.match_keys import SqlLimits
from refinery.io.model import Part, Shard
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.functions import register
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.threads import WorkerThreads
from refinery.workers.worker import Task, Worker

_PAIRS = """
SELECT pairs.n, jaccard(one.shingles, other.shingles) AS jaccard
FROM pairs
JOIN computed AS one ON one._row = pairs.a
JOIN computed AS other ON other._row = pairs.b
"""


class Comparison:
    """Compares samples of the shards after a stage, with the program that computes their shingles.

    program: compiled when it is needed. shards: as the stage has left them.
    """

    def __init__(
        self,
        program: Callable[[], Program],
        shards: Callable[[], Sequence[Shard]],
        store: Store,
        folder: str,
        room: SqlLimits,
    ):
        self.program, self.shards = program, shards
        self._store, self._folder, self._room = store, folder, room
        self._known = np.zeros(0, np.int64)
        self._files: list[str] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """The comparison as a worker process makes it again, for the matcher of a user."""
        return _again, (self.program(), self.shards(), self._store.url, self._folder, self._room)

    def of(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """True Jaccard similarity of each pair of samples; NaN if one is not of this run."""
        here = (a >= 0) & (b >= 0)
        result = np.full(len(a), np.nan)
        self._compute(np.unique(np.concatenate((a[here], b[here]))))
        if not self._files:
            return result
        with self._shingles() as con:
            functions = register(con, [f for f in self.program().functions if f.name == "jaccard"])
            con.register("pairs", pa.table({"n": np.flatnonzero(here), "a": a[here], "b": b[here]}))
            with functions.kept():
                found = con.sql(_PAIRS).to_arrow_table()
        result[found["n"].to_numpy()] = found["jaccard"].to_numpy()
        return result

    @contextmanager
    def _shingles(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the view `computed`: the shingles that are computed so far."""
        folders = {os.path.dirname(file) for file in self._files}
        with connect(folders, self._room.threads, self._room.memory, self._room.folder) as con:
            con.execute(f"CREATE VIEW computed AS SELECT * FROM read_parquet({lit(self._files)})").fetchall()
            yield con

    def _compute(self, rows: np.ndarray) -> None:
        """Compute and write the shingles of samples that have none yet."""
        wanted = np.setdiff1d(rows, self._known, assume_unique=True)
        if not len(wanted):
            return
        folder = f"{self._folder}/{len(self._files):05d}"
        of_shard = wanted >> SHARD_BITS
        jobs = []
        task = Task(folder, 16 << 20, last=True, write=False, store=self._store.url)
        for shard in self.shards():
            numbers = wanted[of_shard == shard.index] & ((1 << SHARD_BITS) - 1)
            if len(numbers):
                jobs.append(_job(_restricted(shard, numbers), task))
        with WorkerThreads(self.program(), self._room.threads, self._room.memory, self._room.folder) as pool:
            self._files += [str(self._store.fetch(result.match_keys)) for result in pool.map(jobs) if result.match_keys]
        self._known = np.union1d(self._known, wanted)


def _again(program: Program, shards: Sequence[Shard], url: str, folder: str, room: SqlLimits) -> Comparison:
    return Comparison(lambda: program, lambda: shards, open_store(url), folder, room)


def _job(shard: Shard, task: Task) -> Callable[[Worker], object]:
    return lambda worker: worker.run(shard, task)


def _restricted(shard: Shard, numbers: np.ndarray) -> Shard:
    """The shard reduced to some samples, by their numbers in it."""
    return replace(shard, part=replace(shard.part or Part(None), only=numbers))
