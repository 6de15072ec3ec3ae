"""Machines that are lost in each phase of a run, or come and go all the time: the results are those of one machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from refinery.api import Run
from tests.execution.ray.conftest import SMALL
from tests.execution.ray.gates import PHASES, VERIFYING, Gate, hold
from tests.execution.ray.runs import assert_same, exported, in_partitions, in_parts, local, on_ray, samples
from tests.execution.ray.test_indexed import remembered_rows, without_ids
from tests.runs import rows, write_lines
from tests.sampling import named
from tests.waiting import HANG

pytestmark = pytest.mark.usefixtures("_shared_actors", "actors")

KEYS = {"shard_size": 10_000, "np": 2}
STEPS: list[Any] = [
    "clean_email_mapper",
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}},
    {"words_num_filter": {"min_num": 8}},
]


def nothing_is_left(folder: Path) -> None:
    """No temporary file is left of a run in `folder`."""
    assert not (folder / ".tmp").exists()
    names = [str(path.relative_to(folder)) for path in folder.rglob("*")]
    assert not [name for name in names if ".tmp" in name or "/joined/" in name or "scratch" in name]


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Work of another thread, whose error is raised at the end."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert not errors, errors


@pytest.mark.parametrize("phase", named({phase: phase for phase in PHASES}, "clusters"))
def test_a_machine_that_is_lost_while_it_works(
    cluster: Any, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """All three processors are held in the phase, one of them on the machine that goes."""
    in_parts(monkeypatch)
    in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(300))
    node = cluster.add_node(**SMALL)
    cluster.wait_for_nodes(HANG)
    gate = Gate(tmp_path / "gate", phase)
    hold(monkeypatch, gate)

    def leave() -> None:
        try:
            gate.reached(node.node_id)
            cluster.remove_node(node, allow_graceful=False)
        finally:
            gate.open()

    with beside(leave):
        other = on_ray(tmp_path, STEPS, **KEYS)
    assert_same(local(tmp_path, STEPS, **KEYS), other)
    nothing_is_left(tmp_path / "ray")


@pytest.mark.parametrize("phase", named({phase: phase for phase in VERIFYING}, "comparing"))
def test_a_machine_that_is_lost_while_texts_are_compared(
    cluster: Any, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """Samples are compared with each other and with an index; the match keys that are added to it are the same, too."""
    in_partitions(monkeypatch)
    minhash = {"jaccard_threshold": 0.6, "hash": "fast", "verify": True}
    node = cluster.add_node(**SMALL)
    cluster.wait_for_nodes(HANG)
    gate = Gate(tmp_path / "gate", phase)
    found: list[tuple[Run, dict[str, list[str]]]] = []

    def leave() -> None:
        try:
            gate.reached(node.node_id)
            cluster.remove_node(node, allow_graceful=False)
        finally:
            gate.open()

    for where, run in (("one", local), ("tasks", on_ray)):
        step = {"document_minhash_deduplicator": {**minhash, "index": str(tmp_path / where / "index")}}
        write_lines(tmp_path / "in.jsonl", samples(150))
        first = local(tmp_path, [step], f"{where}/first", **KEYS)
        write_lines(tmp_path / "in.jsonl", samples(400)[100:])
        hold(monkeypatch, gate)
        with beside(leave) if where == "tasks" else nullcontext():
            last = run(tmp_path, [step, "clean_email_mapper"], f"{where}/second", **KEYS)
        ids: dict[str, str] = {}
        without_ids(first, ids)
        found.append((last, without_ids(last, ids)))
    (one, tables), (other, others) = found
    for table in tables:
        assert tables[table] == others[table], table
    assert exported(one) == exported(other)
    counts = "count(*) > 20, count(kept_in_index) > 1, count(jaccard) > 10"
    assert rows(one, "duplicates", counts) == [(True, True, True)]
    assert remembered_rows(tmp_path / "one" / "index") == remembered_rows(tmp_path / "tasks" / "index") != []
    nothing_is_left(tmp_path / "tasks" / "second")


@pytest.mark.long
def test_machines_that_come_and_go(cluster: Any, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each phase the machine of the phase before goes without notice, and another one comes."""
    in_parts(monkeypatch)
    in_partitions(monkeypatch)
    write_lines(tmp_path / "in.jsonl", samples(400))
    phases = [phase for phase in PHASES if phase != "export"]  # runs beside the tables
    gates = [Gate(tmp_path / f"gate{number}", phase) for number, phase in enumerate(phases)]
    hold(monkeypatch, *gates)
    spot = [cluster.add_node(**SMALL)]
    lost = []

    def come_and_go() -> None:
        try:
            for gate in gates:
                gate.reached(spot[-1].node_id)
                lost.append(spot[-1].node_id)
                spot.append(cluster.add_node(**SMALL))  # in the main thread alone
                cluster.remove_node(spot[-2], allow_graceful=False)
                gate.open()
        finally:
            for gate in gates:
                gate.open()

    runs: list[Run] = []
    with beside(lambda: runs.append(on_ray(tmp_path, STEPS, **KEYS))):
        come_and_go()
    cluster.remove_node(spot[-1])
    assert len({*lost}) == len(phases)
    assert_same(local(tmp_path, STEPS, **KEYS), *runs)
    nothing_is_left(tmp_path / "ray")
