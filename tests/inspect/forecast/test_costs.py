"""Arithmetic of costs, on marks of known seconds: no time is measured here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refinery.inspect.forecast import laws
from refinery.inspect.forecast.cluster import CROWD, LINK, NODE, cluster_seconds, shards_on
from refinery.inspect.forecast.costs import (
    PER_SHARD,
    Load,
    RunCosts,
    StageCost,
    audit_law,
    error_of,
    processor_seconds_of,
    wall_seconds_of,
)
from refinery.inspect.forecast.disk import results_bytes
from refinery.inspect.forecast.laws import AFTER, Law, Mark, Prior, TimedPart, law_of, parts_of

STAGES = (
    StageCost(1, Law(0.3, 0.3, 25e-9, 2.0, 1e-9), Law(0.1, 0.1, 2e-6, 1.0, 1e-7)),
    StageCost(2, Law(0.1, 0.1, 5e-9, 2.0, 1e-9)),
)
COSTS = RunCosts(1.5, 1.5, STAGES, Law(0.4, 0.4, 4e-6), 10)
LARGE = Load([1e12, 0.9e12], [2e8, 1.8e8], 2e8, 60_000)
VAGUE = Prior(0.0, 1e3)


def timed(seconds: float, shards: int = 0, side: float = 1.0) -> TimedPart:
    return TimedPart(seconds, seconds / side, side, shards)


def test_the_difference_of_two_runs_is_that_of_their_input() -> None:
    law = law_of(timed(0.9), timed(0.4), timed(1.0), (1e6, 4e6), VAGUE)
    assert law.unit == pytest.approx(0.6 / 3e6)
    assert law.processor(1e6) == pytest.approx(0.9)  # the fixed costs are those of the cold run
    assert law.processor(1e9) == pytest.approx(0.7 + 200.0)


def test_shards_have_seconds_of_their_own() -> None:
    parts = timed(0.5, 2, 2.0), timed(0.3, 2, 2.0), timed(0.96, 8, 2.0)
    law = law_of(*parts, (1e6, 4e6), VAGUE, Prior(0.01, 0.001))
    assert law.unit == pytest.approx(0.6 / 3e6, rel=0.01)
    assert law.fixed == pytest.approx(0.5 - 0.2 - 0.02, rel=0.01) and law.wall == pytest.approx(0.25 - 0.11, rel=0.01)


def test_cores_at_work_are_those_of_what_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "cores", lambda: 2)
    small, large = TimedPart(0.4, 0.4, 1.0), TimedPart(1.3, 1.0, 1.3)
    assert law_of(small, small, large, (10, 40), VAGUE).side == pytest.approx(0.9 / 0.6)
    assert law_of(small, small, replace(large, wall=0.5), (10, 40), VAGUE).side == 2.0
    assert law_of(small, small, replace(large, processor=0.41), (10, 40), VAGUE).side == 1.3


def test_what_is_noise_is_what_was_known_before() -> None:
    law = law_of(timed(0.05), timed(0.05), timed(0.04), (10, 20), Prior(2e-6, 1e-6))
    assert law.unit == pytest.approx(2e-6, rel=0.01) and law.error == pytest.approx(1e-6, rel=0.01)


def test_parts_are_between_marks_and_workers_are_busy_until_one_has_nothing_left() -> None:
    marks = [Mark(0, "start", 0.0, 0.0), Mark(1, "shards", 0.5, 1.0)]
    marks += [Mark(1, "shard", 0.5 + 2 * n, 1.0 + n, n) for n in (1, 2, 3)] + [Mark(1, "shard", 7.0, 4.5, 4)]
    parts = parts_of([*marks, Mark(*AFTER, 7.0, 4.5), Mark(0, "end", 7.5, 5.5)], 2)
    assert parts[0, "start"].processor == 0.5 and parts[0, "start"].wall == 1.0
    assert parts[1, "shards"] == TimedPart(6.5, 3.5, 2.0, 4)
    assert parts[AFTER].processor == 0.5 and parts[AFTER].side == 0.5


def test_workers_share_what_grows_with_the_input() -> None:
    load = Load([1e9, 1e9], [1e5, 1e5], 1e5, 24, 5e4)
    shared = 30e-9 * 1e9 + 2 * 24 * PER_SHARD
    rest = COSTS.fixed + 1e5 * 2e-6 + 1.5e5 * 4e-6
    assert processor_seconds_of(COSTS, load) == pytest.approx(rest + shared)
    assert wall_seconds_of(COSTS, load) == pytest.approx(rest + shared / 2)


def test_groups_that_are_decompressed_again_have_their_seconds() -> None:
    load = Load([1e9, 1e9], [1e5, 1e5], 1e5, 24)
    again = replace(COSTS, stages=(replace(STAGES[0], again=7.0), STAGES[1]))
    assert processor_seconds_of(again, load) - processor_seconds_of(COSTS, load) == pytest.approx(7.0)
    assert wall_seconds_of(again, load) - wall_seconds_of(COSTS, load) == pytest.approx(3.5)


def test_an_audit_has_its_seconds() -> None:
    load = Load([1e9, 1e9], [1e5, 1e5], 1e5, 24)
    costs, more = replace(COSTS, audit=Law(0.5, 0.4, 1e-3, 2.0)), replace(load, audited=1000, reread=3.0)
    assert processor_seconds_of(costs, more) - processor_seconds_of(COSTS, load) == pytest.approx(0.5 + 1 + 3)
    assert wall_seconds_of(costs, more) - wall_seconds_of(COSTS, load) == pytest.approx(0.4 + 0.5 + 1.5)


def test_the_reading_of_an_audit_is_not_a_cost_of_its_samples() -> None:
    small, large = (Load([], [], 0, 1, audited=audited, reread=read) for audited, read in ((100, 0.1), (400, 0.8)))
    law = audit_law((timed(0.5), timed(0.3), timed(1.3)), small, large)
    assert law.unit == pytest.approx((0.5 - 0.2) / 300, rel=0.2) and law.fixed == pytest.approx(0.3, abs=0.05)


def test_the_error_is_that_of_the_larger_stage() -> None:
    small, large = Load([1e3, 1e3], [10, 10], 10, 1), LARGE
    assert error_of(COSTS, small) == pytest.approx(0.1) and 0.12 < error_of(COSTS, large) < 0.2


def test_a_cluster_with_more_cores_is_faster_until_tasks_are_handed_out_too_slowly() -> None:
    def seconds(cores: int) -> float:
        load = Load(LARGE.sizes, LARGE.matched, LARGE.rows, shards_on(cores, 1e12, 128_000_000))
        return cluster_seconds(COSTS, load, cores, [1e12]).total

    found = [seconds(cores) for cores in (1, 64, 160, 161, 640, 641, 2560)]
    assert found == sorted(found, reverse=True)
    assert found[1] > 30_000 / 64  # no less than the work of the bytes
    assert found[4] - found[6] < found[1] - found[2]


def test_a_cluster_takes_what_the_deduplicator_of_the_sample_took() -> None:
    def barriers(costs: RunCosts, cores: int) -> float:
        return cluster_seconds(costs, replace(LARGE, shards=600), cores, []).barriers

    slow = replace(STAGES[0], barrier=Law(0.1, 0.1, 50e-6))
    more = replace(COSTS, stages=(slow, STAGES[1]))
    for cores in (1, 100):
        assert barriers(more, cores) - barriers(COSTS, cores) == pytest.approx(2e8 * 48e-6 * CROWD / cores)


def test_tables_of_few_rows_are_made_by_the_driver_alone() -> None:
    def tables(rows: float, cores: int) -> float:
        return cluster_seconds(COSTS, replace(LARGE, rows=rows, shards=600), cores, []).tables

    assert tables(1e6, 1) == tables(1e6, 640) and tables(1e9, 640) < tables(1e9, 64)


def test_a_cluster_writes_the_export_by_shards() -> None:
    def tables(unit: float, cores: int) -> float:
        costs = replace(COSTS, tables=Law(0.4, 0.4, unit))
        return cluster_seconds(costs, replace(LARGE, rows=1e6, exported=1e6, shards=60), cores, []).tables

    exact = 10 * 0.4e-6 / 2  # those of the tables alone
    assert tables(exact, 8) == pytest.approx(tables(0.0, 8))
    assert tables(exact + 30e-6, 8) - tables(exact, 8) == pytest.approx(2e6 * 30e-6 * CROWD / 8)
    assert tables(exact + 30e-6, 640) - tables(exact, 640) == pytest.approx(2e6 * 30e-6 * CROWD / 60)


def test_links_limit_several_nodes() -> None:
    load = Load(LARGE.sizes, LARGE.matched, LARGE.rows, 10_000)
    assert cluster_seconds(COSTS, load, NODE, [1e12]).moving == pytest.approx(1e12 / LINK)
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
