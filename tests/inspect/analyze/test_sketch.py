"""The sketch of a statistic: quantiles within the stated error, the same however the values were cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.inspect.analyze import sketch
from tests.examples import share_of

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY = st.one_of(st.none(), st.floats())


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def sketched(con: duckdb.DuckDBPyConnection, values: Sequence[float | None]) -> list[tuple[object, ...]]:
    """The rows of the sketch of some values."""
    con.register("given", pa.table({"x": pa.array(values, pa.float64())}))
    long = sketch.values("given", [("'summary'", "'summary'")], [("'x'", "x")])
    return con.execute(sketch.sketches(long)).fetchall()


def table(con: duckdb.DuckDBPyConnection, name: str, rows: Sequence[tuple[object, ...]]) -> None:
    kinds = '"group" VARCHAR, key VARCHAR, stat VARCHAR, bucket INTEGER, n BIGINT, low DOUBLE, high DOUBLE'
    con.execute(f"CREATE OR REPLACE TABLE {name} ({kinds})")
    if rows:
        con.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def quantiles(con: duckdb.DuckDBPyConnection, rows: Sequence[tuple[object, ...]]) -> dict[float, float]:
    table(con, "one", rows)
    return {row[3]: row[4] for row in con.execute(sketch.quantiles("one")).fetchall()}


@settings(max_examples=share_of(60, least=20))
@given(values=st.lists(FINITE, min_size=1, max_size=300))
def test_quantiles_are_within_the_error(con: duckdb.DuckDBPyConnection, values: list[float]) -> None:
    found = quantiles(con, sketched(con, values))
    ordered = sorted(values)
    for percent in sketch.PERCENTS:
        true = ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1]
        assert abs(found[percent / 100] - true) <= sketch.ERROR * abs(true) * (1 + 1e-9)


@settings(max_examples=share_of(30, least=15))
@given(values=st.lists(st.integers(-499, 499), min_size=1, max_size=200))
def test_small_whole_numbers_are_exact(con: duckdb.DuckDBPyConnection, values: list[int]) -> None:
    found = quantiles(con, sketched(con, [float(value) for value in values]))
    ordered = sorted(values)
    for percent in sketch.PERCENTS:
        assert found[percent / 100] == ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1]


@settings(max_examples=share_of(40, least=15))
@given(values=st.lists(ANY, max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6))
def test_parts_add_up_to_the_whole(con: duckdb.DuckDBPyConnection, values: list[float | None], cuts: list[int]) -> None:
    ends = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    parts = [row for start, end in zip(ends, ends[1:], strict=False) for row in sketched(con, values[start:end])]
    whole = sketched(con, values)
    table(con, "parts", parts)
    assert con.execute(sketch.merged("SELECT * FROM parts")).fetchall() == whole


def test_what_is_no_number_is_counted_apart(con: duckdb.DuckDBPyConnection) -> None:
    rows = sketched(con, [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5.0])
    by_bucket = {row[3]: row[4:] for row in rows}
    assert by_bucket.pop(None) == (4, None, None)
    assert by_bucket.pop(0) == (2, 0.0, 0.0)
    assert list(by_bucket.values()) == [(1, 5.0, 5.0)]


def test_the_whole_range_of_doubles_has_room(con: duckdb.DuckDBPyConnection) -> None:
    values = [-1.7e308, -5e-324, 5e-324, 1.7e308]
    assert [row[5] for row in sketched(con, values)] == values
    assert quantiles(con, sketched(con, values))[0.5] == -5e-324
