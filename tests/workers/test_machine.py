"""Cores and memory that a process may use: those of the machine, or of its cgroup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refinery.workers.machine import cores, memory, share_of_memory

GB = 1 << 30


CGROUP = "sys/fs/cgroup"


def machine(folder: Path, cgroup: str, **files: str) -> Path:
    """A root folder with /proc and /sys as files: the cgroups in /proc, and the contents of their folders."""
    found = {"proc/meminfo": f"MemTotal:       {64 * GB // 1024} kB\nMemFree: 5 kB\n", "proc/self/cgroup": cgroup}
    found |= {f"{CGROUP}/{name}": text for name, text in files.items()}
    for name, text in found.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


def test_a_machine_without_limits(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/\n")
    assert (cores(root), memory(root)) == (16, 64 * GB)
    assert share_of_memory(4, root) == 64 * GB * 3 // 5 // 4


def test_version_2_takes_the_tightest_limit_above(tmp_path: Path) -> None:
    files = {
        "slice/job/memory.max": "max\n",
        "slice/memory.max": f"{8 * GB}\n",
        "slice/job/cpu.max": "250000 100000\n",
        "slice/cpu.max": "max 100000\n",
    }
    root = machine(tmp_path, "0::/slice/job\n", **files)
    assert (cores(root), memory(root)) == (3, 8 * GB)


def test_version_1_and_paths_of_the_host(tmp_path: Path) -> None:
    files = {
        "memory/memory.limit_in_bytes": f"{2 * GB}\n",
        "cpu/cpu.cfs_quota_us": "50000\n",
        "cpu/cpu.cfs_period_us": "100000\n",
    }
    root = machine(tmp_path, "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n", **files)
    assert (cores(root), memory(root)) == (1, 2 * GB)


def test_version_1_without_limits(tmp_path: Path) -> None:
    files = {
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
        "cpu/cpu.cfs_quota_us": "-1\n",
        "cpu/cpu.cfs_period_us": "100000\n",
    }
    root = machine(tmp_path, "5:cpu:/\n4:memory:/\n", **files)
    assert (cores(root), memory(root)) == (16, 64 * GB)
