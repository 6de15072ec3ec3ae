"""Functions with so many seconds for a row give what they give without, and end with the row that takes longer."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.operators import Function
from refinery.workers.row_timeouts import RowTimeout, TimedFunction, in_time, joined


def timed(
    run: Callable[..., Any], seconds: float = 5.0, runs: str = "python", one_by_one: bool = False
) -> TimedFunction:
    return TimedFunction(
        Function("f", ("VARCHAR",), ("INTEGER",), "VARCHAR", runs, "f", Path("f.py")), run, seconds, one_by_one
    )


def repeated(column: pa.Array, times: int) -> pa.Array:
    return pa.array([None if text is None else text * times for text in column.to_pylist()], pa.string())


@given(st.lists(st.none() | st.text(max_size=3), max_size=200), st.sampled_from(["python", "kernel"]), st.booleans())
def test_answers_are_those_of_the_function(values: list[str | None], runs: str, one_by_one: bool) -> None:
    column = pa.array(values, pa.string())
    found = timed(repeated, runs=runs, one_by_one=one_by_one)(column, 2)
    assert found.equals(repeated(column, 2)) and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@pytest.mark.parametrize(("runs", "expected"), [("kernel", [150]), ("python", [64, 64, 22])])
def test_kernels_have_all_rows_at_once_others_a_few(runs: str, expected: list[int]) -> None:
    sizes: list[int] = []

    def count(column: pa.Array, times: int) -> pa.Array:
        sizes.append(len(column))
        return column

    timed(count, runs=runs)(pa.array(["a"] * 150), 1)
    assert sizes == expected


def test_a_row_that_is_too_slow_is_known_when_it_is_met_again() -> None:
    calls = []

    def slow(column: pa.Array, times: int) -> pa.Array:
        calls.append(len(column))
        for text in column.to_pylist():
            while text == "slow":
                time.sleep(0.01)
        return column

    run = timed(slow, 1.0)
    column = pa.array(["a", "slow", "b"])
    with pytest.raises(RowTimeout, match=r"took longer than 1 seconds \(row_timeout\)"):
        run(column, 1)
    before = len(calls)
    with pytest.raises(RowTimeout):
        run(column.slice(1, 1), 1)
    assert len(calls) == before  # it is not waited for again
    assert run(column.slice(2, 1), 1).to_pylist() == ["b"]


def test_rows_that_are_slow_together_only_are_no_fault() -> None:
    def steady(column: pa.Array, times: int) -> pa.Array:
        while len(column) > 1:
            time.sleep(0.01)
        return column

    assert timed(steady, 2.0)(pa.array(["a"] * 15), 1).to_pylist() == ["a"] * 15


def test_a_function_that_swallows_the_interruption_is_too_slow_all_the_same() -> None:
    def stubborn(column: pa.Array, times: int) -> pa.Array:
        try:
            time.sleep(1000)
        except BaseException:
            return column
        return column

    with pytest.raises(RowTimeout):
        timed(stubborn, 0.1)(pa.array(["a"]), 1)


def test_a_function_that_hears_no_alarm_ends_its_process() -> None:
    copy = os.fork()
    if not copy:
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            in_time(lambda: time.sleep(60), 0.01)
        finally:
            os._exit(7)
    _, status = os.waitpid(copy, 0)
    assert os.waitstatus_to_exitcode(status) == 1


def test_errors_of_the_function_stay_what_they_are() -> None:
    def broken(column: pa.Array, times: int) -> pa.Array:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        timed(broken)(pa.array(["a"]), 1)


def test_nothing_rings_when_there_was_time_enough() -> None:
    assert in_time(lambda: signal.getitimer(signal.ITIMER_REAL)[0], 1000) > 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("function", [lambda: None, lambda: 1 / 0])
def test_the_alarm_may_ring_before_and_after_the_call(function: Callable[[], Any]) -> None:
    """The limit is about the time that the call takes, so the alarm rings at every place around it."""
    for nanoseconds in range(1_000, 60_000, 50):
        with suppress(RowTimeout, ZeroDivisionError):
            assert in_time(function, nanoseconds / 1e9) is None
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0) and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_pieces_of_two_widths_are_joined() -> None:
    found = joined([pa.array(["a"]), pa.array(["b"], pa.large_string()), pa.chunked_array([["c"], ["d"]])])
    assert found.type == pa.large_string() and found.to_pylist() == ["a", "b", "c", "d"]
