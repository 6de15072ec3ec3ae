"""Resources that the tasks of a stage request from Ray, and keep to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import OperatorError
from refinery.operators import Operator


@dataclass(frozen=True)
class TaskResources:
    """Resources of a task. cores: threads of DuckDB. memory: bytes for DuckDB, 0: no limit given.

    gpus: as operators declare. stays: operators load something large, so their workers are actors that load it once.
    why: the operator that needs the GPUs.
    """

    cores: int = 1
    memory: int = 0
    gpus: float = 0
    stays: bool = False
    why: str = ""

    def options(self) -> dict[str, Any]:
        """Options for Ray's tasks and actors."""
        found: dict[str, Any] = {"num_cpus": self.cores, "num_gpus": self.gpus}
        return found | ({"memory": self.memory} if self.memory else {})

    def check(self, machines: Sequence[dict[str, float]]) -> None:
        """Raise OperatorError if no machine has the resources of a task: Ray would wait for one for ever."""
        have = ("CPU", self.cores), ("GPU", self.gpus), ("memory", self.memory)
        for name, wanted in have:
            most = max((machine.get(name, 0) for machine in machines), default=0)
            if most < wanted:
                asks = f"{self.why} asks for" if name == "GPU" else "a task asks for"
                cure = "lower memory_limit, or raise np" if name == "memory" else "add a machine that has"
                what = f"{wanted:g} {'bytes of memory' if name == 'memory' else name}"
                raise OperatorError(f"{asks} {what}, and no machine of the Ray cluster has more than {most:g}; {cure}")


def of_stage(steps: Iterable[Any], operators: Mapping[str, Operator], memory: int) -> TaskResources:
    """Resources for the steps of a stage together. memory: bytes for each worker, 0: no limit given."""
    gpus, why, stays = 0.0, "", False
    for step in steps:
        operator = operators[step.name]
        stays = stays or operator.loads(step.params)
        if float(operator.resources.get("num_gpus", 0)) > gpus:
            gpus, why = float(operator.resources["num_gpus"]), f"{step.where}: {operator.name}"
    return TaskResources(1, memory, gpus, stays or gpus > 0, why)
