"""The audit of a run on a cluster is that of a run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.execution.ray.runs import local, on_ray
from tests.results.audit.test_parts import STEPS, mixed, tables
from tests.runs import write_lines


def test_on_a_cluster(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", mixed())
    keys = {"shard_size": 2_000, "np": 2, "audit": 20}
    one, other = (tables(make(tmp_path, STEPS, **keys)) for make in (local, on_ray))
    assert one == other and len({row[7] for row in one["audit"]}) >= 3  # paragraphs, sentences, passages
