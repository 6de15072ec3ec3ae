"""Memory of a run from that of a sample's runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from refinery.inspect.forecast.memory import Held, PeakMemory, SampleMemory, memory_of


def memory(sample: Held, whole: Held, limit: int | None = None, apart: bool = False) -> float:
    """Memory of a run by a sample's runs, which grew by 2000 bytes to 5000."""
    recipe = SimpleNamespace(memory_limit=limit)
    plan = cast(Any, SimpleNamespace(sizes=SimpleNamespace(bytes=1000), recipe=recipe))
    return memory_of(plan, SampleMemory(3000, 5000, 4000), sample, whole, apart)


def test_memory_grows_with_what_a_worker_holds_of_the_input() -> None:
    sample = Held(400, 0, 50)
    assert memory(sample, sample) == pytest.approx(5000)
    assert memory(sample, Held(800, 0, 50)) == pytest.approx(3000 + 2 * 2000)
    assert memory(sample, Held(9000, 0, 50)) == pytest.approx(3000 + 2.5 * 2000)  # a batch has its limit
    assert memory(Held(400, 200, 50), Held(400, 1200, 50)) == pytest.approx(3000 + 2 * 2000)  # pages have none


def test_memory_is_not_less_than_that_of_the_cold_run() -> None:
    assert memory(Held(800, 0, 50), Held(10, 0, 50)) == 4000


def test_of_a_worker_process_the_growth_is_not_seen() -> None:
    assert memory(Held(400, 0, 50), Held(800, 0, 50), apart=True) == pytest.approx(5000 + 400 * 6)


def test_tables_grow_with_rows_within_the_limit() -> None:
    assert memory(Held(1, 0, 0), Held(1, 0, 10)) == 5600
    assert memory(Held(1, 0, 0), Held(1, 0, 10), limit=100) == 5100


def test_the_peak_is_seen() -> None:
    with PeakMemory(False) as memory:
        before = memory.most
        held = bytearray(b"x" * (64 << 20))
        while memory.most < before + (48 << 20):  # until the thread has looked
            pass
        del held
    assert memory.most >= before + (48 << 20)
