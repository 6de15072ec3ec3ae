"""Moments against exact arithmetic, however values are dealt out to parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.stats.moments import COLUMNS, merge_sql, moments_sql
from tests.examples import share_of

CLOSE = Fraction(1, 10**12)
LEAST = Fraction(1, 10**290)  # below this DOUBLEs have fewer digits

ordinary = st.floats(-1e6, 1e6, allow_subnormal=False)
ratios = st.integers(0, 1000).map(lambda n: n / 1000)
large = st.integers(-20, 20).map(lambda n: 1e15 + n / 8)
tiny = st.integers(-9, 9).map(lambda n: 1e-12 + n * 1e-14)  # variances of 1e-26
near_one = st.integers(0, 3).map(lambda n: 1.0 + n * 2.0**-52)
zeros = st.sampled_from([0.0, 0.0, 0.0, 1.0])
outliers = st.sampled_from([0.3, 0.3, 0.3, 0.3, 1e15])
cancelling = st.sampled_from([1e15, -1e15, 0.001, 0.1])
anything = st.floats(-1e150, 1e150)
kinds = st.sampled_from([ordinary, ratios, large, tiny, near_one, zeros, outliers, cancelling, anything])
values = kinds.flatmap(lambda kind: st.lists(kind, max_size=60))


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    con.execute(sql)
    found = [dict(zip(COLUMNS, row, strict=True)) for row in con.fetchall()]
    return sorted(found, key=lambda row: (row["group"], row["key"], row["stat"]))


def fill(con: duckdb.DuckDBPyConnection, values: Sequence[float | None], parts: Sequence[int]) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE shards AS SELECT 'g' AS \"group\", 'k' AS key, 's' AS stat, "
        "unnest(?::DOUBLE[]) AS value, unnest(?::INTEGER[]) AS shard",
        [list(values), list(parts)],
    ).fetchall()


def merged(con: duckdb.DuckDBPyConnection, values: Sequence[float | None], parts: Sequence[int]) -> dict[str, Any]:
    """Moments of each part, merged."""
    fill(con, values, parts)
    given = moments_sql('(SELECT "group", CAST(shard AS VARCHAR) AS key, stat, value FROM shards)')
    con.execute(f"CREATE OR REPLACE TABLE parts AS SELECT * REPLACE ('k' AS key) FROM ({given})").fetchall()
    [row] = rows(con, merge_sql("parts")) or [{}]
    return row


def check(row: dict[str, Any], values: Sequence[float]) -> None:
    """A row of moments equals what fractions give."""
    exact = [Fraction(value) for value in values]
    n, total = len(exact), sum(exact, Fraction())
    mean = total / n
    m2 = sum(((x - mean) ** 2 for x in exact), Fraction())
    assert (row["n"], row["min"], row["max"]) == (n, min(values), max(values))
    size = sum(map(abs, exact), Fraction()) / n
    for name, expected in (("total", total), ("mean", mean), ("m2", m2)):
        if abs(expected) > LEAST:
            assert abs(Fraction(row[name]) - expected) <= CLOSE * abs(expected), name
        else:
            assert abs(row[name]) <= 2 * LEAST + CLOSE * (0 if name == "m2" else size), name
    assert abs(Fraction(row["mean"]) + Fraction(row["mean_low"]) - mean) <= size / 2**80 + LEAST


@settings(max_examples=share_of(40, least=15))
@given(values.filter(len))
def test_moments(con: duckdb.DuckDBPyConnection, values: list[float]) -> None:
    fill(con, values, [0] * len(values))
    [row] = rows(con, moments_sql("shards"))
    check(row, values)


@settings(max_examples=share_of(100, least=20))
@given(values.filter(len), st.data())
def test_merging_equals_one_pass(con: duckdb.DuckDBPyConnection, values: list[float], data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.integers(0, len(values)), min_size=len(values), max_size=len(values)))
    check(merged(con, values, parts), values)


@settings(max_examples=share_of(40, least=15))
@given(values.filter(len), st.randoms())
def test_order_of_values_and_parts_does_not_matter(
    con: duckdb.DuckDBPyConnection, values: list[float], dice: Any
) -> None:
    parts = [dice.randrange(4) for _ in values]
    first = merged(con, values, parts)
    order = list(range(len(values)))
    dice.shuffle(order)
    assert merged(con, [values[at] for at in order], [3 - parts[at] for at in order]) == first


@settings(max_examples=share_of(40, least=15))
@given(values.filter(len), st.data())
def test_merging_in_stages(con: duckdb.DuckDBPyConnection, values: list[float], data: st.DataObject) -> None:
    """Merged moments are moments: a merge of merges is the merge of all."""
    parts = data.draw(st.lists(st.integers(0, 7), min_size=len(values), max_size=len(values)))
    fill(con, values, parts)
    shards = '(SELECT "group", CAST(shard AS VARCHAR) AS key, stat, value FROM shards)'
    con.execute(f"CREATE OR REPLACE TABLE parts AS {moments_sql(shards)}").fetchall()
    halves = "(SELECT * REPLACE (CAST(CAST(key AS INTEGER) // 3 AS VARCHAR) AS key) FROM parts)"
    con.execute(f"CREATE OR REPLACE TABLE halves AS {merge_sql(halves)}").fetchall()
    [row] = rows(con, merge_sql("(SELECT * REPLACE ('k' AS key) FROM halves)"))
    check(row, values)


@settings(max_examples=share_of(40, least=15))
@given(st.lists(st.sampled_from([None, math.nan, math.inf, -math.inf, 0.5, 2.0]), max_size=20), st.data())
def test_what_is_not_finite_is_counted_apart(con: duckdb.DuckDBPyConnection, values: list[Any], data: Any) -> None:
    parts = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    row = merged(con, values, parts)
    present = [value for value in values if value is not None]
    if not present:
        assert row == {}
        return
    finite = [value for value in present if math.isfinite(value)]
    assert row["nans"] == sum(map(math.isnan, present))
    assert row["infinities"] == sum(map(math.isinf, present))
    if finite:
        check(row, finite)
    else:
        assert row["n"] == 0
        assert [row[name] for name in ("mean", "m2", "min", "max", "total", "mean_low")] == [None] * 6


def test_ten_zeros_and_a_one(con: duckdb.DuckDBPyConnection) -> None:
    """The case that datatrove's own files lose: a part whose values are all zero."""
    row = merged(con, [0.0] * 10 + [1.0], [0] * 10 + [1])
    assert (row["n"], row["total"], row["min"], row["max"]) == (11, 1.0, 0.0, 1.0)
    check(row, [0.0] * 10 + [1.0])


