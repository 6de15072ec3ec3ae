"""The search for rows that end a worker process: each trial is reported before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.workers.process_observer import Send
from refinery.workers.tasks import Task
from refinery.workers.worker import Worker


def look(worker: Worker, send: Send, shard: Shard, task: Task, pieces: Sequence[Sequence[int]]) -> None:
    """Run pieces (first and last row) of one batch, each by itself, to find those that end the process."""
    for batch in _some(worker, shard, task, pieces[0][0], pieces[-1][1]):
        for number, (first, last) in enumerate(pieces):
            index = np.flatnonzero((batch.rows >= first) & (batch.rows <= last))
            if len(index):
                send({"piece": number})
                worker.attempt(batch.take(index), task.first_row)


def blame(worker: Worker, send: Send, shard: Shard, task: Task, row: int) -> None:
    """Evaluate the steps' expressions over one row, one by one, to find the one that ends the process."""
    for batch in _some(worker, shard, task, row, row):
        for number in range(len(worker.program.probes)):
            send({"probe": number})
            worker.error_of(number, batch, task.first_row)


def _some(worker: Worker, shard: Shard, task: Task, first: int, last: int) -> Iterator[Batch]:
    """Batches with the rows from first to last."""
    for batch in worker.batches(shard, task):
        index = np.flatnonzero((batch.rows >= first) & (batch.rows <= last))
        if len(index):
            yield batch.take(index)
        if len(batch.rows) and batch.rows[-1] >= last:
            return
