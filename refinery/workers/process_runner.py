"""Runs shards in worker processes, and finds the rows on which a process dies.

A shard whose process died is run again in a new process. If that dies too, its current rows are tried in pieces; a
piece on which a process dies is tried row by row. A row that ends a process by itself goes into quarantine, and the
shard is run without it. A process that dies for want of memory names the row that it was reading, or had in its hands.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from refinery.compiler.program import Program
from refinery.errors import OperatorError
from refinery.io.model import Shard
from refinery.io.open import open_source
from refinery.monitoring.log import folder_of_log
from refinery.operators.processes import Process, WorkerDied, processes
from refinery.workers import serialization, statement_limits
from refinery.workers.process_guard import STUCK
from refinery.workers.row_timeouts import too_long
from refinery.workers.single_rows import too_slow
from refinery.workers.tasks import ShardResult, Task
from refinery.workers.threads import Workers, WorkerThreads
from refinery.workers.worker import Worker


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of worker processes. timeout: seconds for a row in one function, None for no limit."""

    threads: int = 1
    timeout: float | None = None


Blamed = tuple[int, int, str]

# Least input bytes of one query, after processes were killed for want of memory.
_SMALLEST_BATCH = 64 << 10
_SMALLER = 8
# Deaths of a shard's process before the run fails; deaths for which a row was found do not count.
_PATIENCE = 4


class ProcessWorker:
    """A pool's worker that passes shards on to a worker process, and handles its death."""

    def __init__(
        self,
        program: Program,
        memory_limit: str | None,
        temporary: str | None,
        *,
        terms: ProcessSettings,
        spool: serialization.Spool,
    ) -> None:
        self.program = program
        self._terms, self._spool = terms, spool
        self._settings = {"memory": memory_limit, "temporary": temporary, "threads": terms.threads}
        self._settings["log"] = folder_of_log()
        self._process: Process | None = None
        self._one_by_one = False  # functions receive one row at a time
        self._spoiled: dict[str, str] = {}  # rows on which native code did not return in time, with the reason
        self._stopped = False

    def run(self, shard: Shard, task: Task) -> ShardResult:
        """Run one shard. Raises OperatorError when its process keeps dying, and no row is to blame."""
        task, self._one_by_one = replace(task, output=None), False
        fruitless = killed = 0
        while True:
            try:
                result = cast(ShardResult, self._ask("run", shard=shard, task=task))
                return replace(result, killed=killed)
            except MemoryError:
                if task.batch_bytes <= _SMALLEST_BATCH:
                    raise
                task = _with_less(task)
            except WorkerDied as death:
                killed += death.status == -signal.SIGKILL
                if self._is_spoiled(death):
                    continue
                task = self._smaller(task, death)
                again = fruitless or task.blamed or self._late(death) or death.status != -signal.SIGKILL
                newly_blamed = self._search(shard, task, death) if again else []
                task = replace(task, blamed=(*task.blamed, *newly_blamed))
                fruitless += not newly_blamed
                if fruitless > _PATIENCE:
                    raise OperatorError(_hopeless(shard, death)) from death

    def _is_spoiled(self, death: WorkerDied) -> bool:
        """Return whether the process ended itself in a row that a function had begun; the row is not tried again."""
        if death.status != 1 or death.call is None or death.seconds is None:
            return False
        self._spoiled = {**self._spoiled, death.call: too_slow(death.seconds)}
        return True

    def _smaller(self, task: Task, death: WorkerDied) -> Task:
        return _with_less(task) if death.status == -signal.SIGKILL else task

    def _late(self, death: WorkerDied) -> bool:
        """Return whether the process ended itself because a row took too long; rows are then run one by one."""
        limited = self._terms.timeout is not None or self.program.limits_rows
        late = limited and death.status == 1
        self._one_by_one = self._one_by_one or late
        return late

    def _search(self, shard: Shard, task: Task, death: WorkerDied) -> list[Blamed]:
        """Find the rows that end the process, among those that it was running."""
        if death.at is None:
            return []
        blamed: list[Blamed] = []
        pieces = _pieces(*death.at)
        while pieces:
            try:
                self._ask("look", shard=shard, task=task, pieces=pieces)
                break
            except WorkerDied as again:
                if again.piece is None:
                    break
                (first, last), rest = pieces[again.piece], pieces[again.piece + 1 :]
                if first < last:
                    pieces = [(row, row) for row in range(first, last + 1)] + rest
                else:
                    blamed.append(self._blame(shard, task, first, again))
                    pieces = rest
        return blamed

    def _blame(self, shard: Shard, task: Task, row: int, death: WorkerDied) -> Blamed:
        """Find the first step that ends the process on a row; step 0 where none does by itself."""
        step = 0
        try:
            self._ask("blame", shard=shard, task=task, row=row)
        except WorkerDied as again:
            if again.probe is not None:
                step, death = self.program.probes[again.probe][1], again
        if death.status == STUCK:
            return row, step, statement_limits.too_long(self.program.seconds)
        return row, step, self._too_long() if self._late(death) else death.reason

    def _too_long(self) -> str:
        """The reason of a row whose function has not returned in time."""
        timeout = self._terms.timeout
        return "took longer than the time limit of the step" if timeout is None else too_long(timeout)

    def _ask(self, what: str, **values: Any) -> Any:
        """Have the process carry out a command, a new process if the last one has died."""
        if self._stopped:
            raise InterruptedError("stopped")
        process = self._process = self._process or processes().take()
        limits = {"timeout": self._terms.timeout, "one_by_one": self._one_by_one, "spoiled": self._spoiled}
        settings = {**self._settings, **limits}
        if self._stopped:
            process.kill()
        try:
            if process.program is not self.program or process.settings != settings:
                process.ask(self._text("program", program=self.program, settings=settings))
                process.program, process.settings = self.program, settings
            return process.ask(self._text(what, **values), serialization.from_json)
        except WorkerDied:
            self._process = None
            process.close()
            if self._stopped:
                raise InterruptedError("stopped") from None
            raise

    def _text(self, what: str, **values: Any) -> str:
        return serialization.to_json({"do": what, **values}, self._spool)

    def stop(self) -> None:
        """Kill the process, and start no other; called from another thread."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Return the process to the idle ones, unless it was ended."""
        process, self._process = self._process, None
        if process is not None:
            if self._stopped:
                process.close()
            else:
                processes().give_back(process)


