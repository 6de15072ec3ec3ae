"""Resources that the tasks of a stage request from Ray, and keep to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import OperatorError
from refinery.operators import Operator
from refinery.operators.resources import of_steps


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
