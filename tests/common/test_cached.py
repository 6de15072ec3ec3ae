"""A function that several threads call at once runs once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from refinery.common.cached import cached


def test_threads_that_call_at_once_get_one_result() -> None:
    began, calls = threading.Barrier(4), list[int]()

    @cached(2)
    def slow(number: int) -> list[int]:
        calls.append(number)
        time.sleep(0.05)
        return [number]

    def ask(number: int) -> list[int]:
        began.wait()
        return slow(number)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, [7, 7, 7, 7]))
    assert calls == [7] and all(one is found[0] for one in found)


def test_the_oldest_result_is_forgotten_and_an_error_is_not_kept() -> None:
    calls = list[int]()

    @cached(2)
    def half(number: int) -> int:
        """Half of a number."""
        calls.append(number)
        if number % 2:
            raise ValueError(number)
        return half(number // 2) if number > 4 else number // 2  # it may call itself

    assert [half(number) for number in (2, 4, 2, 6 - 2)] == [1, 2, 1, 2] and calls == [2, 4]
    assert half(8) == 2 and half(2) == 1 and calls == [2, 4, 8, 2]
    for _ in range(2):
        with pytest.raises(ValueError):
            half(3)
    assert calls[-2:] == [3, 3] and half.__doc__ == "Half of a number."
