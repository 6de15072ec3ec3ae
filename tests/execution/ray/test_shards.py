"""The cluster shapes the shards of a run, and shards go to the nodes that hold their bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refinery.execution.capacity import capacity_of
from refinery.execution.ray.scheduling import ShardPlaces
from refinery.io.model import Shard
from refinery.io.sources import find
from refinery.planning import shard_cut
from refinery.planning.shard_cut import Capacity
from refinery.storage import locality
from tests.execution.ray.runs import exported, local, on_ray, samples
from tests.runs import operator_folder, rows, settings, write_lines
from tests.waiting import HANG

STEPS: list[Any] = ["clean_email_mapper", "document_deduplicator"]
CLUSTER = ("ray", "auto", 64)


def test_the_size_is_that_of_the_cluster(cluster: Any, driver: Any) -> None:
    with capacity_of(*CLUSTER) as found:
        assert found == Capacity(2, 2)
    more = cluster.add_node(num_cpus=3, object_store_memory=80 << 20)
    try:
        cluster.wait_for_nodes(HANG)
        with capacity_of(*CLUSTER) as found:
            assert found == Capacity(5, 3)
    finally:
        cluster.remove_node(more)
    with capacity_of("default", "auto", 64) as found:
        assert found is None


def autoscaler(*groups: tuple[int, int], most: int | None = None) -> Any:
    """An autoscaler's report to Ray: most nodes of each kind (-1: no limit), and their cores."""
    from ray.core.generated.autoscaler_pb2 import ClusterConfig, NodeGroupConfig

    kinds = [NodeGroupConfig(resources={"CPU": cores}, max_count=nodes) for nodes, cores in groups]
    return ClusterConfig(node_group_configs=kinds, max_resources={} if most is None else {"CPU": most})


