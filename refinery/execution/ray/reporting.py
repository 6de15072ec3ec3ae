"""Reports of workers to the driver: what each process uses, the shard that it runs, its rows, and its log.

A process sends a report each second to an actor, the board, from which the driver takes them. A report that is lost costs
a measurement, never a shard.
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

from refinery.execution.ray.process_use import used
from refinery.monitoring.log import is_worth_it
from refinery.monitoring.nodes import ADDED, Report
from refinery.operators import Function
from refinery.workers.single_rows import RowWatch

_EVERY = 1.0
# Records of the log that wait for the next report, at most, and seconds for the last report of a shard.
_MOST, _PATIENCE = 1000, 5.0


class Board:
    """The actor: keeps the newest report of each process, and all records, until the driver takes them."""

    def __init__(self) -> None:
        self._reports: dict[tuple[str, int], Report] = {}
        self._records: list[dict[str, Any]] = []

    def report(self, report: Report, records: list[dict[str, Any]]) -> None:
        """Take in a report; what it counts adds up."""
        key = report["node"], report["pid"]
        before = self._reports.get(key, {})
        for name in ADDED:
            report[name] = None if report[name] is None else report[name] + (before.get(name) or 0)
        self._reports[key] = report
        self._records = [*self._records, *records][-_MOST:]

    def take(self) -> tuple[list[Report], list[dict[str, Any]]]:
        """Reports and records since the last call."""
        reports = list(self._reports.values()), self._records
        self._reports, self._records = {}, []
        return reports


class BoardClient:
    """The driver's side: starts the board, and takes what it has."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.actor = ray.remote(num_cpus=0, max_restarts=0)(Board).remote()

    def take(self) -> tuple[list[Report], list[dict[str, Any]]]:
        """Reports and records since the last call; nothing if the board does not answer."""
        with suppress(Exception):  # whatever has happened to the board, the run goes on
            return self._ray.get(self.actor.take.remote(), timeout=_PATIENCE)
        return [], []

    def close(self) -> None:
        """End the board."""
        with suppress(Exception):
            self._ray.kill(self.actor)


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
