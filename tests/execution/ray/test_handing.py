"""Dispatchers hand out the tasks of a large cluster: the same results and errors, also when one of them dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OperatorError
from refinery.execution.ray import handing
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.executor import every
from tests.execution.ray.runs import assert_same, in_partitions, in_parts, local, on_ray, samples
from tests.runs import operator_folder, write_lines


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cluster is large enough for two dispatchers."""
    monkeypatch.setattr(handing, "MANY", 1)
    monkeypatch.setattr(handing, "EACH", 1)
    monkeypatch.setattr(handing, "TOGETHER", 3)


def doubled(number: int) -> str:
    return str(number * 2)


def fails(number: int) -> str:
    if number == 5:
        raise OperatorError("not five")
    return str(number)


def breaks(number: int) -> str:
    return str(1 // (number - 5))


def test_answers_and_errors_of_calls_and_a_dispatcher_that_dies(
    driver: Any, large: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mortal(handing.Dispatcher):
        async def process(self) -> int:
            return os.getpid()

    monkeypatch.setattr(handing, "Dispatcher", Mortal)
    cluster = ClusterConnection(driver, tmp_path)
    calls = [(number,) for number in range(20)]
    assert every(cluster, doubled, calls) == [str(number * 2) for number in range(20)]
    assert len(cluster.dispatchers) == 2
    with pytest.raises(OperatorError, match="not five"):
        every(cluster, fails, calls)
    with pytest.raises(driver.exceptions.RayTaskError, match="ZeroDivisionError"):
        every(cluster, breaks, calls)

    hand = handing.handing(cluster, waits, 0)
    flag = tmp_path / "go"
    begun = {hand.begin((number, str(flag)), {"num_cpus": 1}): str(number) for number in range(6)}
    for dispatcher in cluster.dispatchers:
        os.kill(driver.get(dispatcher.process.remote()), signal.SIGKILL)
    flag.write_text("")
    found = {}
    while len(found) < 6:
        found |= {ticket: hand.answer(ticket) for ticket in hand.ended(begun)}
    assert found == begun


def waits(number: int, flag: str) -> str:
    import time

    while not Path(flag).exists():
        time.sleep(0.02)
    return str(number)


def test_a_run_with_dispatchers(driver: Any, large: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard whose process ends, and tables and clusters by many tasks."""
    in_parts(monkeypatch)
    in_partitions(monkeypatch)
    once = tmp_path / "once"
    body = f"""
        if "omega" in text and not Path({str(once)!r}).exists():
            Path({str(once)!r}).write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return None
    """
    own = operator_folder(tmp_path / "own", fatal=body)
    steps = ["fatal_mapper", {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}}, "clean_email_mapper"]
    write_lines(tmp_path / "in.jsonl", samples(150))
    keys = {"shard_size": 4_000, "np": 2, "operators": [str(own)]}
    other = on_ray(tmp_path, steps, **keys)
    assert once.exists()
    assert_same(local(tmp_path, steps, **keys), other)
