"""The line about finished shards, also where Ctrl-C leaves no time."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from refinery.execution.resume_hint import ResumeHint
from refinery.workers import process_guard


def last_words(count: Any, finished: int = 0) -> str:
    stages: Any = SimpleNamespace(finished=finished, kept=SimpleNamespace(lasting=True, count=count))
    with ResumeHint() as hint:
        hint.watch(stages)
        return process_guard.last_words[-1]()


def test_shards_that_the_run_has_not_heard_of_count() -> None:
    """The done mark is there before the waiting thread hears of the shard."""
    assert last_words(lambda: 3).startswith("3 shards are done and kept: run the same command again")


def test_a_store_that_does_not_answer_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.execution.resume_hint._SOON", 0.01)
    asked = threading.Event()
    assert last_words(lambda: asked.wait() and 5, finished=1).startswith("1 shard is done")
    asked.set()
    assert last_words(lambda: 1 // 0) == ""
