"""Tasks of a cluster look at the fields of a large input: types and kept rows are those of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.planning import input_schema
from tests.execution.ray.runs import exported, local, on_ray
from tests.runs import write_lines


def test_types_are_those_of_one_machine(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Any] = [*range(40), 0.4, "x", 2**53 + 1, {"a": None}, None, 2**70]
    write_lines(tmp_path / "in.jsonl", [{"text": f"text {at}", "v": value} for at, value in enumerate(values)])
    steps = [{"sql_filter": {"where": "v = 0 OR v = 'x' OR v IS NULL OR v = 9007199254740993"}}]
    monkeypatch.setattr(input_schema, "FAR", 0)
    here = local(tmp_path, steps, shard_size=300)
    monkeypatch.setattr(input_schema, "profile_of", lambda *_, **__: pytest.fail("the driver looks"))
    there = on_ray(tmp_path, steps, shard_size=300)
    assert exported(here) == exported(there)
    assert here.counts == there.counts and here.counts.kept == 4
