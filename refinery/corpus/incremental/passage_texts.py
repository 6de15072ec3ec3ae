"""Excerpts of texts that a deduplicator of substrings compares, computed from the samples that the stage before has left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.corpus.incremental.samples import samples_of
from refinery.corpus.incremental.shards import shards_of
from refinery.corpus.incremental.state import StageState
from refinery.dedup.match_keys import SqlLimits
from refinery.kernels.core.arrow import numbers
from refinery.planning.compilation import compile_comparison
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.local import LocalStore
from refinery.workers.executor import ThreadExecutor
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.tasks import Task

_BATCH = 16 << 20
_ROWS = 1024  # excerpts that are in memory at once


@dataclass(frozen=True)
class PassageTexts:
    """Excerpts of the texts of a stage's rows. store: of the workers' files."""

    plan: Plan
    planned: CompiledStage
    state: StageState
    store: LocalStore
    room: SqlLimits
    _number: Iterator[int] = field(default_factory=count)

    def of(self, rows: np.ndarray, places: pa.ListArray) -> Iterator[tuple[np.ndarray, pa.Array]]:
        """Excerpts of rows (ascending), some at a time, with the numbers of the rows. places: of the items that they have, of each row."""
        step, folder = self.planned.stage.after, f"stage_{self.planned.stage.number}/passages_{next(self._number)}"
        assert step is not None
        program = compile_comparison(self.plan.stages[0], step)
        assert program.removed is not None
        samples, column = samples_of(self.state, rows, self.plan.lines), (program.removed, places)
        shards = list(shards_of(samples, self.store.root / folder, column))
        task = Task(folder, _BATCH, write=False, store=self.store.url)
        runner = self._executor.runner(step, program)
        try:
            results = runner.run([one.shard for one in shards], lambda _: task)
        finally:
            runner.close()
        for one, result in zip(shards, results, strict=True):
            with pq.ParquetFile(self.store.fetch(result.match_keys)) as file:
                for batch in file.iter_batches(_ROWS, columns=["_row", "shingles"]):
                    yield one.rows[numbers(batch["_row"]) & ((1 << SHARD_BITS) - 1)], batch["shingles"]
        self.store.remove(f"{folder}/")

    @property
    def _executor(self) -> ThreadExecutor:
        return ThreadExecutor(self.store.url, self.plan.workers, self.plan.recipe.memory_limit, self.room.folder)
