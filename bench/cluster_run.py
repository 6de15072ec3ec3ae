"""One run of bench/cluster.py, in a process of its own: `python -m bench.cluster_run settings.json` prints its times as JSON.

The run gets some of the cluster's cores; a placement group holds the others meanwhile. Phases are timed where the driver waits for tasks.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# The phase of a task by the module of its function.
PHASES = {
    "joins": "joining",
    "candidates": "joining",
    "searches": "joining",
    "remembered": "joining",
    "clusters": "clusters",
    "roots": "clusters",
    "block_tables": "tables",
    "export": "export",
}
EMPTY = 500  # tasks that do nothing, to measure what handing out one costs


@dataclass
class Clock:
    """Seconds and tasks by phase. stages: seconds and shards of each stage. barrier: seconds of all deduplicators."""

    seconds: dict[str, float] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    stages: list[tuple[float, int]] = field(default_factory=list)
    barrier: float = 0.0

    def add(self, phase: str, seconds: float, tasks: int) -> None:
        """Count what the driver has waited for."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
        self.tasks[phase] = self.tasks.get(phase, 0) + tasks

    def watch(self) -> None:
        """Time all tasks of this process's runs."""
        from refinery.dedup import barrier
        from refinery.execution.ray import executor
        from refinery.execution.ray.runner import RayRunner

        every, run, find = executor.every, RayRunner.run, barrier.Barrier.find

        def timed_every(cluster: Any, work: Callable[..., str], calls: Any, *more: Any, **named: Any) -> list[str]:
            began = time.perf_counter()
            found = every(cluster, work, calls, *more, **named)
            module = work.__module__.rpartition(".")[2]
            self.add(PHASES.get(module, module), time.perf_counter() - began, len(calls))
            return found

        def timed_run(runner: Any, shards: Any, *more: Any) -> Any:
            began = time.perf_counter()
            found = run(runner, shards, *more)
            seconds = time.perf_counter() - began
            self.add("shards", seconds, len(shards))
            self.stages.append((seconds, len(shards)))
            return found

        def timed_find(self_: Any, given: Any) -> Any:
            began = time.perf_counter()
            found = find(self_, given)
            self.barrier += time.perf_counter() - began
            return found

        executor.every = timed_every
        RayRunner.run, barrier.Barrier.find = timed_run, timed_find  # type: ignore[method-assign]


def limited(ray: Any, cores: int) -> None:
    """Leave `cores` of the cluster's cores to this process, which then sees no others. Raises ValueError if there are fewer."""
    from ray.util.placement_group import placement_group

    from refinery.execution.ray import connection
    from refinery.planning.shard_cut import Capacity

    there = int(ray.cluster_resources().get("CPU", 0))
    if cores > there:
        raise ValueError(f"{cores} cores are asked for, and the cluster has {there}")
    if there > cores:
        ray.get(placement_group([{"CPU": 1}] * (there - cores), strategy="PACK").ready())
    nodes = len([node for node in ray.nodes() if node["Alive"]])
    connection.ClusterConnection.cores = lambda self: cores  # type: ignore[method-assign]
    connection._capacity = lambda ray: Capacity(cores, nodes)


def empty_task(ray: Any) -> float:
    """Seconds to hand out a task that does nothing and to receive its answer."""
    nothing = ray.remote(num_cpus=1)(lambda text: text)
    ray.get([nothing.remote("{}") for _ in range(50)])
    began = time.perf_counter()
    ray.get([nothing.remote("{}") for _ in range(EMPTY)])
    return (time.perf_counter() - began) / EMPTY


def peak() -> int:
    """Most memory of this process in bytes; the kernel's other figure may be that of the process that started it."""
    try:
        [line] = [
            line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith("VmHWM")
        ]
        return int(line.split()[1]) << 10
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(settings: dict[str, Any]) -> dict[str, Any]:
    """Run the recipe with the given cores; returns its times, rows, shards, and the driver's costs."""
    import ray

    import refinery

    ray.init(address=settings["address"], logging_level="ERROR", log_to_driver=False)
    try:
        limited(ray, settings["cores"])
        task, clock = empty_task(ray), Clock()
        clock.watch()
        began, busy = time.perf_counter(), time.process_time()
        found = refinery.run(settings["recipe"], **settings["keys"])
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        [(shards, size)] = found.sql("SELECT (SELECT count(*) FROM shards), bytes FROM runs").fetchall()
    finally:
        ray.shutdown()
    rows = {"read": found.counts.read, "kept": found.counts.kept}
    more = {"shards": shards, "bytes": int(size), "task": task, "driver_seconds": busy, "driver_memory": peak()}
    return {"cores": settings["cores"], "seconds": seconds, "rows": rows, **more, "phases": asdict(clock)}


if __name__ == "__main__":
    print(json.dumps(run(json.loads(Path(sys.argv[1]).read_text("utf-8")))))
