"""Cores and memory that this process may use: those of the machine, or the smaller limits of a container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def cores(root: Path = _ROOT) -> int:
    """Cores that this process may use: its CPU affinity, or the CPU quota of its cgroup."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [quota / period for quota, period in _quotas(root) if quota > 0 and period > 0]
    return max(1, min([count, *(-int(-share // 1) for share in quotas)]))


def memory(root: Path = _ROOT) -> int:
    """Bytes of memory that this process may use: the machine's memory, or the limit of its cgroup."""
    limits = [limit for limit in _limits(root) if limit > 0]
    return min([_physical(root), *limits])


def share_of_memory(workers: int, root: Path = _ROOT) -> int:
    """Bytes for the data of each of `workers` processes: three fifths in total, the rest is for everything else."""
    return memory(root) * 3 // 5 // max(1, workers)


def gpus(root: Path = _ROOT) -> int:
    """NVIDIA GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, or all that the driver lists."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return sum(1 for name in named.split(",") if name.strip() not in ("", "-1"))
    try:
        return sum(1 for _ in (root / "proc" / "driver" / "nvidia" / "gpus").iterdir())
    except OSError:
        return 0


def out_of_memory_kills(root: Path = _ROOT) -> int:
    """Number of processes that the kernel killed for want of memory, in this cgroup or in all; 0 if unknown."""
    own = [line for folder in _folders(root, "") for line in _lines(folder / "memory.events")]
    for line in (*own, *_lines(root / "proc" / "vmstat")):
        if line.startswith("oom_kill "):
            return _number(line.split()[1])
    return 0


def _physical(root: Path) -> int:
    for line in _lines(root / "proc" / "meminfo"):
        if line.startswith("MemTotal:"):
            return _number(line.split()[1]) * 1024
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


def _limits(root: Path) -> Iterator[int]:
    """Memory limits of the process's cgroup and of all cgroups above it; 0 for no limit."""
    for folder in _folders(root, ""):
        yield _number(_text(folder / "memory.max"))
    for folder in _folders(root, "memory"):
        yield _number(_text(folder / "memory.limit_in_bytes"))


def _quotas(root: Path) -> Iterator[tuple[int, int]]:
    """Pairs of CPU quota and period in microseconds; quota 0 for no limit."""
    for folder in _folders(root, ""):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        yield _number(quota), _number(period)
    for folder in _folders(root, "cpu"):
        yield _number(_text(folder / "cpu.cfs_quota_us")), _number(_text(folder / "cpu.cfs_period_us"))


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of the cgroups of this process, from its own upwards. controller: of version 1, empty for version 2.

    In a container the path may be the host's path: then only the top folder exists, and it is the container's.
    """
    for line in _lines(root / "proc" / "self" / "cgroup"):
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controller not in controllers.split(","):
            continue
        top = root / "sys" / "fs" / "cgroup" / controller
        inside = top / path.strip("/")
        yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(top))


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
