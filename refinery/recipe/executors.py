"""Registry of executors: the values of `executor_type`, each with its backend and what the rest must know of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Executor:
    """An executor.

    backend: `module:class` of its backend, imported when a run begins. cluster: shards may run on other machines, and
    each writes a part of its own, so that the export is a folder. package: a Python package that the backend needs.
    capacity: `module:function` that joins the cluster and returns its size, see `execution.capacity`. profiles: the one that
    looks at fields of shards there, see `planning.input_schema`.
    """

    backend: str
    cluster: bool = False
    package: str | None = None
    capacity: str = ""
    profiles: str = ""


DEFAULT_EXECUTOR = "default"
_RAY = Executor(
    "refinery.execution.ray.backend:RayBackend",
    cluster=True,
    package="ray",
    capacity="refinery.execution.ray.connection:measured",
    profiles="refinery.execution.ray.field_scans:profiles",
)
EXECUTORS = {
    DEFAULT_EXECUTOR: Executor("refinery.execution.local_backend:LocalBackend"),
    "ray": _RAY,
    "ray_partitioned": _RAY,
}


def on_cluster(executor_type: str) -> bool:
    """Return whether an executor uses a cluster; True for an unknown one, as it may."""
    return executor_type not in EXECUTORS or EXECUTORS[executor_type].cluster
