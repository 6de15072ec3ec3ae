"""Garbage collection of a command's process."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from refinery.common.process_memory import defer_collection, start_collection


@pytest.fixture
def collection() -> Iterator[tuple[int, int, int]]:
    """Python's thresholds, which are as they were after the test."""
    before = gc.get_threshold()
    yield before
    gc.unfreeze()
    gc.set_threshold(*before)


def test_collection_starts_with_the_objects_that_are_made_from_now_on(collection: tuple[int, int, int]) -> None:
    defer_collection()
    assert gc.get_threshold()[0] > collection[0]
    deferred, frozen = gc.get_threshold()[0], gc.get_freeze_count()
    start_collection()
    assert 0 < gc.get_threshold()[0] < deferred and gc.get_freeze_count() > frozen


def test_collection_of_other_processes_stays(collection: tuple[int, int, int]) -> None:
    frozen = gc.get_freeze_count()
    start_collection()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (collection, frozen)
