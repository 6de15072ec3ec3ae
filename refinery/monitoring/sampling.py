"""What a run uses of the machine at one moment: its process, those that it started, and the threads of its workers."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass
from typing import Any

# How threads are called that run shards.
_THREADS = "refinery_"


@dataclass(frozen=True)
class Use:
    """What one worker, or all of the run together, uses.

    worker: `all`, `thread 0`, `process 4711`. cpu: cores kept busy since the moment before. memory: resident bytes, None
    for a thread. read, written: bytes per second that went to and from disks, None where the system does not tell.
    """

    worker: str
    pid: int
    cpu: float
    memory: int | None = None
    read: float | None = None
    written: float | None = None


class Sampler:
    """Measures again and again; shares are those of the time since the last measurement.

    Linux tells the disk traffic of a process; elsewhere `read` and `written` are None.
    """

    def __init__(self) -> None:
        import psutil  # here, for it takes a while and is not needed to start a run

        self._errors = psutil.Error
        self._own = psutil.Process()
        self._children: dict[int, Any] = {}
        self._before: dict[Any, float] = {}
        self._at = time.monotonic()
        self.measure(workers=False)

    def measure(self, workers: bool) -> list[Use]:
        """First the use of all together, then of each process that the run has started; of threads too with `workers`."""
        now = time.monotonic()
        elapsed, self._at = max(now - self._at, 1e-3), now
        seen: dict[Any, float] = {}
        own = self._of(self._own, elapsed, seen)
        started = [use for child in self._started() if (use := self._of(child, elapsed, seen)) is not None]
        used = [use for use in (own, *started) if use is not None]
        found = [_together(used, self._own.pid), *started]
        if workers:
            found += self._threads(elapsed, seen)
        self._before = seen
        return found

    def _started(self) -> list[Any]:
        """Processes below this one; those that are known already keep their objects."""
        try:
            now = {child.pid: child for child in self._own.children(recursive=True)}
        except self._errors:
            return []
        self._children = {pid: self._children.get(pid, child) for pid, child in now.items()}
        return list(self._children.values())

    def _of(self, process: Any, elapsed: float, seen: dict[Any, float]) -> Use | None:
        """None for a process that has ended."""
        try:
            with process.oneshot():
                times = process.cpu_times()
                memory = int(process.memory_info().rss)
            read, written = self._traffic(process)
        except self._errors:
            return None
        cpu = self._since((process.pid, "cpu"), times.user + times.system, seen) / elapsed
        if read is not None and written is not None:
            read = self._since((process.pid, "read"), read, seen) / elapsed
            written = self._since((process.pid, "written"), written, seen) / elapsed
        return Use(f"process {process.pid}", process.pid, cpu, memory, read, written)

    def _traffic(self, process: Any) -> tuple[float | None, float | None]:
        try:
            counters = process.io_counters()
        except (AttributeError, self._errors, OSError):
            return None, None
        return float(counters.read_bytes), float(counters.write_bytes)

    def _since(self, what: Any, total: float, seen: dict[Any, float]) -> float:
        """How much a counter has grown; nothing for one that is seen for the first time, or that fell."""
        seen[what] = total
        return max(0.0, total - self._before.get(what, total))

    def _threads(self, elapsed: float, seen: dict[Any, float]) -> list[Use]:
        """Worker threads by name: a thread of each pool may have it, of which one works at a time."""
        try:
            spent = {thread.id: thread.user_time + thread.system_time for thread in self._own.threads()}
        except self._errors:
            return []
        busy: dict[str, float] = {}
        for thread in threading.enumerate():
            if thread.name.startswith(_THREADS) and thread.native_id in spent:
                name = f"thread {thread.name.removeprefix(_THREADS)}"
                used = self._since((thread.native_id, "thread"), spent[thread.native_id], seen)
                busy[name] = busy.get(name, 0.0) + used / elapsed
        return [Use(name, self._own.pid, cpu) for name, cpu in sorted(busy.items())]


def _together(uses: list[Use], pid: int) -> Use:
    reads = [use.read for use in uses if use.read is not None]
    writes = [use.written for use in uses if use.written is not None]
    return Use(
        "all",
        pid,
        sum(use.cpu for use in uses),
        sum(use.memory or 0 for use in uses),
        sum(reads) if reads else None,
        sum(writes) if writes else None,
    )


def free(folder: str) -> int | None:
    """Bytes that can still be written to the disk of a folder; None where nobody tells."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def gpus() -> tuple[float, int] | None:
    """Busy share of all GPUs together (1.0: one of them) and bytes in use; None without NVIDIA's library or a GPU."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        busy = sum(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu for handle in handles) / 100
        used = sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
    except Exception:  # whatever a driver that is not there or too old makes of it
        return None
    return (busy, used) if handles else None