def test_equal_values_stay_equal(con: duckdb.DuckDBPyConnection) -> None:
    """0.1 has no exact sum, but the mean of many is 0.1 and their variance zero."""
    row = merged(con, [0.1] * 999, [at % 10 for at in range(999)])
    assert (row["mean"], row["m2"], row["min"], row["max"]) == (0.1, 0.0, 0.1, 0.1)


def test_many_parts(con: duckdb.DuckDBPyConnection) -> None:
    """Thousands of parts of one and of many values, near 1e15."""
    values = [1e15 + (at * 7919 % 1000) / 8 for at in range(9000)]
    check(merged(con, values, [min(at, 5000) for at in range(9000)]), values)


def test_groups_keys_and_statistics_are_kept_apart(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE given AS SELECT 'g' || i % 2 AS \"group\", 'k' || i % 3 AS key, 's' || i % 5 AS stat, "
        "i::DOUBLE AS value FROM range(300) r(i)"
    ).fetchall()
    found = rows(con, moments_sql("given"))
    assert len(found) == 30
    for row in found:
        names = (row["group"], row["key"], row["stat"])
        check(row, [float(i) for i in range(300) if (f"g{i % 2}", f"k{i % 3}", f"s{i % 5}") == names])
    con.execute(f"CREATE OR REPLACE TABLE parts AS {moments_sql('given')}").fetchall()
    assert rows(con, merge_sql("parts")) == found


def test_threads_change_nothing() -> None:
    found = []
    for threads in (1, 4):
        with duckdb.connect() as con:
            con.execute(f"SET threads = {threads}").fetchall()
            con.execute(
                "CREATE TABLE given AS SELECT 'g' AS \"group\", 'k' || i % 3 AS key, 's' AS stat, "
                "(i * 7919 % 100_003) / 7.0 AS value FROM range(150_000) r(i)"
            ).fetchall()
            found.append(rows(con, moments_sql("given")))
    assert found[0] == found[1]


def test_parts_without_mean_low(con: duckdb.DuckDBPyConnection) -> None:
    """Moments from elsewhere have only the usual columns."""
    fill(con, [0.25, 0.5, 0.75, 1.0], [0, 0, 1, 1])
    given = moments_sql('(SELECT "group", CAST(shard AS VARCHAR) AS key, stat, value FROM shards)')
    con.execute(
        f"CREATE OR REPLACE TABLE parts AS SELECT * EXCLUDE (mean_low) REPLACE ('k' AS key) FROM ({given})"
    ).fetchall()
    [row] = rows(con, merge_sql("parts"))
    check(row, [0.25, 0.5, 0.75, 1.0])


def test_sums_beyond_the_largest_number(con: duckdb.DuckDBPyConnection) -> None:
    """The mean is still known where the total is not a DOUBLE."""
    row = merged(con, [1.5e308, 1.5e308, 1e308], [0, 0, 1])
    assert row["total"] == math.inf
    assert row["mean"] == pytest.approx(4 / 3 * 1e308, rel=1e-15)
