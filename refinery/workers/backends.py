"""The workers of a run on this machine: for each stage threads or processes, whichever serve it better."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from refinery.compiler.program import Program
from refinery.io.model import Shard
from refinery.recipe import Recipe
from refinery.workers import serialization
from refinery.workers.crash_marker import died, noted
from refinery.workers.machine import share_of_memory
from refinery.workers.process_runner import ProcessRunner
from refinery.workers.processes import Nursery, Terms
from refinery.workers.runner import Report, Runner
from refinery.workers.tasks import ShardResult, Task
from refinery.workers.threads import Pool, Workers

# Bytes of a stage's input from which on processes are worth their start, which takes about a second of processor time each.
WORTH = 8_000_000


class Crew:
    """Gives each stage its runner. Processes that one stage has used go on to the next.

    spill: folder for DuckDB. scratch: gives the folder for tables in memory on their way to processes. note: the file
    that tells whether the last run by threads came to an end, and why `not_threads`.
    """

    def __init__(self, recipe: Recipe, workers: int, spill: str, scratch: Callable[[], Path], note: Path) -> None:
        self._recipe, self._workers, self._spill, self._scratch = recipe, workers, spill, scratch
        self._note = note
        self.not_threads = died(note)
        if not self.not_threads:  # a run that was killed on purpose has left it
            note.unlink(missing_ok=True)
        unsafe = recipe.workers == "auto" and self.not_threads
        self._always = recipe.workers == "processes" or recipe.row_timeout is not None or bool(unsafe)
        here = recipe.executor_type == "default"
        self._never = not here or (recipe.workers == "threads" and recipe.row_timeout is None)
        self._nursery: Nursery | None = None
        self._tables: dict[int, tuple[pa.Table, str]] = {}
        self._lock = threading.Lock()

    def apart(self, program: Program, shards: Sequence[Shard]) -> bool:
        """Whether a stage runs in processes of its own."""
        if program.copies or self._never or not shards:
            return False
        if self._always:
            return True
        several = min(self._workers, len(shards)) > 1
        return several and holds_lock(program) and sum(shard.size for shard in shards) >= WORTH

    def start(self, programs: Iterable[Program], shards: Sequence[Shard]) -> None:
        """Start processes, if a stage will need them; they are ready when the first one does."""
        if self._nursery is None and any(self.apart(program, shards) for program in programs):
            self._nursery = Nursery(shards[0].lines)

    def runner(self, program: Program, shards: Sequence[Shard], pool: Pool) -> Runner:
        """What runs the shards of a stage; pool: its threads."""
        if not self.apart(program, shards):
            return Threads(pool, self._note)
        self._nursery = self._nursery or Nursery()
        timeout = self._recipe.row_timeout  # heard by the main thread only, so that has to do all the work
        terms = Terms(1 if timeout else self._recipe.threads or 1, timeout)
        workers = min(self._workers, len(shards))
        return ProcessRunner(program, workers, self._memory, self._spill, self._nursery, terms, self._spool)

    @property
    def _memory(self) -> str:
        """What the DuckDB of each process may use."""
        limit = self._recipe.memory_limit
        each = limit // self._workers if limit else share_of_memory(self._workers)
        return f"{max(1, each // 1000)}KB"

    def _spool(self, table: pa.Table) -> str:
        """A file with a table, the same for all shards of it."""
        with self._lock:
            if id(table) not in self._tables:
                path = self._scratch() / f"table_{len(self._tables)}.arrow"
                self._tables[id(table)] = table, serialization.spooled(table, path)
            return self._tables[id(table)][1]

    def close(self) -> None:
        """End all processes."""
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None


class Threads(Workers):
    """Runs the shards of a stage in threads of this process, and leaves a note of that while it does."""

    def __init__(self, pool: Pool, note: Path) -> None:
        super().__init__(pool)
        self._note = note

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; see Runner."""
        with noted(self._note):
            return super().run(shards, task, report)


def holds_lock(program: Program) -> bool:
    """Whether a function keeps other threads of its process waiting."""
    return any(function.runs == "python" for function in program.functions)
