"""Resuming under edits and kills: one of each, or random ones for as many seconds as REFINERY_SOAK_SECONDS says.

`make soak` sets an hour and a seed of its own. A failure prints the edits that lead to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.checkpoints.forks import Forks
from tests.conftest import ROOT
from tests.execution.ray.conftest import SMALL
from tests.soak.machine import Resuming
from tests.soak.pool import OWN

SECONDS = float(os.environ.get("REFINERY_SOAK_SECONDS", "0"))
# Examples per seed and edits per example; hypothesis always begins with the least example.
SIZE = (4, 8) if SECONDS else (2, 2)
FIRST = int(os.environ.get("REFINERY_SOAK_SEED", "17"))

STEPS = ("sql_mapper", "document_deduplicator")


@pytest.fixture
def cluster() -> Iterator[str | None]:
    """Address of a Ray cluster of two nodes, where REFINERY_SOAK_RAY asks for one: it takes its time."""
    if not os.environ.get("REFINERY_SOAK_RAY"):
        yield None
        return
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    running = Cluster(initialize_head=True, head_node_args=SMALL)
    running.add_node(**SMALL)
    yield str(running.address)
    running.shutdown()


@pytest.fixture
def forks() -> Iterator[Forks]:
    found = Forks()
    yield found
    found.close()


def test_edits_and_ends_of_runs(forks: Forks) -> None:
    """Once what the random edits do often: a file changes, and the next run is killed or interrupted while it works.

    `tests/checkpoints/test_edited_inputs.py` has the other edits of files.
    """
    machine = type("Resuming", (Resuming,), {"forks": forks, "cluster": None})()
    steps = [next(item for item in OWN if item.operator == name) for name in STEPS]
    try:
        machine.begin(seed=17, steps=steps)
        machine.change_line(place=0, kills=[(0.2, 0)])
        assert 0 < machine.reused[0] < machine.reused[1]
        machine.append(place=1, kills=[(0.3, 1)])
        machine.touch_file(place=0, kills=[(0.4, 2)])
    finally:
        machine.teardown()


@pytest.mark.long
def test_resumed_equals_fresh(cluster: str | None, forks: Forks) -> None:
    end = time.monotonic() + SECONDS
    examples, edits = SIZE
    phases = [Phase.generate, Phase.shrink]
    profile = settings(max_examples=examples, stateful_step_count=edits, database=None, phases=phases)
    for number in count(FIRST):
        machine = seed(number)(type("Resuming", (Resuming,), {"forks": forks, "cluster": cluster}))
        try:
            run_state_machine_as_test(machine, settings=profile)
        except BaseException as error:
            error.add_note(f"REFINERY_SOAK_SEED={number}")
            raise
        if time.monotonic() > end:
            return
