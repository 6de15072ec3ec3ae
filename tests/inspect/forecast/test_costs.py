"""Arithmetic of costs, on marks of known seconds: no time is measured here."""

from __future__ import annotations

import numpy as np
import pytest

from refinery.inspect.forecast.cluster import LINK, NODE, cluster_seconds, shards_on
from refinery.inspect.forecast.costs import (
    Load,
    RunCosts,
    StageCost,
    error_of,
    line_through,
    processor_seconds_of,
    wall_seconds_of,
)
from refinery.inspect.forecast.disk import results_bytes

STAGES = (StageCost(1, 0.3, 0.01, 25e-9, 0.05, 0.1, True), StageCost(2, 0.1, 0.01, 5e-9, 0.05))
COSTS = RunCosts(1.5, STAGES, 0.4, 10, False)
LARGE = Load([1e12, 0.9e12], [2e8, 1.8e8], 2e8, 60_000)


def test_a_byte_and_a_shard_have_their_seconds() -> None:
    sizes = np.array([1e6, 2e6, 4e6, 8e6])
    shard, byte, _ = line_through(sizes, 0.006 + sizes * 30e-9)
    assert byte == pytest.approx(30e-9, rel=0.03) and shard == pytest.approx(0.006, abs=0.002)


def test_shards_that_cost_nothing_leave_all_to_bytes() -> None:
    shard, byte, _ = line_through(np.array([1e6, 2e6]), np.array([0.0, 0.5]))
    assert shard == 0.0 and byte == pytest.approx(0.5 / 3e6)


def test_workers_share_what_grows_with_the_input() -> None:
    load = Load([1e9, 1e9], [1e5, 1e5], 1e5, 24)
    one, four = (wall_seconds_of(COSTS, load, workers) for workers in (1, 4))
    assert one == pytest.approx(processor_seconds_of(COSTS, load, 1))
    fixed = COSTS.fixed + 1e5 * 2e-6 + 1e5 * 10 * 0.4e-6
    assert four - fixed == pytest.approx((one - fixed) / (4 * 0.95))


def test_every_process_begins_by_itself() -> None:
    load = Load([1e9, 1e9], [1e5, 1e5], 1e5, 24)
    apart = RunCosts(1.5, STAGES, 0.4, 10, True)
    more = processor_seconds_of(apart, load, 4) - processor_seconds_of(COSTS, load, 4)
    assert more == pytest.approx(3 * (0.3 + 0.1))


def test_the_error_is_that_of_the_larger_stage() -> None:
    small, large = Load([1e3, 1e3], [10, 10], 10, 1), LARGE
    assert error_of(COSTS, small) == pytest.approx(0.1) and 0.12 < error_of(COSTS, large) < 0.2


def test_a_cluster_with_more_cores_is_faster_until_tasks_are_handed_out_too_slowly() -> None:
    def seconds(cores: int) -> float:
        load = Load(LARGE.sizes, LARGE.matched, LARGE.rows, shards_on(cores, 1e12, 128_000_000))
        return cluster_seconds(COSTS, load, cores, [1e12]).total

    found = [seconds(cores) for cores in (64, 160, 640, 2560)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 30_000 / 64  # no less than the work of the bytes
    assert found[2] - found[3] < found[0] - found[1]


def test_links_limit_several_nodes() -> None:
    load = Load(LARGE.sizes, LARGE.matched, LARGE.rows, 10_000)
    assert cluster_seconds(COSTS, load, NODE, [1e12]).moving == 0
    assert cluster_seconds(COSTS, load, 4 * NODE, [1e12, 1e12]).moving == pytest.approx(2e12 / (4 * LINK))


def test_shards_of_a_cluster_are_those_of_a_run() -> None:
    assert shards_on(640, 1e12, 128_000_000) == 7812
    assert shards_on(640, 1e9, 128_000_000) == 62
    assert shards_on(4, 1000, 128_000_000) == 1


def test_stored_results_are_a_line_through_those_of_shards() -> None:
    stored = {(1, shard): 500 + size // 10 for shard, size in enumerate((1000, 2000, 8000))}
    sizes = {0: 1000, 1: 2000, 2: 8000}
    assert results_bytes(stored, sizes, 1e6, 20) == pytest.approx(1e5 + 20 * 500)
    assert results_bytes({(1, 0): 100}, {0: 1000}, 1e6, 20) == pytest.approx(1e5)
