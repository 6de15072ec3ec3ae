"""Garbage collection of a command's process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from refinery.common.process_memory import defer_collection, start_collection

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual_collection() -> Iterator[None]:
    """Python's own thresholds, whatever commands ran before in this process; afterwards those that were there."""
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_collection_starts_with_the_objects_that_are_made_from_now_on() -> None:
    defer_collection()
    deferred = gc.get_threshold()[0]
    assert deferred > USUAL[0] and gc.get_freeze_count() == 0
    start_collection()
    assert 0 < gc.get_threshold()[0] < deferred and gc.get_freeze_count() > 0


def test_collection_of_other_processes_stays() -> None:
    start_collection()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (USUAL, 0)
