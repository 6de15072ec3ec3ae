"""The arithmetic of larger clusters: nothing gets lost, and what cannot be spread is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import cluster_model
from bench.cluster_model import Cluster, Costs, handed, makespan, simulate
from refinery.dedup import barrier, clustering, exchange
from refinery.execution import table_maker
from refinery.execution.ray import handing
from refinery.results import stat_summary

COSTS = Costs(
    start=1.0,
    begin=0.0,
    shards=((100, 2.0, 0.5), (100, 4.0, 0.5)),
    rows_per_byte=0.01,
    moved=1500.0,
    bands=25,
    tasks=dict.fromkeys(
        ("look", "divide", "equal", "gather", "star", "reply", "spread", "settle", "remove", "describe", "in_order"),
        1e-6,
    ),
    apart=0.1,
    rounds=3,
    part=0.0,
    tables={"piece": 0.0, "make_parts": 1.5e-6, "count_clusters": 1e-7, "make_clusters": 2e-7, "sum_up": 2e-7},
    driver=1e-8,
    piece=0.0,
    shard=0.0,
    task=0.0,
    group=0.0,
    call=0.0,
)
TIMES = st.lists(st.floats(0.001, 100), min_size=1, max_size=60)


@given(TIMES, st.integers(1, 80))
def test_tasks_end_between_the_two_bounds_of_list_scheduling(times: list[float], workers: int) -> None:
    """Graham (1969): at least the mean load and the longest task, at most their sum."""
    found = makespan(times, workers)
    assert found >= max(max(times), sum(times) / workers) * (1 - 1e-9)
    assert found <= (max(times) + sum(times) / workers) * (1 + 1e-9)


@given(TIMES)
def test_one_worker_does_all_and_enough_workers_the_longest(times: list[float]) -> None:
    assert makespan(times, 1) == pytest.approx(sum(times))
    assert makespan(times, len(times)) == pytest.approx(max(times))


def test_the_driver_hands_out_one_task_at_a_time() -> None:
    assert makespan([1.0] * 100, 100, overhead=0.5) == pytest.approx(51.0)


def test_one_worker_takes_what_was_measured() -> None:
    found = simulate(COSTS, 400, Cluster(1))
    assert found.shards == pytest.approx(2 + 4 + 2 + 4 + 4 * 0.5)
    assert found.barrier == pytest.approx(4 * 11e-6)
    assert found.tables == pytest.approx(4 * 2e-6)
    assert found.driver == pytest.approx(4 * 1e-8)
    assert found.moving == 0  # there is no other node
    assert found.total == pytest.approx(found.start + found.shards + found.barrier + found.tables + found.driver)


def test_more_nodes_move_marks_and_the_driver_stays_as_slow() -> None:
    size, costs = 1e12, replace(COSTS, shards=((10**8, 2.0, 0.5),))  # ten thousand shards
    few, many = simulate(costs, size, Cluster(160)), simulate(costs, size, Cluster(1280))
    assert few.moving == 0 < many.moving
    assert many.driver == few.driver
    assert many.barrier < few.barrier and many.tables < few.tables / 4
    slower = simulate(replace(COSTS, shard=1.0), 1e5, Cluster(1280))
    assert slower.shards >= 1000  # as many tasks as shards, one a second


def test_dispatchers_share_what_a_task_costs_to_hand_out() -> None:
    costs = replace(COSTS, task=1e-3, group=1e-3, call=1e-5)
    assert handed(costs, handing.MANY - 1) == 1e-3
    assert handed(costs, 128) == pytest.approx(1e-3 / 2)
    calls = handing.together(6400)
    assert calls > 2 * handing.TOGETHER and handing.together(128) == handing.TOGETHER
    assert handed(costs, 6400) == pytest.approx((1e-3 + (calls - handing.TOGETHER) * 1e-5) / calls)


def test_each_process_begins_once() -> None:
    assert makespan([1.0] * 12, 4, begin=0.5) == pytest.approx(3.5)


def test_tables_are_cut_for_the_cores() -> None:
    """Tasks of tables are twice the cores, of whole shards, and neither small nor larger than a block."""
    assert cluster_model.piece_tasks(2**30, 640, 20_000) == pytest.approx(1280, rel=0.1)
    assert cluster_model.piece_tasks(2**20, 640, 100) == 14  # of seven shards each
    assert cluster_model.piece_tasks(2**30, 1, 2**10) == 2**10
    costs = replace(COSTS, tables={**COSTS.tables, "piece": 1.0})
    few, many = (simulate(one, 400, Cluster(1)) for one in (COSTS, costs))
    assert many.tables - few.tables == pytest.approx(1.0)


def test_parts_of_files_grow_with_the_tasks() -> None:
    costs = replace(COSTS, part=1e-4, shards=((10**8, 2.0, 0.5),))
    few, many = simulate(costs, 1e12, Cluster(640)), simulate(costs, 1e12, Cluster(1280))
    assert many.barrier > few.barrier / 2


def test_the_model_cuts_as_a_run_does() -> None:
    cut = (barrier._TOGETHER, barrier._DIVIDED, barrier._LOOKS, clustering._EACH, exchange._FEW)
    assert (
        cluster_model.TOGETHER,
        cluster_model.DIVIDED,
        cluster_model.LOOKS,
        cluster_model.STARS,
        cluster_model.FEW,
    ) == cut
    ways = (handing.MANY, handing.EACH, handing.TOGETHER, handing.CALLS)
    assert (cluster_model.MANY, cluster_model.EACH, cluster_model.GROUP, cluster_model.CALLS) == ways
    tables = (stat_summary.BLOCK, table_maker.LEAST, table_maker.EACH)
    assert (cluster_model.BLOCK, cluster_model.LEAST, cluster_model.PIECES) == tables
