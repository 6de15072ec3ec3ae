"""MetricStats: values and summaries add up, in any order, to what the merger of files and exact fractions give."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.errors import DataError
from refinery.stats import MetricStats, StatsMerger
from tests.examples import share_of
from tests.stats.oracle import added, close, meaning

VALUES = st.lists(st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), max_size=12)


def of(values: list[float]) -> MetricStats:
    found = MetricStats()
    for value in values:
        found.update(value)
    return found


@given(VALUES, VALUES)
@settings(max_examples=share_of(200))
def test_a_sum_is_the_summary_of_all_values(one: list[float], other: list[float]) -> None:
    found, values = of(one) + of(other), [*one, *other]
    if not values:
        assert (found.n, found.mean, found.m2, found.total) == (0, 0, 0, 0)
        return
    expected = added(values)
    assert found.n == len(values) and close(found.mean, expected.mean, 1e6)
    assert close(found.m2, expected.m2, 1e12) and close(found.total, expected.total, 1e6)
    assert (found.min, found.max) == (min(values), max(values))


@given(VALUES)
@settings(max_examples=share_of(100))
def test_an_entry_is_read_as_it_was_written(values: list[float]) -> None:
    found = of(values)
    again = MetricStats.from_dict(json.loads(json.dumps(found.to_dict())))
    assert (again.n, again.mean, again.total, again.min, again.max) == (
        found.n,
        found.mean,
        found.total,
        found.min,
        found.max,
    )
    assert again.m2 == pytest.approx(found.m2, rel=1e-12)


@pytest.mark.parametrize(
    "entry",
    [3, 0, 2.5, {"total": 4}, {"total": 0, "mean": 0}, {"total": 6, "n": 3, "mean": 2.0, "variance": 1.0, "min": 1, "max": 3},
     {"total": 5, "mean": 5.0, "unit": "line"}, {"total": 0, "n": 2, "mean": 0.0, "variance": 2.0, "min": -1.0, "max": 1.0}],
)  # fmt: skip
def test_entries_mean_what_the_rules_say(entry: Any) -> None:
    found, expected = MetricStats.from_dict(entry), meaning(entry)
    assert (found.n, found.unit, found.min, found.max) == (expected.n, expected.unit, expected.min, expected.max)
    assert close(found.mean, expected.mean) and close(found.m2, expected.m2) and close(found.total, expected.total)


def test_sums_are_those_of_the_merger(tmp_path: Path) -> None:
    ranks: list[dict[str, Any]] = [
        {"a": {"total": 30.0, "n": 3, "mean": 10.0, "variance": 4.0, "std_dev": 2.0, "min": 8.0, "max": 12.0}, "b": 7},
        {"a": {"total": 1e9, "n": 1, "mean": 1e9}, "b": {"total": 5, "n": 5, "mean": 1}},
        {"a": {"total": 1.5, "n": 4, "mean": 0.375, "variance": 0.1, "min": 0.0, "max": 0.75}},
    ]
    folder = tmp_path / "in/g/s"
    folder.mkdir(parents=True)
    sums: dict[str, MetricStats] = {}
    for rank, entries in enumerate(ranks):
        (folder / f"{rank:05d}.json").write_text(json.dumps(entries))
        for key, entry in entries.items():
            sums[key] = sums.get(key, MetricStats()) + MetricStats.from_dict(entry)
    StatsMerger(tmp_path / "in", tmp_path / "out").merge()
    merged = json.loads((tmp_path / "out/g/s/metric.json").read_text())
    for key, entry in merged.items():
        found = sums[key].to_dict()
        assert found.keys() == entry.keys() and found.pop("unit", "") == entry.pop("unit", "")
        assert found == pytest.approx(entry, rel=1e-12)


def test_large_values_keep_their_spread() -> None:
    found = of([1e16 + 2, 1e16 + 4]) + of([1e16 + 6])
    assert (found.variance, found.n) == (4.0, 3)


def test_values_that_are_not_finite_are_counted_apart() -> None:
    found = of([1.0, math.nan, math.inf, -math.inf, 3.0])
    assert (found.n, found.mean, found.nans, found.infinities) == (2, 2.0, 1, 2)
    assert found.to_dict()["nans"] == 1 and found.to_dict()["infinities"] == 2
    assert MetricStats.from_dict({"total": math.nan, "n": 3, "mean": math.nan}).nans == 3


def test_a_sum_with_an_entry_and_the_unit() -> None:
    found = MetricStats.from_dict(4) + {"total": 6, "n": 2, "mean": 3.0}
    assert (found.n, found.total, found.unit) == (3, 10, "task")
    assert sum([MetricStats.of(1.0), MetricStats.of(2.0)], MetricStats()).mean == 1.5


@pytest.mark.parametrize("entry", [{"n": 3}, {"total": 1, "n": 1.5, "mean": 2}, "7", None, True, {"total": None}])
def test_what_is_no_entry_is_an_error(entry: Any) -> None:
    with pytest.raises(DataError, match="entry of a statistics file"):
        MetricStats.from_dict(entry)


def test_sum_begins_with_nothing() -> None:
    found = sum([of([3.0]), of([5.0])])
    assert isinstance(found, MetricStats) and (found.n, found.min, found.max) == (2, 3.0, 5.0)
