"""Where tasks run: the resources that they request from Ray and keep to, and the nodes that hold the bytes of their shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import OperatorError
from refinery.io.model import Shard
from refinery.io.python_data.spool import SpoolNote
from refinery.io.readers.registry import reader_of
from refinery.operators import Operator
from refinery.operators.resources import of_steps
from refinery.storage.locality import machines_of
from refinery.storage.workplace import Workplace


@dataclass(frozen=True)
class TaskResources:
    """Resources of a task. cores: processors. memory: bytes for DuckDB and the operators, 0: no limit given.

    gpus: as steps ask. stays: operators load something large, so their workers are actors that load it once. why: the
    step that needs the GPUs. why_memory: the step that takes memory. most: tasks at once, None for no limit.
    """

    cores: float = 1
    memory: int = 0
    gpus: float = 0
    stays: bool = False
    why: str = ""
    why_memory: str = ""
    most: int | None = None

    def options(self) -> dict[str, Any]:
        """Options for Ray's tasks and actors."""
        chosen: dict[str, Any] = {"num_cpus": self.cores, "num_gpus": self.gpus}
        return chosen | ({"memory": self.memory} if self.memory else {})

    def check(self, machines: Sequence[dict[str, float]]) -> None:
        """Raise OperatorError if no machine has the resources of a task: Ray would wait for one for ever."""
        for name, wanted in self._wanted():
            most = max((machine.get(name, 0) for machine in machines), default=0)
            if most < wanted:
                asks = f"{self.why} asks for" if name == "GPU" else self._asker(name)
                less = "lower its memory, or add a machine that has" if self.why_memory else None
                cure = less or "lower memory_limit, or raise np" if name == "memory" else "add a machine that has"
                what = f"{wanted:g} {'bytes of memory' if name == 'memory' else name}"
                raise OperatorError(f"{asks} {what}, and no machine of the Ray cluster has more than {most:g}; {cure}")
        if not self.room(machines):
            what = ", ".join(f"{wanted:g} {name}" for name, wanted in self._wanted() if wanted)
            raise OperatorError(f"no machine of the Ray cluster has together {what}, which a task asks for; add one")

    def room(self, machines: Sequence[dict[str, float]]) -> int:
        """Number of tasks that machines have room for at once, without regard to `most`."""
        wanted = [(name, amount) for name, amount in self._wanted() if amount]
        return sum(min(int(machine.get(name, 0) / amount + 1e-9) for name, amount in wanted) for machine in machines)

    def _wanted(self) -> list[tuple[str, float]]:
        return [("CPU", self.cores), ("GPU", self.gpus), ("memory", self.memory)]

    def _asker(self, name: str) -> str:
        return f"a task with {self.why_memory} asks for" if name == "memory" and self.why_memory else "a task asks for"


def of_stage(steps: Iterable[Any], operators: Mapping[str, Operator], memory: int) -> TaskResources:
    """Resources for the steps of a stage together. memory: bytes for each worker's DuckDB, 0: no limit given."""
    steps = list(steps)
    asked = of_steps(steps, operators)
    stays = asked.gpus > 0 or any(operators[step.name].loads(step.params) for step in steps)
    total = asked.memory + memory if asked.memory else memory
    return TaskResources(asked.cpus, total, asked.gpus, stays, asked.gpu_step, asked.memory_step, asked.workers)


class ShardPlaces:
    """Nodes of the cluster for shards of the input, by the storage's word; spooled files stay where they were written.

    A node gets no more shards than its processors take: others go wherever Ray sends them.
    """

    def __init__(self, nodes: Sequence[Mapping[str, Any]], work_dir: str, cores: float = 1, ahead: int = 1) -> None:
        """nodes: as `ray.nodes()` lists them. cores: of a task. ahead: tasks on a node for each that runs there."""
        self._nodes: dict[str, str] = {}
        self._room: dict[str, int] = {}
        for node in nodes:
            self._room[node["NodeID"]] = int(node["Resources"].get("CPU", 0) / cores) * ahead
            for name in (node["NodeID"], node.get("NodeManagerAddress"), node.get("NodeManagerHostname")):
                if node["Alive"] and name:
                    self._nodes.setdefault(name, node["NodeID"])
        place = Workplace.of(work_dir)
        parts = SpoolNote(place.own(), place.run_dir.spooled.name).read().values()
        self._spooled = {f"{place.input().url}/{part.name}": part.node for part in parts if part.node}

    def take(self, shard: Shard) -> str | None:
        """The best node for a shard that has room left, which is then taken; `leave` gives it back."""
        free_node = next((node for node in self.of(shard) if self._room.get(node, 0) > 0), None)
        if free_node is not None:
            self._room[free_node] -= 1
        return free_node

    def leave(self, node: str) -> None:
        """Give back the room of a shard that has ended."""
        self._room[node] += 1

    def of(self, shard: Shard) -> list[str]:
        """Nodes that hold bytes of a shard of the input, the best first; empty for a shard that reads results of a stage."""
        source = shard.source
        if source.table is not None or (shard.part is not None and shard.part.source is not None):
            return []
        if source.path in self._spooled:
            machines: Sequence[str] = [self._spooled[source.path]]
        else:
            start, end = (shard.start, shard.end) if reader_of(source).cut_anywhere else (0, -1)
            machines = machines_of(source.path, start, end)
        return [self._nodes[name] for name in machines if name in self._nodes]
