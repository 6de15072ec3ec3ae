"""Waiting for what another process or thread does, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

# Seconds after which a wait is a hang. They end a test that would never end, and decide nothing else.
HANG = 300.0

T = TypeVar("T")


def until(holds: Callable[[], T], lives: Callable[[], bool] = lambda: True, seconds: float = HANG) -> T:
    """Wait for a condition, and return what it returns. lives: whether it can still come true."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert lives(), "ended before"
        assert time.monotonic() < end, "hangs"
        time.sleep(0.02)
    return found
