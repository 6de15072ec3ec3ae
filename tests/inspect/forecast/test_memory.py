"""Memory of a run from that of a sample's runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from refinery.inspect.forecast.memory import Held, PeakMemory, memory_of


def plan(limit: int | None = None) -> Any:
    return cast(Any, SimpleNamespace(sizes=SimpleNamespace(bytes=1000), recipe=SimpleNamespace(memory_limit=limit)))


def test_larger_batches_take_more_for_each_worker_up_to_their_limit() -> None:
    sample, whole = Held(100, 0, 8, 50), Held(400, 0, 8, 50)
    assert memory_of(plan(), 5000, sample, whole, 2) == pytest.approx(5000 + 2 * 300 * 6)
    assert memory_of(plan(), 5000, sample, Held(9000, 0, 8, 50), 2) == pytest.approx(5000 + 2 * 900 * 6)


def test_more_shards_take_more_up_to_some_doublings() -> None:
    def more(shards: int, known: bool = False) -> float:
        return memory_of(plan(), 0, Held(100, 0, 8, 50), Held(100, 0, shards, 50, known), 2)

    assert more(4) == 0 and more(16) == pytest.approx(2 * 100 * 3) and more(128) == more(1 << 20) > more(64)
    assert more(128, known=True) == 0


def test_each_worker_holds_a_page() -> None:
    assert memory_of(plan(), 0, Held(100, 300, 8, 50), Held(100, 5000, 8, 50), 2) == pytest.approx(2 * 4700)
    assert memory_of(plan(), 0, Held(100, 300, 8, 50), Held(100, 100, 8, 50), 2) == 0


def test_tables_grow_with_rows_within_the_limit() -> None:
    assert memory_of(plan(), 0, Held(1, 0, 1, 0), Held(1, 0, 1, 10), 1) == 600
    assert memory_of(plan(100), 0, Held(1, 0, 1, 0), Held(1, 0, 1, 10), 1) == 100


def test_the_peak_is_seen() -> None:
    with PeakMemory(False) as memory:
        before = memory.most
        held = bytearray(b"x" * (64 << 20))
        while memory.most < before + (48 << 20):  # until the thread has looked
            pass
        del held
    assert memory.most >= before + (48 << 20)