class ProcessRunner(Workers):
    """Runs the shards of a stage in worker processes."""

    def __init__(
        self,
        program: Program,
        workers: int,
        memory_limit: str | None,
        temporary: str | None,
        terms: ProcessSettings,
        spool: serialization.Spool,
    ) -> None:
        make: Callable[..., Any] = partial(ProcessWorker, terms=terms, spool=spool)
        self._own = WorkerThreads(program, workers, memory_limit, temporary, cast(Callable[..., Worker], make))
        super().__init__(self._own)

    def close(self) -> None:
        """Return the processes to the idle ones, for the next stage."""
        self._own.close()


def _pieces(first: int, last: int) -> list[tuple[int, int]]:
    """Cut the rows from first to last into n pieces of about n rows."""
    step = math.isqrt(last - first) + 1
    return [(row, min(row + step - 1, last)) for row in range(first, last + 1, step)]


def _with_less(task: Task) -> Task:
    size, rows = max(_SMALLEST_BATCH, task.batch_bytes // _SMALLER), max(1, task.batch_rows // _SMALLER)
    return replace(task, batch_bytes=size, batch_rows=rows)


def _hopeless(shard: Shard, death: WorkerDied) -> str:
    killed = death.status == -signal.SIGKILL
    if killed and death.row is not None and (row := described(shard, death.row)):
        return (
            f"{shard.source.path}: {death.reason} again and again, the last time at {row}: with what is made of it, it does "
            "not fit into the memory there is. Give the run more memory, lower np, or take the row out of the input"
        )
    rows = f" at rows {death.at[0]} to {death.at[1]} of it" if death.at else ""
    cure = ". Give it more memory, or lower np" if killed else ""
    return f"{shard.source.path}: {death.reason} again and again{rows}, and no single row is the cause{cure}"


_STEP = 1 << 20
# Bytes of rows that are read together: the largest row among these is the one that takes the memory.
_TOGETHER = 1 << 20


def described(shard: Shard, row: int) -> str:
    """A row of a shard in words: its line and bytes in its file, where these can be counted; "" for a small one."""
    with suppress(OSError):
        is_all = shard.only is None and shard.share is None
        if shard.lines and len(shard.sources) == 1 and shard.source.compression is None and is_all:
            line, size = _largest(shard, row)
            return f"line {line:,} of the file, which has {size / 1e6:,.1f} MB" if size >= _TOGETHER else ""
    return f"row {row:,} of shard {shard.index}"


def _largest(shard: Shard, row: int) -> tuple[int, int]:
    """Number and bytes of the largest of the lines from a row on that are read together with it."""
    best, total, rows = (0, -1), 0, 0
    for number, start, size, blank in _lines(shard):
        if start < shard.start or blank:
            continue
        if rows >= row:
            best = max(best, (number, size), key=lambda pair: pair[1])
            total += size
            if total >= _TOGETHER:
                break
        rows += 1
    return best if best[0] else (row + 1, 0)


def _lines(shard: Shard) -> Iterator[tuple[int, int, int, bool]]:
    """Number, first byte and bytes of each line of the file, and whether it is blank; in little memory."""
    number, start, at, blank = 1, 0, 0, True
    file = open_source(shard.source, -1)
    try:
        while piece := file.read(_STEP):
            rest = 0
            while (end := piece.find(b"\n", rest)) >= 0:
                blank = blank and not piece[rest:end].strip()
                yield number, start, at + end - start, blank
                number, start, rest, blank = number + 1, at + end + 1, end + 1, True
            blank = blank and not piece[rest:].strip()
            at += len(piece)
        if at > start:
            yield number, start, at - start, blank
    finally:
        file.close()
