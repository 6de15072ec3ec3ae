"""Processor time of handing out tasks on a Ray cluster: of whoever submits them, and of the driver for each shard.

    python -m bench.handing

`task`: of a process that submits tasks without work and takes their answers, the driver or a dispatcher, whichever takes longer. `group`: of the driver, for a group of 32 calls that a dispatcher
submits; `call`: for each further call of a group. `imports`: of a new process of the cluster. `shard`: of the driver's own thread for the parameters, the answer, log and progress of a shard, whose answer is there at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import refinery
from bench.markdown import table
from refinery.execution.ray import backend, handing
from refinery.execution.ray.connection import ClusterConnection
from refinery.workers.serialization import to_json
from refinery.workers.tasks import ShardResult


def measure(tasks: int = 3000, shards: int = 3000) -> dict[str, float]:
    """Seconds of a task, a group, a further call and a shard."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        cluster = ClusterConnection(ray, Path())
        by_driver = handing.ByDriver(ray, nothing, 0)
        task = min(_each(by_driver, tasks) for _ in range(2))
        chosen = _timed(cluster)
        by_others = handing.ByDispatchers(ray, chosen, nothing, 0)
        before = ray.get(chosen[0].used.remote())
        group = min(_each(by_others, tasks) for _ in range(3)) * handing.TOGETHER
        theirs = (ray.get(chosen[0].used.remote()) - before) / tasks / 3
        four = handing.ByDispatchers(ray, chosen, nothing, 0, 4 * handing.TOGETHER)
        larger = min(_each(four, tasks, 256) for _ in range(3)) * 4 * handing.TOGETHER
        call = max(0.0, larger - group) / (3 * handing.TOGETHER)
        shard = min(of_shard(shards) for _ in range(3))
        return {"task": max(task, theirs), "group": group, "call": call, "shard": shard}
    finally:
        ray.shutdown()


class _Timed(handing.Dispatcher):
    """A dispatcher that knows the processor time that it has used."""

    async def used(self) -> float:
        return time.process_time()


def _timed(cluster: ClusterConnection) -> list[Any]:
    """One dispatcher."""
    kept, handing.Dispatcher = handing.Dispatcher, _Timed  # type: ignore[misc]
    try:
        return handing.dispatchers(cluster)
    finally:
        handing.Dispatcher = kept  # type: ignore[misc]


def imports(times: int = 3) -> float:
    """Processor seconds that a new process takes to import what a shard needs."""
    names = "refinery.execution.ray.tasks, refinery.workers.worker, duckdb, numpy, pyarrow.parquet"
    code = f"import time; began = time.process_time(); import {names}; duckdb.connect(); print(time.process_time() - began)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(times))


def process(times: int = 3) -> float:
    """Processor seconds that a new process takes for Python and Ray, before anything of refinery."""
    return min(
        float(subprocess.check_output([sys.executable, "-c", "import time, ray; print(time.process_time())"]))
        for _ in range(times)
    )


def nothing(text: str) -> str:
    """A task without work."""
    return text


def _each(hand: handing.Handing, tasks: int, ahead: int = 64) -> float:
    """Processor seconds of this process for each task."""
    options, text = {"num_cpus": 0.5}, "x" * 600  # about what the parameters of a shard take
    running, left = set[Any](), tasks
    began = time.process_time()
    while left or running:
        while left and len(running) < ahead:
            running.add(hand.begin((text,), options))
            left -= 1
        for ticket in hand.ended(running):
            running.remove(ticket)
            hand.answer(ticket)
    return (time.process_time() - began) / tasks


class _Measured(Exception):
    """The shards of the first stage are done."""


class _AtOnce:
    """In place of the tasks of a cluster: each shard has ended when somebody asks."""

    def __init__(self) -> None:
        self._shards: dict[int, int] = {}

    def room(self) -> int:
        return 1000

    def begin(self, job: Any, shard: str, task: str) -> int:
        self._shards[job.at] = job.shard.index
        return int(job.at)

    def take_back(self, running: Any) -> list[Any]:
        return []

    def ended(self, running: Iterable[int]) -> list[int]:
        return list(running)

    def answer(self, ticket: int) -> str:
        result = ShardResult(self._shards[ticket], 10, 10, 10, bytes=5000, facts="stage_1/00000.facts.parquet")
        return json.dumps({"ok": to_json(result)})

    def close(self) -> None: ...

    def stop(self, running: Any) -> None: ...


def of_shard(shards: int) -> float:
    """Seconds of the driver's thread for each shard of a stage."""
    found: list[float] = []

    class Runner(backend.RayRunner):
        def run(self, shards: Any, *rest: Any) -> Any:
            self._place = _AtOnce()  # type: ignore[assignment]
            began = time.thread_time()
            super().run(shards, *rest)
            found.append((time.thread_time() - began) / len(shards))
            raise _Measured

    kept, backend.RayRunner = backend.RayRunner, Runner  # type: ignore[misc]
    try:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            line = json.dumps({"text": "some words " * 20})
            (folder / "in.jsonl").write_text(f"{line}\n" * 10 * shards)
            recipe = {"dataset_path": str(folder / "in.jsonl"), "export_path": str(folder / "kept"), "np": 2}
            recipe |= {"executor_type": "ray", "override_num_blocks": shards, "work_dir": str(folder / "run")}
            try:
                refinery.run(recipe | {"process": [{"text_length_filter": {"min_len": 1}}]})
            except _Measured:
                pass
    finally:
        backend.RayRunner = kept  # type: ignore[misc]
    return found[0]


def main() -> int:
    found = measure() | {"imports": imports()}
    print(*table(("of", "ms"), [[name, f"{seconds * 1e3:.3f}"] for name, seconds in found.items()]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
