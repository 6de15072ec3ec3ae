"""Monitor of one run in its own process: a thread that measures once a second, and reports of stages and shards."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.numbers import size as of_bytes
from refinery.common.parquet import table_of
from refinery.common.redaction import hide
from refinery.kernels.core.arrow import of_rows
from refinery.monitoring import state
from refinery.monitoring.log import event
from refinery.monitoring.nodes import WorkerReports, log_records, stragglers
from refinery.storage.run_folder import RunDir

# Seconds between two measurements.
EVERY = 1.0

MONITOR = pa.schema(
    [
        ("elapsed", pa.float64()),
        ("stage", pa.int32()),
        ("phase", pa.string()),
        ("worker", pa.string()),
        ("pid", pa.int64()),
        ("cpu", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("memory", pa.int64()),
        ("gpu", pa.float64()),
        ("gpu_memory", pa.int64()),
        ("read_per_second", pa.float64()),
        ("written_per_second", pa.float64()),
        ("disk_free", pa.int64()),
        ("rows_per_second", pa.float64()),
        ("bytes_per_second", pa.float64()),
        ("node", pa.string()),
    ]
)


@dataclass
class RunProgress:
    """Progress of the run. total: bytes of all stages. since: rows and bytes of shards since the last measurement."""

    stage: int = 0
    stages: int = 0
    phase: str = "preparing"
    shards: int = 0
    of: int = 0
    rows: int = 0
    bytes: int = 0
    total: int = 0
    quarantined: int = 0
    since: list[int] = field(default_factory=lambda: [0, 0])


class RunMonitor:
    """Context of a run: entered when the run holds its folder, left when it has ended, well or not."""

    def __init__(
        self,
        run_dir: RunDir,
        about: dict[str, Any],
        stages: int,
        total: int,
        detail: bool = False,
        show: Callable[[str], None] | None = None,
        explain: Callable[[BaseException], BaseException] | None = None,
    ) -> None:
        """about: plain data for the state. detail: measure every worker and the GPUs. show: gets a line each second.

        explain: gives the error that the user reads in place of the one that ends the run.
        """
        self._explain = explain
        # Takes reports and log records of workers on other machines; None without any.
        self.remote: Callable[[], tuple[list[dict[str, Any]], list[dict[str, Any]]]] | None = None
        self._reports, self._finished = WorkerReports(), list[float]()  # finished: seconds of the stage's shards
        self._path, self._about, self._detail, self._say = run_dir.status, about, detail, show
        self._root, self._host = str(run_dir.root), socket.gethostname()
        self.progress = RunProgress(stages=stages, total=total)
        self._began, self._started = datetime.now(UTC), time.monotonic()
        self._rows: list[dict[str, Any]] = []
        self._workers: list[dict[str, Any]] = []
        self._cpu, self._memory, self.peak = 0.0, 0, 0
        self._beyond: dict[str, Any] = {}  # what processes of other machines have used since the last measurement
        self._pids: set[int] = set()  # processes that are measured here
        self._quarantine: Callable[[], dict[str, Any] | None] | None = None
        self._last_quarantined: dict[str, Any] | None = None
        self._lock, self._end = threading.Lock(), threading.Event()
        self._looked = self._heard = self._started
        self._sampler: Any = None
        self._thread = threading.Thread(target=self._look_on, name="watch", daemon=True)

    # Called by the run

    def __enter__(self) -> RunMonitor:
        event("began", f"run of {self._about.get('recipe') or 'a recipe'} begins", **self._about)
        self._write(state.RUNNING)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._end.set()
        self._thread.join(10)  # with a limit: an interrupted import would block it for ever
        seconds = round(time.monotonic() - self._started, 3)
        if error is None:
            self._path.unlink(missing_ok=True)  # the database has it all now
            event("ended", f"run ended well after {seconds} s", seconds=seconds, peak_memory=self.peak)
            return
        error = self._explain(error) if self._explain is not None else error
        stopped = isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)) or _is_interrupted(error)
        how = state.INTERRUPTED if stopped else state.FAILED
        what = "" if stopped else f"{type(error).__name__}: {error}"
        event(how, f"run {how} after {seconds} s{': ' if what else ''}{what}", 40, seconds=seconds, error=what)
        self._write(how, what)

    def began(self, stage: int, phase: str, shards: Sequence[Any] = ()) -> None:
        """Record that a stage, or another part of the run, begins."""
        self._hear()
        self._measure()
        progress = self.progress
        progress.stage, progress.phase, progress.shards, progress.of = stage, phase, 0, len(shards)
        self._finished = []
        event("stage", f"stage {stage}: {phase}" if stage else phase, stage=stage, phase=phase, shards=len(shards))

    def done(self, result: Any, size: int, quarantine: Callable[[], dict[str, Any] | None]) -> None:
        """Record that a shard has ended. size: its input bytes. quarantine: reads its last quarantined row."""
        progress = self.progress
        with self._lock:
            progress.shards, progress.bytes = progress.shards + 1, progress.bytes + size
            progress.rows += result.rows if progress.stage <= 1 else 0
            progress.since = [progress.since[0] + result.rows, progress.since[1] + size]
            progress.quarantined += result.quarantined
            self._finished.append(sum(result.seconds.values()))
            self._quarantine = quarantine if result.quarantined else self._quarantine
        counted = {"rows": result.rows, "kept": result.kept, "quarantined": result.quarantined, "bytes": result.bytes}
        counted |= {"seconds": round(sum(result.seconds.values()), 3), "reused": result.reused}
        message = f"shard {result.shard} done: {result.rows} rows, {result.kept} left"
        event("shard", message, numbers=True, shard=result.shard, **counted)
        if result.quarantined:
            what = f"shard {result.shard}: {result.quarantined} rows quarantined"
            event("quarantine", what, 30, shard=result.shard, rows=result.quarantined)

    def retried(self, shard: int, why: str) -> None:
        """Record that a shard runs again."""
        self._reports.retries += 1
        event("retry", f"shard {shard} runs again: {why}", logging.WARNING, shard=shard, reason=why)

    def given_up(self, reason: str) -> None:
        """Record why the run ends, when its process cannot go on."""
        self._end.set()  # what is written now is the last
        event(state.FAILED, f"run failed: {reason}", 40, error=reason)
        self._write(state.FAILED, reason)

    def table(self) -> pa.Table:
        """Table of all measurements so far."""
        self._hear()
        self._measure()
        with self._lock:
            return of_rows(self._rows, MONITOR)

    # Called by the thread

    def _look_on(self) -> None:
        while not self._end.wait(EVERY if self._sampler else 0):
            self._hear()
            self._measure(first=True)
            self._write(state.RUNNING)
            if self._say is not None:
                self._say(self.line())

    def _hear(self) -> None:
        """Take the reports and log records of workers on other machines."""
        take = self.remote
        if take is None:
            return
        reports, records = take()
        log_records(records)
        with self._lock:
            now = time.monotonic()
            elapsed, self._heard = max(now - self._heard, 1e-3), now
            self._reports.take(reports, elapsed)
            self._beyond = _added(self._beyond, self._reports.beyond(self._host, self._pids))
            common = {
                "elapsed": round(now - self._started, 3),
                "stage": self.progress.stage or None,
                "phase": self.progress.phase,
            }
            self._rows += [common | _reported("node", None, node, elapsed) for node in self._reports.by_node()]
            for use in self._reports.workers() if self._detail else ():
                self._rows.append(common | _reported(f"process {use['pid']}", use["pid"], use, elapsed))

    def _measure(self, first: bool = False) -> None:
        """Measure the machine; only the thread creates the sampler, which is slow."""
        from refinery.monitoring import sampling

        with self._lock:
            if self._sampler is None:
                if not first:
                    return
                self._sampler = sampling.Sampler()
            now = time.monotonic()
            elapsed, self._looked = max(now - self._looked, 1e-3), now
            uses = self._sampler.measure(self._detail)
            together, progress = uses[0], self.progress
            beyond, self._beyond = self._beyond, {}
            gpu, gpu_memory = (sampling.gpus() if self._detail else None) or (None, None)
            of_all = _of_cluster(_measured(together) | {"gpu": gpu, "gpu_memory": gpu_memory}, beyond)
            self._cpu, self._memory = of_all["cpu"], of_all["memory"] or 0
            self.peak = max(self.peak, self._memory)
            self._pids = {use.pid for use in uses}
            self._workers = [_worker(use) for use in uses[1:]]
            common = {
                "elapsed": round(now - self._started, 3),
                "stage": progress.stage or None,
                "phase": progress.phase,
            }
            (rows, size), progress.since = progress.since, [0, 0]
            of_all |= {"cpu_seconds": together.cpu * self._sampler.elapsed + (beyond.get("cpu_seconds") or 0)}
            of_all |= {"disk_free": sampling.free(self._root), "rows_per_second": rows / elapsed}
            of_all |= {"bytes_per_second": size / elapsed}
            for use in uses if self._detail else uses[:1]:
                own = of_all if use is together else _measured(use) | {"cpu_seconds": use.cpu * self._sampler.elapsed}
                self._rows.append(common | own | {"node": self._host})

    # Output

    def line(self) -> str:
        """`1.9 cores, 812.4 MB`, of all processes together."""
        return f"{self._cpu:.1f} cores, {of_bytes(self._memory)}"

    def _cluster(self) -> dict[str, Any]:
        """Fields of the state on machines of a cluster; none for a run on this machine."""
        if self.remote is None:
            return {}
        with self._lock:
            running = self._reports.running()
            nodes = [{name: _rounded(value) for name, value in node.items()} for node in self._reports.by_node()]
            slow = stragglers(running, self._finished)
            return {"nodes": nodes, "running": running, "stragglers": slow, "retries": self._reports.retries}

    def _write(self, how: str, what: str = "") -> None:
        with self._lock:
            read, self._quarantine = self._quarantine, None
        if read is not None:
            self._last_quarantined = read() or self._last_quarantined
        seconds, progress = time.monotonic() - self._started, self.progress
        left = (progress.total - progress.bytes) / progress.bytes * seconds if progress.bytes else None
        status = {
            "state": how,
            **self._about,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "began": self._began.isoformat(timespec="seconds"),
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 1),
            **{
                name: getattr(progress, name)
                for name in ("stage", "stages", "phase", "shards", "of", "rows", "bytes", "total")
            },
            "bytes_per_second": round(progress.bytes / max(seconds, 1e-3)),
            "seconds_left": None if left is None else round(left, 1),
            "cpu": round(self._cpu, 2),
            "memory": self._memory,
            "peak_memory": self.peak,
            "workers": self._workers,
            **self._cluster(),
            "quarantined": progress.quarantined,
            "last_quarantined": self._last_quarantined,
            **({"error": hide(what)} if what else {}),
        }
        state.write(self._path, status)


def _reported(worker: str, pid: int | None, use: dict[str, Any], elapsed: float) -> dict[str, Any]:
    """Measured values of a machine, or of a process of one. elapsed: seconds since the reports before."""
    same = ("node", "cpu", "cpu_seconds", "memory", "gpu", "gpu_memory", "disk_free")
    row = {"worker": worker, "pid": pid} | {name: use[name] for name in same}
    row |= {"read_per_second": use["read"], "written_per_second": use["written"]}
    return row | {f"{name}_per_second": use[name] / elapsed for name in ("rows", "bytes")}


def _added(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Use of other machines by now: counts since the last measurement, and the newest of everything else."""
    return now | {"cpu_seconds": (before.get("cpu_seconds") or 0) + (now["cpu_seconds"] or 0)}


