"""Runs a stage's shards on this machine: a loop over worker threads.

Kernels and DuckDB release the GIL, so threads share the work without copying programs or tables between processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from refinery.compiler.program import Program
from refinery.io.model import Shard
from refinery.workers.machine import cores as cores
from refinery.workers.tasks import Report
from refinery.workers.worker import ShardResult, Task, Worker


class WorkerThreads:
    """A fixed number of workers, each on a thread of its own; threads and workers are made when jobs need them."""

    def __init__(
        self,
        program: Program,
        workers: int,
        memory_limit: str | None,
        temporary: str | None,
        make: Callable[[Program, str | None, str | None], Worker] = Worker,
    ) -> None:
        self._make = partial(make, program, memory_limit, temporary)
        self._local = threading.local()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._given_up = threading.Event()
        self._executor = ThreadPoolExecutor(max_workers=max(1, workers), thread_name_prefix="refinery")

    def _worker(self) -> Worker:
        if not hasattr(self._local, "worker"):
            worker = self._make()
            with self._lock:
                self._workers.append(worker)
            self._local.worker = worker
        return self._local.worker

    def _run(self, job: Callable[[Worker], Any]) -> Any:
        worker = self._worker()
        if self._given_up.is_set():
            raise InterruptedError("the run has given up")
        return job(worker)

    def map(self, jobs: Sequence[Callable[[Worker], Any]], done: Callable[[Any], None] | None = None) -> list[Any]:
        """Run jobs, each with a worker; results in the order of the jobs. The first error ends the other jobs."""
        futures: list[Future[Any]] = [self._executor.submit(self._run, job) for job in jobs]
        pending = set(futures)
        try:
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    result = future.result()
                    if done:
                        done(result)
        except BaseException:
            self.give_up()
            for future in pending:
                future.cancel()
            raise
        return [future.result() for future in futures]

    def give_up(self) -> None:
        """Stop the workers. What a thread still does, after a second Ctrl-C beside the end of the run, marks no shard as done."""
        self._given_up.set()
        for worker in list(self._workers):
            worker.stop()

    def close(self) -> None:
        """Wait for the threads and close the connections."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def __enter__(self) -> WorkerThreads:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.give_up()
        self.close()


class Workers:
    """Runner whose shards are run by the workers of a pool; the pool stays open for other users."""

    def __init__(self, pool: WorkerThreads) -> None:
        self._pool = pool

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; see Runner."""

        def job(shard: Shard) -> Callable[[Worker], ShardResult]:
            return lambda worker: worker.run(shard, task(shard))

        return self._pool.map([job(shard) for shard in shards], report)

    def close(self) -> None:
        """Do nothing: the owner of the pool closes it."""