def test_a_cluster_that_grows_is_cut_for_as_it_may_become(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray is given the configuration that an autoscaler would report."""
    from ray._private.state import GlobalState

    write_lines(tmp_path / "in.jsonl", samples(400))
    monkeypatch.setattr(shard_cut, "_LEAST_ON_CLUSTER", 1000)
    reported = [autoscaler((1, 2), (10, 4)), autoscaler((1, 2), (10, 4), most=7), autoscaler((1, 1)), None]
    reported += [autoscaler((1, 2), (-1, 4)), autoscaler()]
    expected = [Capacity(42, 2, grows=True), Capacity(7, 2, grows=True), *[Capacity(2, 2)] * 4]
    for config, capacity in zip(reported, expected, strict=True):
        monkeypatch.setattr(GlobalState, "get_cluster_config", lambda self, config=config: config)
        with capacity_of(*CLUSTER) as found:
            assert found == capacity
    monkeypatch.setattr(GlobalState, "get_cluster_config", lambda self: autoscaler((2, 4)))
    run = on_ray(tmp_path, STEPS, "grown")
    assert 32 <= rows(run, "shards", "count(*)")[0][0] <= 64  # of eight cores, though two are there
    assert exported(run) == exported(local(tmp_path, STEPS))
    log = (tmp_path / "grown" / ".refinery" / "log" / "run.jsonl").read_text()
    assert "6 for each of 8 cores that the cluster's autoscaler may reach" in log


_PLAN = """
import json, sys
import ray
from refinery.execution.capacity import capacity_of
from refinery.execution.open import open_recipe

recipe = open_recipe(json.loads(sys.argv[1]))[0]
with capacity_of(recipe.executor_type, recipe.ray_address, recipe.np) as found:
    assert found is None and not ray.is_initialized()
"""


def test_a_cluster_that_does_not_answer_is_no_reason_to_stop_planning(tmp_path: Path) -> None:
    """In a process of its own, since the one of the tests may be a driver already."""
    write_lines(tmp_path / "in.jsonl", samples(5))
    keys: dict[str, Any] = {"executor_type": "ray", "ray_address": "127.0.0.1:9", "export_path": tmp_path / "kept"}
    recipe = json.dumps(settings(tmp_path, STEPS, **keys), default=str)
    subprocess.run([sys.executable, "-c", _PLAN, recipe], check=True)


def test_a_run_has_the_shards_of_its_cluster(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.jsonl", samples(400))
    monkeypatch.setattr(shard_cut, "_LEAST_ON_CLUSTER", 1000)
    one = local(tmp_path, STEPS)
    other = on_ray(tmp_path, STEPS, np=64)
    assert 8 <= rows(other, "shards", "count(*)")[0][0] <= 16  # of two cores
    assert exported(other) == exported(one)
    fixed = on_ray(tmp_path, STEPS, "fixed", override_num_blocks=7)
    assert rows(fixed, "shards", "count(*)") == [(7,)] and exported(fixed) == exported(one)
    log = (tmp_path / "ray" / ".refinery" / "log" / "run.jsonl").read_text()
    said = [
        line
        for line in map(json.loads, log.splitlines())
        if "for each of 2 cores of the cluster's 2 nodes" in str(line)
    ]
    assert len(said) == 1


def test_shards_go_where_their_bytes_are(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = """
        import os
        return os.environ["RAY_RAYLET_PID"]
    """
    operators = operator_folder(tmp_path / "own", "", where=where)
    nodes = [node["NodeID"] for node in driver.nodes() if node["Alive"]]
    assert len(nodes) == 2
    raylets = {node: raylet_of(driver, node) for node in nodes}
    for name in "ab":
        write_lines(tmp_path / "in" / f"{name}.jsonl", [{"id": name, "text": "x" * 2000}])
    for attempt, order in enumerate((nodes, nodes[::-1])):
        held = {str(tmp_path / "in" / f"{name}.jsonl"): node for name, node in zip("ab", order, strict=True)}
        monkeypatch.setitem(locality.LOCATORS, "", lambda path, start, end, held=held: [held[path]])
        keys = {"dataset_path": tmp_path / "in", "shard_size": 1000, "operators": [str(operators)]}
        run = on_ray(tmp_path, ["where_mapper"], f"run{attempt}", **keys)
        found = {sample["id"]: sample["text"] for sample in map(json.loads, exported(run).splitlines())}
        assert found == {name: raylets[node] for name, node in zip("ab", order, strict=True)}


def raylet_of(driver: Any, node: str) -> str:
    """The process of Ray that starts workers on a node: code of users runs in their children, which are no workers of Ray."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    strategy = NodeAffinitySchedulingStrategy(node, soft=False)
    pid: str = driver.get(driver.remote(os.getenv).options(scheduling_strategy=strategy).remote("RAY_RAYLET_PID"))
    return pid


def test_machines_are_known_by_name_address_or_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        {
            "NodeID": f"n{number}",
            "Alive": number < 3,
            "Resources": {"CPU": 2.0},
            "NodeManagerAddress": f"10.0.0.{number}",
            "NodeManagerHostname": f"h{number}",
        }
        for number in range(4)
    ]
    places = ShardPlaces(nodes, str(tmp_path / "run"))
    write_lines(tmp_path / "in.jsonl", samples(5))
    shard = Shard(0, tuple(find([tmp_path / "in.jsonl"])[0]), 10, 20)
    asked: list[Any] = []
    monkeypatch.setitem(
        locality.LOCATORS, "", lambda *given: asked.append(given) or ["elsewhere", "h2", "10.0.0.1", "h3", "n0"]
    )
    assert [places.take(shard) for _ in range(7)] == ["n2", "n2", "n1", "n1", "n0", "n0", None]
    places.leave("n1")
    assert places.take(shard) == "n1"
    asked.clear()
    assert places.of(shard) == ["n2", "n1", "n0"] and asked == [(str(tmp_path / "in.jsonl"), 10, 20)]
    monkeypatch.delitem(locality.LOCATORS, "")
    assert places.of(shard) == []