def _of_cluster(own: dict[str, Any], beyond: dict[str, Any]) -> dict[str, Any]:
    """Sums of what this machine's processes use and what those of other machines do, if there are any."""
    named = {"cpu": "cpu", "memory": "memory", "gpu": "gpu", "gpu_memory": "gpu_memory"}
    named |= {"read_per_second": "read", "written_per_second": "written"}
    row = dict(own)
    for name, theirs in named.items():
        if (more := beyond.get(theirs)) is not None:
            row[name] = (own[name] or 0) + more
    return row


def _worker(use: Any) -> dict[str, Any]:
    return {"worker": use.worker, "pid": use.pid, "cpu": round(use.cpu, 2), "memory": use.memory}


def _measured(use: Any) -> dict[str, Any]:
    row = {"worker": use.worker, "pid": use.pid, "cpu": use.cpu, "memory": use.memory}
    return row | {"read_per_second": use.read, "written_per_second": use.written}


def _rounded(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


def _is_interrupted(error: BaseException) -> bool:
    return getattr(error, "exit_code", None) == 130


def last_of(path: Path) -> dict[str, Any] | None:
    """The last row of a shard's quarantine file, without the sample itself."""
    try:
        rows = table_of(path, ["file", "line", "operator", "error"]).to_pylist()
    except (OSError, pa.ArrowException):
        return None
    return rows[-1] if rows else None
