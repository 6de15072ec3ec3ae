"""Recipes that run here and on a cluster, and what the two have left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from refinery.dedup import barrier, clustering, exchange
from refinery.execution import table_maker
from refinery.execution.ray.executor import RayExecutor
from refinery.results import stat_summary
from refinery.storage.drivers import located
from tests.runs import content, settings

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau".split()


def text_of(number: int, words: int = 30) -> str:
    """A text that is like few others."""
    state, found = number * 2654435761 % 2**32, []
    for _ in range(words):
        state = (state * 1664525 + 1013904223) % 2**32
        found.append(f"{WORDS[(state >> 16) % len(WORDS)]}{(state >> 8) % 7}")
    return " ".join(found)


def samples(count: int) -> list[Any]:
    """Documents with copies, near copies, repeated lines, short ones, addresses, and lines that are no samples."""
    found: list[Any] = []
    for number in range(count):
        text = text_of(number - number % 10 if number % 10 == 3 else number)
        if number % 10 == 4:
            text = text_of(number - 1).replace("alpha", "omega", 1) + " end"
        if number % 7 == 0:
            text += "\nshare this page\n" + f"mail me{number}@example.org or http://example.org/{number}"
        if number % 11 == 0:
            text = text[:40]
        found.append({"id": number, "text": text, "meta": {"source": number % 3}})
        if number % 50 == 9:
            found.append('{"id": 1, "text": ')
    return found


def in_parts(patch: pytest.MonkeyPatch, size: int = 40) -> None:
    """Have tasks of the cluster make tables of any size as parts, of `size` samples each."""
    patch.setattr(table_maker, "ON_CLUSTER", -1)
    patch.setattr(table_maker, "SIZE", size)
    patch.setattr(stat_summary, "BLOCK", size)


def in_partitions(patch: pytest.MonkeyPatch) -> None:
    """Have tasks of the cluster make clusters of few samples by many partitions."""
    patch.setattr(RayExecutor, "worth", 20)
    patch.setattr(barrier, "_TOGETHER", 20)
    patch.setattr(exchange, "_FEW", 4)
    patch.setattr(clustering, "_FEW", 1)
    patch.setattr(clustering, "_EACH", 1)


def local(folder: Path, steps: Sequence[Any], name: str = "local", **keys: Any) -> Run:
    """The run on this machine, in `folder/<name>`."""
    place = folder / name
    return refinery.run(settings(folder, steps, export_path=place / "out.jsonl", work_dir=place, **keys))


def on_ray(folder: Path, steps: Sequence[Any], name: str = "ray", **keys: Any) -> Run:
    """The run on the cluster that this process is a driver of, in `folder/<name>`."""
    place = folder / name
    keys = {"export_path": place / "kept", "executor_type": "ray", "work_dir": place} | keys
    return refinery.run(settings(folder, steps, **keys))


def exported(run: Run) -> bytes:
    """All exported lines, the files read in the order of their names."""
    return b"".join(_bytes(path) for path in sorted(map(str, run.outputs)))


def _bytes(path: str) -> bytes:
    if "://" not in path:
        return Path(path).read_bytes()
    fs, name = located(path)
    return bytes(fs.cat_file(name))


def assert_same(one: Run, other: Run, *without: str) -> None:
    """All tables, the export and the traces are equal."""
    a, b = content(one, *without), content(other, *without)
    for table in a:
        assert a[table] == b[table], table
    assert exported(one) == exported(other)
    assert traces(one) == traces(other)


def traces(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.database.parent / "trace").glob("*"))}
