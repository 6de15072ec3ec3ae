"""The workers of a run on this machine: for each stage threads or processes, whichever serve it better."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from refinery.compiler.program import Program
from refinery.io.model import Shard
from refinery.operators.processes import processes
from refinery.workers import serialization
from refinery.workers.crash_marker import died, noted
from refinery.workers.machine import share_of_memory
from refinery.workers.process_runner import ProcessRunner, ProcessSettings
from refinery.workers.tasks import Report, Runner, ShardResult, Task
from refinery.workers.threads import Workers, WorkerThreads

# Bytes of a stage's input from which processes are worth their start, about a second of processor time each.
WORTH = 8_000_000


@dataclass(frozen=True)
class WorkerSettings:
    """Settings of a recipe for the workers of its run on this machine.

    kind: threads, processes, or auto. count: number of workers. threads: of each worker's DuckDB; None for one. memory_limit: of all
    workers, in bytes. row_timeout: seconds for a row; None: no limit, or the one that an operator has.
    """

    kind: str
    count: int
    threads: int | None
    memory_limit: int | None
    row_timeout: float | None


class BackendChoice:
    """Choice of the backend (threads or processes) of each stage. A stage reuses the processes of the stage before.

    spill: folder for DuckDB. scratch: gives the folder for in-memory tables on their way to processes. note: the crash
    marker, a file that is left when the last run by threads crashed. not_threads: the reason against threads, or "".
    """

    def __init__(self, settings: WorkerSettings, spill: str, scratch: Callable[[], Path], note: Path) -> None:
        self._settings, self._spill, self._scratch, self._note = settings, spill, scratch, note
        self.not_threads = died(note)
        if not self.not_threads:  # a marker that a deliberately killed run has left
            note.unlink(missing_ok=True)
        kind, limited = settings.kind, settings.row_timeout is not None
        self._always = kind == "processes" or limited or (kind == "auto" and bool(self.not_threads))
        self._never = kind == "threads" and not limited
        self._tables: dict[int, tuple[pa.Table, str]] = {}
        self._lock = threading.Lock()

    @property
    def changed(self) -> str:
        """Note that the last run's crash changes the choice; empty if it does not."""
        if self._settings.kind != "auto" or not self.not_threads:
            return ""
        return f"the last run here {self.not_threads}: workers are processes this time"

    def apart(self, program: Program, shards: Sequence[Shard], most: int | None = None) -> bool:
        """Return whether a stage runs in worker processes. most: its workers, by default those of the run."""
        if must_run_apart(program, shards):
            return True
        if program.copies or self._never or not shards:
            return False
        if self._always:
            return True
        several = min(most or self._settings.count, len(shards)) > 1
        return several and holds_lock(program) and sum(shard.size for shard in shards) >= WORTH

    def start(self, programs: Iterable[Program], shards: Sequence[Shard]) -> None:
        """Start the fork server early if a stage will need processes, so that it is ready when that stage starts."""
        if any(self.apart(program, shards) for program in programs):
            processes()

    def runner(self, program: Program, shards: Sequence[Shard], pool: WorkerThreads, most: int | None = None) -> Runner:
        """Runner for the shards of a stage. pool: the threads, where the stage runs in threads. most: workers."""
        if not self.apart(program, shards, most):
            return Threads(pool, self._note)
        timeout = self._settings.row_timeout
        one = (
            timeout is not None or program.limits_rows
        )  # the signal reaches only the main thread, which must do all work
        terms = ProcessSettings(1 if one else self._settings.threads or 1, timeout)
        workers = min(most or self._settings.count, len(shards))
        return ProcessRunner(program, workers, self._memory, self._spill, terms, self._spool)

    @property
    def _memory(self) -> str:
        """Memory limit of DuckDB in each process."""
        limit, count = self._settings.memory_limit, self._settings.count
        each = limit // count if limit else share_of_memory(count)
        return f"{max(1, each // 1000)}KB"

    def _spool(self, table: pa.Table) -> str:
        """Path of a file with the table, one file for all shards of the table."""
        with self._lock:
            if id(table) not in self._tables:
                path = self._scratch() / f"table_{len(self._tables)}.arrow"
                self._tables[id(table)] = table, serialization.spooled(table, path)
            return self._tables[id(table)][1]


class Threads(Workers):
    """Runs the shards of a stage in threads of this process. The crash marker exists while a stage runs."""

    def __init__(self, pool: WorkerThreads, note: Path) -> None:
        super().__init__(pool)
        self._note = note

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; see Runner."""
        with noted(self._note):
            return super().run(shards, task, report)


def holds_lock(program: Program) -> bool:
    """Return whether a function of the program holds the GIL, so that other threads of the process wait."""
    return any(function.runs == "python" for function in program.functions)


def must_run_apart(program: Program, shards: Sequence[Shard]) -> bool:
    """Return whether a stage runs code in worker processes alone, in functions of its program, or to read its shards."""
    apart = any(function.runs_apart for function in program.functions)
    return apart or any(source.reader for shard in shards for source in shard.sources)
