"""Samples of a run's use of the machine: its process, its child processes, and its worker threads."""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import dataclass
from typing import Any

# Name prefix of threads that run shards.
_THREADS = "refinery_"


@dataclass(frozen=True)
class ResourceUse:
    """Use of the machine by one worker, or by the whole run.

    worker: `all`, `thread 0`, `process 4711`. cpu: busy cores since the last measurement. memory: resident bytes, None
    for a thread. read, written: bytes per second from and to disks, None if the system does not report them.
    """

    worker: str
    pid: int
    cpu: float
    memory: int | None = None
    read: float | None = None
    written: float | None = None


class Sampler:
    """Sampler of machine use; each measurement covers the time since the last one.

    Linux reports the disk traffic of a process; elsewhere `read` and `written` are None.
    """

    def __init__(self) -> None:
        import psutil  # imported here: it is slow and not needed to start a run

        self._errors = psutil.Error
        self._own = psutil.Process()
        self._children: dict[int, Any] = {}
        self._before: dict[Any, float] = {}
        self._at = time.monotonic()
        self.elapsed = 0.0  # seconds that the last measurement covers
        self.measure(workers=False)

    def measure(self, workers: bool) -> list[ResourceUse]:
        """Measure the use of the whole run, then of each process that it started; with `workers`, of threads too."""
        now = time.monotonic()
        elapsed, self._at = max(now - self._at, 1e-3), now
        self.elapsed = elapsed
        seen: dict[Any, float] = {}
        own = self._of(self._own, elapsed, seen)
        started = [use for child in self._started() if (use := self._of(child, elapsed, seen)) is not None]
        used = [use for use in (own, *started) if use is not None]
        uses = [_together(used, self._own.pid), *started]
        if workers:
            uses += self._threads(elapsed, seen)
        self._before = seen
        return uses

    def _started(self) -> list[Any]:
        """Child processes; known processes keep their objects."""
        if _childless():
            return []
        try:
            now = {child.pid: child for child in self._own.children(recursive=True)}
        except self._errors:
            return []
        self._children = {pid: self._children.get(pid, child) for pid, child in now.items()}
        return list(self._children.values())

    def _of(self, process: Any, elapsed: float, seen: dict[Any, float]) -> ResourceUse | None:
        """Use of one process; None if it has ended."""
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
        return ResourceUse(f"process {process.pid}", process.pid, cpu, memory, read, written)

    def _traffic(self, process: Any) -> tuple[float | None, float | None]:
        try:
            counters = process.io_counters()
        except (AttributeError, self._errors, OSError):
            return None, None
        return float(counters.read_bytes), float(counters.write_bytes)

    def _since(self, what: Any, total: float, seen: dict[Any, float]) -> float:
        """Growth of a counter; 0 for a counter that is new or has fallen."""
        seen[what] = total
        return max(0.0, total - self._before.get(what, total))

    def _threads(self, elapsed: float, seen: dict[Any, float]) -> list[ResourceUse]:
        """Use of worker threads by name: pools share names, but only one pool works at a time."""
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
        return [ResourceUse(name, self._own.pid, cpu) for name, cpu in sorted(busy.items())]


def _together(uses: list[ResourceUse], pid: int) -> ResourceUse:
    reads = [use.read for use in uses if use.read is not None]
    writes = [use.written for use in uses if use.written is not None]
    return ResourceUse(
        "all",
        pid,
        sum(use.cpu for use in uses),
        sum(use.memory or 0 for use in uses),
        sum(reads) if reads else None,
        sum(writes) if writes else None,
    )


def _childless() -> bool:
    """True if the system says at once that this process has no children; psutil looks at all processes for them."""
    try:
        tasks = os.listdir("/proc/self/task")
        return not any(_bytes_of(f"/proc/self/task/{task}/children") for task in tasks)
    except OSError:  # another system, or a thread that has ended
        return False


def _bytes_of(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # there is one for each thread
        return file.read()


def free(folder: str) -> int | None:
    """Free bytes on the disk of a folder; None if unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def gpus() -> tuple[float, int] | None:
    """Busy share of all GPUs together (1.0: one GPU) and bytes in use; None without NVIDIA's library or a GPU."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        busy = sum(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu for handle in handles) / 100
        used = sum(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
    except Exception:  # a missing or old driver may raise anything
        return None
    return (busy, used) if handles else None
