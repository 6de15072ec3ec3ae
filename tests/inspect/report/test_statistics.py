"""Axes show what matters, bins count every value once, correlations are Pearson's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.inspect.report.axes import Axis, axis_of
from refinery.inspect.report.facts import read_steps
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.statistics import QUANTILES, Statistic, read_correlations, read_statistics
from refinery.inspect.report.tables import RunTables
from refinery.operators.bounds import NO_RANGE, FilterBound, KeptRange
from tests.runs import refine

VALUES = st.lists(st.integers(-1000, 100_000) | st.floats(-1e12, 1e12) | st.sampled_from([0.0, 0.5, 1e-9]), min_size=1)


def axis_over(values: list[float], bounds: list[float], whole: bool = False) -> Axis | None:
    quantiles = dict(zip(QUANTILES, np.quantile(values, QUANTILES, method="inverted_cdf").tolist(), strict=True))
    return axis_of(min(values), max(values), quantiles, [FilterBound("b", bound) for bound in bounds], whole)


@given(VALUES, st.lists(st.floats(-1e6, 1e6), max_size=2), st.booleans())
def test_an_axis_holds_the_middle_and_every_bound_that_removes(
    values: list[float], bounds: list[float], whole: bool
) -> None:
    values = [float(math.floor(value)) if whole else float(value) for value in values]
    axis = axis_over(values, bounds, whole)
    if axis is None:
        return
    assert axis.width > 0 and axis.bins <= 41 and math.isfinite(axis.low) and math.isfinite(axis.high)
    assert axis.low <= np.median(values) <= axis.high or len(values) < 3
    assert all(axis.low <= bound <= axis.high for bound in bounds if min(values) <= bound <= max(values))
    edges = axis.edges
    assert all(left < right for left, right in zip(edges, edges[1:], strict=False))


def test_skewed_values_are_shown_by_powers_and_others_evenly() -> None:
    skewed = axis_over([float(2**i) for i in range(20)], [])
    even = axis_over([float(i) for i in range(1000)], [])
    assert skewed is not None and skewed.log and even is not None and not even.log


def test_few_whole_values_have_a_bin_each() -> None:
    axis = axis_over([1.0, 2.0, 2.0, 5.0], [], whole=True)
    assert axis == Axis(0.5, 5.5, False, 5)


@pytest.fixture(scope="module")
def statistics(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[Statistic], Any]:
    """A run whose table of statistics is made up: NaN, infinities and NULL among the values."""
    steps = [{"text_length_filter": {"min_len": 4, "max_len": 60}}, {"words_num_filter": {"min_num": 2}}]
    texts = ["word " * (i % 17) + "x" * (i % 5) for i in range(400)]
    run = refine(tmp_path_factory.mktemp("counted"), [{"text": text} for text in texts], steps)
    with duckdb.connect(str(run.database)) as con:
        con.execute(
            "CREATE OR REPLACE TABLE stats AS SELECT *, CASE _row % 9 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE "
            "WHEN 2 THEN NULL ELSE exp(_row / 20.0) END AS made_up, _row * -2.0 AS falling FROM stats"
        ).fetchall()
        con.execute(
            "INSERT INTO stat_summary BY NAME SELECT 'summary' AS \"group\", 'summary' AS key, 'made_up' AS stat, "
            "count(made_up) AS n, 1.0 AS mean, 2.0 AS m2 FROM stats"
        ).fetchall()
    with RunTables(run.work_dir) as tables, Replay(run.work_dir) as again:
        found = read_statistics(tables, read_steps(tables), again)
        return run, found, read_correlations(tables, found)


@pytest.mark.parametrize("name", ["text_len", "num_words", "made_up"])
def test_every_finite_value_is_in_one_bin(statistics: Any, name: str) -> None:
    run, found, _ = statistics
    [statistic] = [statistic for statistic in found if statistic.column == name]
    histogram = statistic.histogram
    assert histogram is not None
    step = statistic.step.step if statistic.step else -1
    rows = run.sql(f"SELECT {name}, step FROM stats LEFT JOIN ledger USING (_row) WHERE {name} IS NOT NULL").fetchall()
    finite = [(float(value), fate) for value, fate in rows if math.isfinite(value)]
    axis = histogram.axis
    inside = [(value, fate) for value, fate in finite if axis.low <= value <= axis.high]
    counted = sum(histogram.kept) + sum(histogram.here) + sum(histogram.elsewhere)
    assert counted == len(inside) and counted + histogram.below + histogram.above == len(finite)
    assert statistic.odd == len(rows) - len(finite)
    values = [math.log(value) if axis.log else value for value, fate in inside if fate == step]
    expected = np.histogram(values, axis.bins, (axis.start, axis.start + axis.width * axis.bins))[0]
    assert np.abs(np.cumsum(expected) - np.cumsum(histogram.here)).max() <= 1  # a value may lie on an edge


def test_bounds_come_from_the_steps(statistics: Any) -> None:
    _, found, _ = statistics
    ranges = {statistic.column: statistic.range for statistic in found}
    assert ranges["text_len"] == KeptRange(FilterBound("min_len", 4.0), FilterBound("max_len", 60.0))
    assert ranges["num_words"] == KeptRange(FilterBound("min_num", 2.0), None)
    assert ranges["made_up"] == NO_RANGE


def test_correlations_are_pearsons_over_what_both_have(statistics: Any) -> None:
    run, _, correlations = statistics
    # `falling` is not in stat_summary, so nothing is known of how many samples have it
    assert correlations.columns == ["text_len", "num_words", "made_up"] and correlations.every == 1
    for left, right in correlations.r:
        rows = run.sql(
            f"SELECT {left}, {right} FROM stats WHERE isfinite({left}::DOUBLE) AND isfinite({right}::DOUBLE)"
        ).fetchall()
        expected = np.corrcoef(np.array(rows, float).T)[0, 1]
        assert correlations.r[left, right] == pytest.approx(expected, rel=1e-9)
    assert correlations.strongest[0][:2] == ("text_len", "num_words")


def test_reversed_ranges_shade_the_inside(tmp_path: Path) -> None:
    from refinery.inspect.report.page import page

    step = {"text_length_filter": {"min_len": 10, "max_len": 20, "reversed_range": True}}
    run = refine(tmp_path, [{"text": "x" * i} for i in range(40)], [step])
    text = page(run.work_dir)
    assert text.count("fill: var(--shade)") == 1 and "up to 10, from 20" in text


def test_of_many_values_every_few_samples_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from refinery.inspect.report import statistics as module
    from refinery.inspect.report.page import page

    monkeypatch.setattr(module, "_SORTED", 100)
    run = refine(tmp_path, [{"text": "x" * i} for i in range(400)], [{"text_length_filter": {"min_len": 10}}])
    with RunTables(run.work_dir) as tables, Replay(run.work_dir) as again:
        [statistic] = read_statistics(tables, read_steps(tables), again)
    expected = np.quantile(np.arange(0, 400, 4), QUANTILES, method="inverted_cdf")
    assert statistic.every == 4 and [*statistic.quantiles.values()] == expected.tolist()
    assert (statistic.low, statistic.high, statistic.n) == (0, 399, 400)
    assert "Quantiles are those of one sample in 4." in page(run.work_dir)
