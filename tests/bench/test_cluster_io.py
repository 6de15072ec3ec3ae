"""The arithmetic of what storage adds: bytes and requests by the plan of the tasks, links and rates as limits."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.cluster_io import Storage, Traffic, of_cores, traffic, with_storage
from bench.cluster_model import Cluster, Costs, simulate
from bench.scale import KEPT, SHARDS, crowd_of
from refinery.storage import object_stream
from tests.bench.test_cluster_model import COSTS

KNOWN = json.loads(KEPT.read_text("utf-8"))
MEASURED = Costs(**KNOWN["costs"] | {"shards": tuple(map(tuple, KNOWN["costs"]["shards"]))})
FREE = Storage(None, None)


def test_a_terabyte_asks_storage_less_than_half_a_million_times() -> None:
    """640 tasks that read 640 files each, sixteen times, would ask more than six million times."""
    asked = traffic(MEASURED, 1e12, Cluster(640, SHARDS))["barrier"]
    assert asked.gets < 500_000
    assert asked.seconds(Cluster(640), Storage()) == pytest.approx(max(asked.gets / 5500, asked.puts / 3500))


def test_requests_grow_by_less_than_the_square_of_the_cores() -> None:
    few, many = (traffic(MEASURED, 5e12, Cluster(cores, SHARDS))["barrier"].gets for cores in (640, 1280))
    assert many < 3 * few


def test_links_are_shared_by_the_cores_of_a_node() -> None:
    phase = Traffic(read=2e9, written=1e9)
    assert phase.seconds(Cluster(320, link=1e9), FREE) == pytest.approx(1.0)
    assert phase.seconds(Cluster(1280, link=1e9), FREE) == pytest.approx(0.25)
    assert phase.seconds(Cluster(160, link=1e9), FREE) == 0  # one machine has its own disk


def test_the_slower_of_links_and_requests_counts() -> None:
    phase = Traffic(read=2e9, gets=55_000, puts=3_500)
    assert phase.seconds(Cluster(320, link=1e9), Storage()) == pytest.approx(10.0)
    assert phase.seconds(Cluster(320, link=1e9), Storage(1e9, 500)) == pytest.approx(7.0)


def test_input_is_read_twice_and_copied_once() -> None:
    asked = traffic(COSTS, 1e12, Cluster(640, SHARDS))
    assert asked["shards"].read + asked["export"].read == 3e12
    assert asked["shards"].written + asked["export"].written == 2e12


def test_storage_adds_to_the_time_of_cores() -> None:
    cluster = Cluster(640, SHARDS)
    links, objects = (with_storage(MEASURED, 1e12, cluster, one) for one in (FREE, Storage()))
    assert links.cores == objects.cores == of_cores(simulate(MEASURED, 1e12, cluster))
    assert links.cores < links.total < objects.total
    assert links.total == pytest.approx(links.cores + sum(links.added.values()))


def test_a_full_machine_and_the_start_of_processes_cost_time() -> None:
    costs, cluster = replace(MEASURED, crowd=1.0, process=0.0), Cluster(640, SHARDS)
    plain = simulate(costs, 1e12, cluster)
    crowded = simulate(replace(costs, crowd=1.5), 1e12, cluster)
    assert (
        crowded.shards > 1.4 * plain.shards and crowded.tables > 1.3 * plain.tables and crowded.barrier > plain.barrier
    )
    assert simulate(replace(costs, process=2.0), 1e12, cluster).shards == pytest.approx(plain.shards + 2.0, rel=0.05)


def test_how_much_slower_a_core_is_beside_another_comes_from_both_slopes() -> None:
    seconds = {(1, 1): 3.0, (16, 1): 18.0, (1, 2): 2.0, (16, 2): 11.0}
    runs = [{"factor": factor, "workers": workers, "seconds": spent} for (factor, workers), spent in seconds.items()]
    assert crowd_of(runs) == pytest.approx(2 * 9 / 15)
    assert MEASURED.crowd == pytest.approx(crowd_of(KNOWN["runs"]), rel=1e-3)


def test_blocks_are_those_of_streams() -> None:
    from bench import cluster_io

    assert cluster_io.BLOCK == object_stream.MOST
