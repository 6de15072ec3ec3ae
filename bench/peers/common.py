"""Shared functions of the peers' scripts; only the standard library, since each script has its own environment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MB = 1_000_000
PERMUTATIONS = 256
WINDOW = 5


def texts(path: Path) -> Iterator[str]:
    """The `text` of each row of a JSONL file."""
    with path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def size(found: list[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in found)


def one_core() -> None:
    """Keep this process, and the thread pools that it will start, on one core if the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def best_of(work: Callable[[], object], repeats: int) -> dict[str, float]:
    """Least wall and least processor seconds (of all threads) of some calls, after one warm-up call."""
    work()
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"seconds": min(walls), "cpu_seconds": min(cpus)}


def report(**figures: Any) -> None:
    """Print the figures as the last line of a script."""
    print(json.dumps(figures), flush=True)
