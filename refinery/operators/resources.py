"""Resources that a step asks for: declared by its operator's header, or given in the recipe. They decide no result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from refinery.operators.model import Operator, Param

# Parameters of every step, besides those of its operator; Data-Juicer has the same names.
RESOURCE_PARAMS: dict[str, Param] = {
    "num_cpus": Param("num_cpus", "float", None, nullable=True, min=0.01, doc="Processors of a task on a cluster."),
    "num_gpus": Param("num_gpus", "float", None, nullable=True, min=0, doc="GPUs of a worker, also a part of one."),
    "memory": Param("memory", "size", None, nullable=True, min=0, doc="Memory that the operator takes in a worker."),
    "num_proc": Param("num_proc", "int", None, nullable=True, min=-1, doc="Most workers of the operator's stage."),
    "batch_size": Param("batch_size", "int", None, nullable=True, min=1, doc="Most samples of a call of the operator."),
}
# Data-Juicer's older names.
RESOURCE_ALIASES = {"cpu_required": "num_cpus", "gpu_required": "num_gpus", "mem_required": "memory"}


@dataclass(frozen=True)
class StepResources:
    """Resources of one step; None: not given. memory: bytes."""

    num_cpus: float | None = None
    num_gpus: float | None = None
    memory: int | None = None
    num_proc: int | None = None
    batch_size: int | None = None

    def described(self) -> str:
        """Text for plans: `num_gpus 0.5, batch_size 64`; "" if nothing is given."""
        values = ((name, getattr(self, name)) for name in RESOURCE_PARAMS)
        return ", ".join(
            f"{name} {value:g}" if name != "memory" else f"memory {value:,}" for name, value in values if value
        )


def resources_of(step: Any, operator: Operator) -> StepResources:
    """Resources of a step: the recipe's values, and the header's where the recipe gives none."""
    values = {name: operator.resources.get(name) for name in RESOURCE_PARAMS}
    values["num_gpus"] = _gpus(values["num_gpus"], step.params)
    values |= {name: value for name, value in getattr(step, "resources", {}).items() if value is not None}
    if values["num_proc"] is not None and values["num_proc"] < 1:  # -1 stands for as many as there is room for
        values["num_proc"] = None
    return StepResources(**values)


def needs_gpu(step: Any, operator: Operator) -> bool:
    """Return whether a step asks for a GPU, or a part of one."""
    return bool(resources_of(step, operator).num_gpus)


def without_effect(operator: Any, name: str) -> str:
    """The reason why a resource means nothing to an operator; "" if it does."""
    python = any(function.runs == "python" for function in getattr(operator, "functions", ()))
    if name == "batch_size" and not python:
        return "its SQL and kernels run on DuckDB's vectors"
    if name == "num_gpus" and not python and "num_gpus" not in getattr(operator, "resources", {}):
        return "its SQL and kernels run on processors"
    return ""


@dataclass(frozen=True)
class StageResources:
    """Resources of the steps of a stage together, which run in one process.

    cpus: processors of a task. gpus, memory: of a worker. workers: most of them, None for no limit. gpu_step,
    memory_step: the first step that asks, for messages.
    """

    cpus: float = 1
    gpus: float = 0
    memory: int = 0
    workers: int | None = None
    gpu_step: str = ""
    memory_step: str = ""

    def described(self) -> str:
        """Text for plans: `1 GPU and 2,000 MB a worker, at most 2 workers`; "" without any demand."""
        each = [f"{self.cpus:g} processor{'' if self.cpus == 1 else 's'}"] if self.cpus != 1 else []
        each += [f"{self.gpus:g} GPU{'' if self.gpus <= 1 else 's'}"] if self.gpus else []
        each += [f"{self.memory / 1e6:,.0f} MB"] if self.memory else []
        limits = [f"{' and '.join(each)} a worker"] if each else []
        limits += [f"at most {self.workers} worker{'' if self.workers == 1 else 's'}"] if self.workers else []
        return ", ".join(limits)


def of_steps(steps: Iterable[Any], operators: Mapping[str, Operator]) -> StageResources:
    """Resources of steps that run in one process: the most processors and GPUs, the least num_proc, all memory."""
    resources = [(step, resources_of(step, operators[step.name])) for step in steps]
    gpus = max((each.num_gpus or 0 for _, each in resources), default=0)
    limits = [each.num_proc for _, each in resources if each.num_proc is not None]
    return StageResources(
        cpus=max((each.num_cpus for _, each in resources if each.num_cpus is not None), default=1),
        gpus=gpus,
        memory=sum(each.memory or 0 for _, each in resources),
        workers=min(limits, default=None),
        gpu_step=next((_named(step) for step, each in resources if gpus and each.num_gpus == gpus), ""),
        memory_step=next((_named(step) for step, each in resources if each.memory), ""),
    )


def problem_with(name: str, value: Any) -> str:
    """The reason why a value of a resource is impossible, as half a sentence; "" if it is possible."""
    if name == "num_gpus" and isinstance(value, (int, float)) and value > 1 and value != int(value):
        return "must be a part of one GPU or a whole number of GPUs"
    return ""


def _named(step: Any) -> str:
    return f"{step.where}: {step.name}"


def _gpus(declared: Any, params: Mapping[str, Any]) -> float | None:
    """GPUs by a header: a number, or `{parameter: {value: number}}`."""
    if not isinstance(declared, dict):
        return declared
    return max((values.get(params.get(name), 0) for name, values in declared.items()), default=0)
