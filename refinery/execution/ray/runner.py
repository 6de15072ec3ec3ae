"""Runs the shards of a stage as tasks of a Ray cluster; a shard whose process or machine dies runs again."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from refinery.compiler.program import Program
from refinery.errors import OperatorError
from refinery.execution.ray import tasks
from refinery.execution.ray.answers import OutOfMemory, known, result_of
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.environment import here
from refinery.execution.ray.handing import DispatcherLost, handing
from refinery.execution.ray.scheduling import ShardPlaces, TaskResources
from refinery.io.input_files import LOOKING, FileFacts, facts_of
from refinery.io.model import Shard
from refinery.workers.serialization import Spool, from_json, to_json
from refinery.workers.tasks import Report
from refinery.workers.worker import ShardResult, Task

# Most restarts of a shard: after its process died, after its machine was lost, after memory ran out.
_CRASHES, _LOSSES, _SMALLER = 3, 20, 4
_DIVIDED = 8  # divisor of the batch size each time memory runs out
AHEAD = 2  # tasks submitted to Ray for each processor: the next one waits where it will run


@dataclass
class _Job:
    """A shard that waits or runs. at: its place among the results. files: facts of its input files."""

    at: int
    shard: Shard
    files: Future[list[FileFacts]]
    crashes: int = 0
    losses: int = 0
    smaller: int = 0


class RayRunner:
    """Runner (see `workers.tasks`) on a cluster: sends the program once; shards, tasks and results are text."""

    def __init__(
        self,
        cluster: ClusterConnection,
        program: Program,
        wants: TaskResources,
        memory: str | None,
        spill: str,
        timeout: float | None = None,
        spool: Spool | None = None,
        name: str = "shards",
        places: ShardPlaces | None = None,
        board: Any = None,
        retried: Callable[[int, str], None] | None = None,
    ) -> None:
        """wants, memory: of each task and its DuckDB. spill: folder for DuckDB to spill to. timeout: of a row.

        spool: returns a file of a table in memory; without it, each shard is sent with its table. name: of the tasks in
        Ray's dashboard. places: nodes that hold the
        bytes of shards. board: the actor that tasks report to. retried: hears of a shard that runs again, and why.
        """
        self._board, self._retried = board, retried
        self._places = places
        self.name = name
        self._cluster, self._ray, self._wants = cluster, cluster.ray, wants
        text = to_json(program)
        self._program = self._ray.put(text)
        # Code of users is imported anew for each run, also by processes that an earlier one has used.
        run = os.urandom(8).hex() if program.code else ""
        self._limits: tasks.Limits = hashlib.sha256(f"{run}{text}".encode()).hexdigest(), memory, spill
        self._timeout, self._spool = timeout, spool
        self._around: tasks.Around = here(), cluster.requirements
        self._place = _Actors(self) if wants.stays else _Tasks(self)

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard. Raises the error of a task, or OperatorError for a shard whose process dies repeatedly."""
        self._wants.check(self._cluster.machines())
        looking = ThreadPoolExecutor(LOOKING)
        try:
            return self._run(
                [_Job(at, shard, looking.submit(facts_of, shard)) for at, shard in enumerate(shards)], task, report
            )
        finally:
            looking.shutdown(wait=False, cancel_futures=True)

    def _run(self, jobs: Sequence[_Job], task: Callable[[Shard], Task], report: Report | None) -> list[ShardResult]:
        waiting = deque(jobs)
        running: dict[Any, _Job] = {}
        results: dict[int, ShardResult] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self._place.room():
                    job = waiting.popleft()
                    texts = to_json(job.shard, self._spool), to_json(task(job.shard))
                    running[self._place.begin(job, *texts)] = job
                if stranded := self._place.take_back(running):
                    waiting.extendleft(stranded)
                    continue
                for reference in self._place.ended(running):
                    job = running.pop(reference)
                    result = self._result(job, reference)
                    if result is None:
                        self._note_retry(job)
                        waiting.appendleft(job)
                        continue
                    results[job.at] = result
                    if report:
                        report(result)
        except BaseException:
            self._place.stop(running)
            raise
        return [results[at] for at in range(len(jobs))]

    def close(self) -> None:
        """End the actors, and release the program."""
        self._place.close()
        self._program = None

    def _result(self, job: _Job, reference: Any) -> ShardResult | None:
        """The result of a task; None if its shard must run again."""
        try:
            answer = self._place.answer(reference)
        except self._ray.exceptions.OutOfMemoryError as error:  # of the machine: Ray has ended the task
            self._smaller(job, str(error))
            return None
        except (self._ray.exceptions.RayTaskError, self._ray.exceptions.TaskCancelledError) as error:
            raise known(error) from error  # an error in refinery itself has its traceback
        except (self._ray.exceptions.RayError, DispatcherLost) as error:
            self._once_more(job, error)
            return None
        try:
            return from_json(result_of(answer))
        except OutOfMemory as error:
            self._smaller(job, str(error))
            return None

    def _note_retry(self, job: _Job) -> None:
        if self._retried is not None:
            causes = {"processes died": job.crashes, "machines were lost": job.losses, "memory ran out": job.smaller}
            why = ", ".join(f"{cause} {count} times" for cause, count in causes.items() if count)
            self._retried(job.shard.index, why)

    def _smaller(self, job: _Job, reason: str) -> None:
        job.smaller += 1
        if job.smaller > _SMALLER:
            reason = (reason.splitlines() or [""])[0]
            cure = "Raise memory_limit where one is set, or give the machines more"
            raise OperatorError(f"{_name(job.shard)}: memory ran out, also for small batches: {reason}. {cure}")

    def _once_more(self, job: _Job, error: Exception) -> None:
        machine = self._ray.exceptions.NodeDiedError, self._ray.exceptions.ActorUnschedulableError
        gone = isinstance(error, (*machine, DispatcherLost))
        job.losses += gone
        job.crashes += not gone
        if job.crashes > _CRASHES or job.losses > _LOSSES:
            times = f"{job.crashes} times" if job.crashes > _CRASHES else f"with {job.losses} machines"
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise OperatorError(f"{_name(job.shard)}: the process that ran it died {times}: {reason}")

    def arguments(self, job: _Job, shard: str, task: str) -> tuple[Any, ...]:
        """Arguments for `tasks.run_shard`."""
        work = self._around, self._program, self._limits, shard, job.files.result(), task
        return *work, _DIVIDED**job.smaller, job.crashes > 0, self._timeout, self._board


