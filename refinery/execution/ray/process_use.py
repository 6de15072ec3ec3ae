"""Use of a machine by a process of the cluster and its children."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from typing import Any

from refinery.monitoring.nodes import Report


class ProcessUse:
    """Counts what this process and its children use, from the start of the process on."""

    def __init__(self) -> None:
        self._sampler: Any = None
        self._lock = threading.Lock()

    def taken(self) -> Report:
        """Resident bytes, and the processor seconds and disk traffic since the last call."""
        with self._lock:
            before = self._begun() if self._sampler is None else 0.0
            whole = self._sampler.measure(False)[0]
            covered = self._sampler.elapsed
            traffic = {"read_bytes": whole.read, "written_bytes": whole.written}
            counted = {name: None if rate is None else rate * covered for name, rate in traffic.items()}
            return {
                "memory": whole.memory,
                "cpu_seconds": before + whole.cpu * covered,
                "covered": covered,
                **counted,
            }

    def _begun(self) -> float:
        """Begin to measure; returns the processor seconds until now."""
        import psutil

        from refinery.monitoring import sampling

        self._sampler = sampling.Sampler()
        times = psutil.Process().cpu_times()
        return float(times.user + times.system)


_use = ProcessUse()


def used(folder: str = "") -> Report:
    """Processor, memory and disk that this process and its children use; counts are those since the last call.

    folder: whose disk is measured; "" for none.
    """
    from refinery.monitoring import sampling

    gpu, gpu_memory = sampling.gpus() or (None, None)
    host = socket.gethostname()
    about = {
        "node": _node() or host,
        "host": host,
        "pid": os.getpid(),
        "disk_free": sampling.free(folder) if folder else None,
    }
    return about | _use.taken() | {"gpu": gpu, "gpu_memory": gpu_memory}


def _node() -> str:
    """Name of this machine in the cluster: its host, and the start of Ray's name for the node."""
    with suppress(Exception):
        import ray

        return f"{socket.gethostname()} {ray.get_runtime_context().get_node_id()[:8]}"
    return ""
