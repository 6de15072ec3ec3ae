"""Reports of the processes of a cluster: what each uses, the shard that it runs, its rows, and its log.

A process sends a report each second to an actor, the board, from which the driver takes them (`board`).
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from refinery.monitoring.log import is_worth_it
from refinery.monitoring.nodes import Report
from refinery.operators import Function
from refinery.workers.single_rows import RowWatch


class ProcessUse:
    """Counts what this process and its children use, from the start of the process on."""

    def __init__(self) -> None:
        self._sampler: Any = None
        self._lock = threading.Lock()

    def taken(self) -> Report:
        """Resident bytes, and the processor seconds and disk traffic since the last call."""
        with self._lock:
            before = self._begun() if self._sampler is None else 0.0
            whole = self._sampler.measure(False)[0]
            covered = self._sampler.elapsed
            traffic = {"read_bytes": whole.read, "written_bytes": whole.written}
            counted = {name: None if rate is None else rate * covered for name, rate in traffic.items()}
            return {
                "memory": whole.memory,
                "cpu_seconds": before + whole.cpu * covered,
                "covered": covered,
                **counted,
            }

    def _begun(self) -> float:
        """Begin to measure; returns the processor seconds until now."""
        import psutil

        from refinery.monitoring import sampling

        self._sampler = sampling.Sampler()
        times = psutil.Process().cpu_times()
        return float(times.user + times.system)


_use = ProcessUse()


def used(folder: str = "") -> Report:
    """Processor, memory and disk that this process and its children use; counts are those since the last call.

    folder: whose disk is measured; "" for none.
    """
    from refinery.monitoring import sampling

    gpu, gpu_memory = sampling.gpus() or (None, None)
    host = socket.gethostname()
    about = {
        "node": _node() or host,
        "host": host,
        "pid": os.getpid(),
        "disk_free": sampling.free(folder) if folder else None,
    }
    return about | _use.taken() | {"gpu": gpu, "gpu_memory": gpu_memory}


def _node() -> str:
    """Name of this machine in the cluster: its host, and the start of Ray's name for the node."""
    with suppress(Exception):
        import ray

        return f"{socket.gethostname()} {ray.get_runtime_context().get_node_id()[:8]}"
    return ""


# Seconds between two reports of a process.
_EVERY = 1.0
# Seconds since the last report of a process after which the end of a task is reported at once.
_WORTH = 0.2


class TaskReports:
    """Reports of a process that runs tasks other than shards: each second, and when a task has taken some time.

    A thread sends them, since tasks may be many and short.
    """

    def __init__(self, measure: Callable[[], Report] = used) -> None:
        """measure: returns what the process has used."""
        self._used = measure
        self._board: Any = None
        self._running, self._sent = 0, 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def task(self, board: Any) -> Iterator[None]:
        """Report while a task runs. board: the actor that gets reports, or None."""
        if board is None:
            yield
            return
        with self._lock:
            self._board = board
            self._running += 1
            if self._thread is None:
                self._sent = time.monotonic()
                self._thread = threading.Thread(target=self._repeat, name="report of tasks", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if time.monotonic() - self._sent > _WORTH:
                    self._send()

    def _repeat(self) -> None:
        while True:
            time.sleep(_EVERY)
            with self._lock:
                if self._running:
                    self._send()

    def _send(self) -> None:
        self._sent = time.monotonic()
        about = {"stage": "", "shard": None, "seconds": 0.0, "running": self._running > 0, "rows": 0, "bytes": 0}
        with suppress(Exception):  # the cluster ends, or the board has gone
            self._board.report.remote({**self._used(), **about}, [])


OF_TASKS = TaskReports()


# Records of the log that wait for the next report, at most, and seconds for the last report of a shard.
_MOST, _PATIENCE = 1000, 5.0


class CountingObserver:
    """Counts the rows and bytes of finished batches; see WorkerObserver."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        self.row_watch: RowWatch | None = None

    def wrapped(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is."""
        return run

    def reads(self, row: int | None) -> None:
        """Do nothing."""

    def begins(self, first: int, last: int) -> None:
        """Do nothing: a batch counts at its end."""

    def ended(self) -> None:
        """Do nothing."""

    def passed(self, rows: int, size: int) -> None:
        """Count a batch."""
        self.rows, self.bytes = self.rows + rows, self.bytes + size

    def taken(self) -> tuple[int, int]:
        """Rows and bytes since the last call."""
        counts, self.rows, self.bytes = (self.rows, self.bytes), 0, 0
        return counts


COUNTED = CountingObserver()


class _Records(logging.Handler):
    """Collects records of the log for the next report."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.addFilter(is_worth_it)
        self.records: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record as plain data."""
        if len(self.records) < _MOST:
            with suppress(Exception):  # a record that cannot be written is the operator's fault, and no reason to stop
                text = record.getMessage() + (f"\n{self.format(record)}" if record.exc_info else "")
                at = {"at": record.created, "level": record.levelno, "logger": record.name}
                self.records.append(at | {"message": text, "node": socket.gethostname(), "pid": os.getpid()})

    def taken(self) -> list[dict[str, Any]]:
        """Records since the last call."""
        found, self.records = self.records, []
        return found


@contextmanager
def reporting(board: Any, stage: str, shard: int, folder: str) -> Iterator[None]:
    """Report each second while a shard runs, and once more when it ends. folder: whose disk is measured."""
    if board is None:
        yield
        return
    records, end, lock = _Records(), threading.Event(), threading.Lock()
    began = time.monotonic()

    def report(running: bool) -> Any:
        with lock:
            rows, size = COUNTED.taken()
            about = {"stage": stage, "shard": shard, "seconds": time.monotonic() - began, "running": running}
            state = {**used(folder), **about, "rows": rows, "bytes": size}
            return board.report.remote(state, records.taken())

    def repeat() -> None:
        while not end.wait(_EVERY):
            with suppress(Exception):  # the cluster ends, or the board has gone
                report(True)

    root = logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(min(level, logging.INFO) if level else logging.INFO)
    with suppress(Exception):
        report(True)
    threading.Thread(target=repeat, name="report", daemon=True).start()
    try:
        yield
    finally:
        end.set()
        root.removeHandler(records)
        root.setLevel(level)
        _last(partial(report, False))


def _last(report: Callable[[], Any]) -> None:
    """Send the last report of a shard and wait for it, so that nothing of it is lost; a board that has gone is not waited for again."""
    global _gone
    try:
        import ray

        reference = report()
        if not _gone:
            ray.get(reference, timeout=_PATIENCE)
    except Exception:  # the report only
        _gone = True


_gone = False