class _Tasks:
    """Shards as tasks: Ray assigns each to an idle process, and processes keep their workers."""

    def __init__(self, runner: RayRunner) -> None:
        self._runner, self._ray = runner, runner._ray
        # Ray's own retries would neither use smaller batches nor know when to give up.
        self._hand = handing(runner._cluster, tasks.run_shard, 0)
        self._options = {"name": runner.name, **runner._wants.options()}
        self._nodes: dict[Any, str] = {}  # by reference: nodes that were chosen for shards

    def room(self) -> int:
        """Number of tasks that may be submitted at once: the next ones wait where they will run, unless few may run."""
        wants = self._runner._wants
        return wants.most or max(1, int(self._runner._cluster.cores() / min(1, wants.cores))) * AHEAD

    def begin(self, job: _Job, shard: str, task: str) -> Any:
        """Begin a task; return the reference to wait for."""
        places = self._runner._places
        node = places.take(job.shard) if places is not None and not job.losses else None
        options = self._options | ({} if node is None else _near(node))
        reference = self._hand.begin(self._runner.arguments(job, shard, task), options)
        if node is not None:
            self._nodes[reference] = node
        return reference

    def take_back(self, running: dict[Any, _Job]) -> list[_Job]:
        """Shards to be assigned anew: none, because Ray assigns tasks."""
        return []

    def ended(self, running: Iterable[Any]) -> list[Any]:
        """Wait for one task at least."""
        return self._hand.ended(running)

    def answer(self, reference: Any) -> Any:
        """The answer of a finished task."""
        node = self._nodes.pop(reference, None)
        if node is not None and self._runner._places is not None:
            self._runner._places.leave(node)
        return self._hand.answer(reference)

    def stop(self, running: dict[Any, _Job]) -> None:
        """Cancel the running tasks."""
        self._hand.stop(running)

    def close(self) -> None:
        """Do nothing, because the processes belong to Ray."""


def _near(node: str) -> dict[str, Any]:
    """Options of a task for a node; Ray takes another one if that node is gone."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=True)}


class _Actors:
    """Shards as calls of actors, one for each processor, which live as long as the stage."""

    def __init__(self, runner: RayRunner) -> None:
        self._runner, self._ray = runner, runner._ray
        self._make = self._ray.remote(max_restarts=0, max_task_retries=0)(Shards).options(**runner._wants.options())
        self._idle: list[Any] = []
        self._busy: dict[Any, Any] = {}
        self._starting: dict[Any, Any] = {}  # references that are there when an actor has a process

    def room(self) -> int:
        """Number of actors, one shard each, for which there are processors, GPUs and memory."""
        wants = self._runner._wants
        room = max(1, wants.room(self._runner._cluster.machines()))
        return min(room, wants.most or room)

    def begin(self, job: _Job, shard: str, task: str) -> Any:
        """Give a shard to an idle actor, or to a new one; return the reference to wait for."""
        new = not self._idle
        actor = self._make.remote() if new else self._idle.pop()
        started = actor.has_started.remote() if new else None
        reference = actor.run.options(name=self._runner.name).remote(*self._runner.arguments(job, shard, task))
        self._busy[reference] = actor
        if new:
            self._starting[reference] = started
        return reference

    def take_back(self, running: dict[Any, _Job]) -> list[_Job]:
        """Take shards from actors that have no process while another actor is idle, and end these actors.

        A machine that dies is counted for some seconds, so actors can be made for whose processes there is no room. Their
        calls would wait forever.
        """
        jobs = []
        for reference, started in list(self._starting.items()) if self._idle else ():
            there, _ = self._ray.wait([started], timeout=0)
            if not there and reference in running:
                self._ray.kill(self._busy.pop(reference))
                jobs.append(running.pop(reference))
            del self._starting[reference]
        return jobs

    def ended(self, running: Iterable[Any]) -> list[Any]:
        """Wait for one actor."""
        ready: list[Any] = self._ray.wait(list(running), num_returns=1)[0]
        return ready

    def answer(self, reference: Any) -> str:
        """The answer of an actor; an actor that has died gets no other shard."""
        actor = self._busy.pop(reference)
        self._starting.pop(reference, None)
        answer = self._ray.get(reference)
        self._idle.append(actor)
        return answer

    def stop(self, running: dict[Any, _Job]) -> None:
        """End all actors."""
        self.close()

    def close(self) -> None:
        """End all actors."""
        for actor in (*self._idle, *self._busy.values()):
            self._ray.kill(actor)
        self._idle, self._busy, self._starting = [], {}, {}


class Shards:
    """The actor: runs shards one after another, in its own process, which keeps the data that operators load."""

    def has_started(self) -> bool:
        """True as soon as the actor has a process."""
        return True

    def run(self, *arguments: Any) -> str:
        """See `tasks.run_shard`."""
        return tasks.run_shard(*arguments)


def _name(shard: Shard) -> str:
    place = f" from {shard.start}" if shard.start else ""
    return f"shard {shard.index} ({shard.source.path}{place})"
