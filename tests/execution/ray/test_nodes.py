"""Clusters of one to sixteen nodes: the results are those of one machine, and all nodes take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import refinery
from tests.execution.ray.conftest import SMALL
from tests.execution.ray.gates import Gate, hold, until
from tests.execution.ray.runs import assert_same, in_partitions, in_parts, local, on_ray, samples
from tests.execution.ray.test_killed_drivers import command, of
from tests.execution.ray.test_lost_machines import STEPS, beside, nothing_is_left
from tests.runs import settings, write_lines
from tests.sampling import named
from tests.waiting import HANG

KEYS = {"shard_size": 3_000, "np": 2}


@pytest.mark.parametrize("nodes", named({"2": 2, "4": 4, "8": 8, "16": 16}, "4"))
def test_nodes_that_all_take_part(
    cluster: Any, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int
) -> None:
    """No shard is done before each node has one."""
    in_parts(monkeypatch)
    in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(300))
    gate = Gate(tmp_path / "gate", "shards")
    hold(monkeypatch, gate)
    more = [cluster.add_node(**SMALL) for _ in range(nodes - 2)]

    def meet() -> None:
        try:
            until(lambda: len(list(gate.folder.iterdir())) == nodes)
        finally:
            gate.open()

    try:
        cluster.wait_for_nodes(HANG)
        with beside(meet):
            other = on_ray(tmp_path, STEPS, **KEYS)
    finally:
        for node in more:
            cluster.remove_node(node)
    assert_same(local(tmp_path, STEPS, **KEYS), other)
    nothing_is_left(tmp_path / "ray")


@pytest.mark.long
def test_one_node(tmp_path: Path) -> None:
    """A cluster of its own, in a process of its own."""
    write_lines(tmp_path / "in.jsonl", samples(300))
    place, recipe = tmp_path / "ray", tmp_path / "recipe.yaml"
    keys = KEYS | {"executor_type": "ray", "ray_address": "local", "export_path": place / "kept"}
    recipe.write_text(yaml.safe_dump(settings(tmp_path, STEPS, work_dir=place, **keys)))
    ended = command("none", recipe)
    assert ended.returncode == 0, ended.stderr
    here = {"executor_type": "default", "work_dir": str(tmp_path / "local")}
    assert_same(refinery.run(str(recipe), export_path=str(tmp_path / "local" / "out.jsonl"), **here), of(place))
    nothing_is_left(place)
