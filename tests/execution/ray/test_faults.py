"""Recovery on the cluster from the death of machines, processes, tasks without memory, the driver; equal results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import refinery
from refinery.api import Run
from refinery.errors import OperatorError
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.runner import RayRunner, _Job
from refinery.io.model import Shard, Source
from tests.execution.ray.conftest import SMALL
from tests.execution.ray.runs import assert_same, content, in_partitions, local, on_ray, samples
from tests.runs import operator_folder, rows, settings, texts, write_lines
from tests.sampling import sampled
from tests.waiting import until

KEYS = {"shard_size": 20_000, "np": 2}
STEPS = ["clean_email_mapper", "document_deduplicator", {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}}]


def slow(folder: Path, seconds: float) -> Path:
    """A mapper that leaves texts alone, and takes its time over one in twenty while the file `slow` is there."""
    flag = folder / "slow"
    flag.write_text("")
    body = f"""
        if "tau3 " in text and Path({str(flag)!r}).exists():
            time.sleep({seconds})
        return None
    """
    return operator_folder(folder / "own", slow=body)


@pytest.mark.parametrize("steps", sampled([STEPS[:2], STEPS]))
def test_a_machine_that_goes_in_mid_run(cluster: Any, driver: Any, tmp_path: Path, steps: list[Any]) -> None:
    own = slow(tmp_path, 0.1)
    keys = KEYS | {"operators": [str(own)]}
    write_lines(tmp_path / "in.jsonl", samples(400))
    node = cluster.add_node(**SMALL)

    def leave() -> None:
        marks = tmp_path / "ray" / ".refinery" / "parts" / "stage_1"
        until(lambda: len(list(marks.glob("*.done.json"))) >= 2)
        cluster.remove_node(node, allow_graceful=False)
        (tmp_path / "slow").unlink()

    leaving = threading.Thread(target=leave)
    leaving.start()
    other = on_ray(tmp_path, ["slow_mapper", *steps], **keys)
    leaving.join()
    assert_same(local(tmp_path, ["slow_mapper", *steps], **keys), other)


COMPARED: list[tuple[str, dict[str, Any]]] = [
    ("members", {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "hash": "fast", "verify": True}}),
    ("carried_shingles_0", {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "verify": True}}),
    ("found", {"semantic_deduplicator": {"cosine_threshold": 0.9, "num_bands": 4, "band_bits": 4}}),
]


@pytest.mark.long  # tests/execution/ray/test_lost_machines.py has one
@pytest.mark.parametrize(("seen", "step"), COMPARED)
def test_a_machine_that_goes_while_tasks_compare(
    cluster: Any, driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str, step: dict[str, Any]
) -> None:
    """The machine is lost as soon as the first files of one kind are there, when its tasks have run or are running."""
    in_partitions(monkeypatch)
    given = [
        {**one, "embedding": [float(n % 5), float(n % 3) - 1, 1.0]} if isinstance(one, dict) else one
        for n, one in enumerate(samples(300))
    ]
    write_lines(tmp_path / "in.jsonl", given)
    node, ended = cluster.add_node(**SMALL), threading.Event()

    def leave() -> None:
        joined = tmp_path / "ray" / ".refinery" / "parts" / "stage_1" / "joined"
        while not list(joined.rglob(f"{seen}_*")) and not ended.is_set():
            time.sleep(0.01)
        cluster.remove_node(node, allow_graceful=False)

    leaving = threading.Thread(target=leave)
    leaving.start()
    try:
        other = on_ray(tmp_path, [step, "clean_links_mapper"], **KEYS)
        assert not leaving.is_alive()
    finally:
        ended.set()
        leaving.join()
    assert rows(other, "duplicates", "count(*) > 10") == [(True,)]
    assert_same(local(tmp_path, [step, "clean_links_mapper"], **KEYS), other)


@pytest.mark.long
def test_a_process_that_is_killed_once(driver: Any, tmp_path: Path) -> None:
    once = tmp_path / "once"
    body = f"""
        if "omega" in text and not Path({str(once)!r}).exists():
            Path({str(once)!r}).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return None
    """
    keys = KEYS | {"operators": [str(operator_folder(tmp_path / "own", fatal=body))]}
    write_lines(tmp_path / "in.jsonl", samples(300))
    other = on_ray(tmp_path, ["fatal_mapper", *STEPS], **keys)
    assert int(once.read_text()) != os.getpid()
    assert_same(local(tmp_path, ["fatal_mapper", *STEPS], **keys), other)


@pytest.mark.parametrize("times", sampled([1, 3]))
def test_a_row_that_always_kills_its_process_costs_itself(driver: Any, tmp_path: Path, times: int) -> None:
    body = """
        if text.startswith("poison"):
            os.kill(os.getpid(), signal.SIGKILL)
        return None
    """
    keys = {"operators": [str(operator_folder(tmp_path / "own", fatal=body))]}
    write_lines(tmp_path / "in.jsonl", texts(["good", "poison 1", "better"] * times))
    found = on_ray(tmp_path, ["fatal_mapper"], **keys)
    error = "the worker process was killed by SIGKILL"
    assert rows(found, "quarantine", "_row, step, operator, error") == [
        (n, 1, "fatal_mapper", error) for n in range(1, 3 * times, 3)
    ]
    assert found.counts.kept == 2 * times


@pytest.mark.long
def test_a_row_that_takes_too_long_costs_itself(driver: Any, tmp_path: Path) -> None:
    body = """
        while text == "for ever":
            time.sleep(0.01)
        return None
    """
    keys = {"operators": [str(operator_folder(tmp_path / "own", hung=body))], "row_timeout": 2}
    write_lines(tmp_path / "in.jsonl", texts(["good", "for ever", "better"]))
    found = on_ray(tmp_path, ["hung_mapper"], **keys)
    assert rows(found, "quarantine", "_row, operator") == [(1, "hung_mapper")]


class Scripted:
    """In place of the cluster: answers in the order of the script, whatever is asked."""

    def __init__(self, *script: Any) -> None:
        self.script, self.asked = list(script), list[int]()

    def room(self) -> int:
        return 1

    def begin(self, job: _Job, shard: str, task: str) -> str:
        self.asked.append(job.smaller)
        return "reference"

    def take_back(self, running: Any) -> list[_Job]:
        return []

    def ended(self, running: Any) -> list[Any]:
        return list(running)

    def answer(self, reference: Any) -> str:
        answer = self.script.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self, running: Any) -> None:
        self.script = []


def scripted(ray: Any, *script: Any) -> tuple[RayRunner, Scripted]:
    """A runner without a cluster."""
    runner, place = RayRunner.__new__(RayRunner), Scripted(*script)
    runner.__dict__.update(_ray=_Waiting(ray), _place=place, _wants=_Anything(), _cluster=_Anything(), _spool=None)
    runner._retried = None
    return runner, place


class _Anything:
    def check(self, machines: Any) -> None: ...

    def machines(self) -> list[Any]:
        return []


class _Waiting:
    def __init__(self, ray: Any) -> None:
        self.exceptions = ray.exceptions


MEMORY = '{"error": "memory", "message": "no more can be had"}'
SHARD = Shard(4, (Source("in.jsonl", "jsonl", None, ".jsonl", 10),))


def test_memory_that_runs_out_makes_batches_smaller(driver: Any) -> None:
    from refinery.workers.serialization import to_json
    from refinery.workers.tasks import ShardResult, Task

    done = json.dumps({"ok": to_json(ShardResult(4, rows=7))})
    of_the_machine = driver.exceptions.OutOfMemoryError("the machine has no more memory")
    runner, place = scripted(driver, MEMORY, of_the_machine, done)
    [result] = runner.run([SHARD], lambda shard: Task("stage_1", 100))
    assert result.rows == 7 and place.asked == [0, 1, 2]
    runner, place = scripted(driver, *[MEMORY] * 9)
    with pytest.raises(OperatorError, match=r"shard 4 \(in.jsonl\): memory ran out, also for small batches"):
        runner.run([SHARD], lambda shard: Task("stage_1", 100))
    assert place.asked == [0, 1, 2, 3, 4]


def test_smaller_batches_have_fewer_rows_too() -> None:
    """Memory that an operator needs for each of 8192 short rows would not shrink with the bytes of a batch."""
    from refinery.execution.ray.tasks import _divided
    from refinery.workers.tasks import Task

    task = Task("stage_1", 16 << 20)
    found = [_divided(task, 8**times) for times in range(5)]
    assert [each.batch_rows for each in found] == [8192, 1024, 128, 16, 2]
    assert [each.batch_bytes for each in found] == [16 << 20, 2 << 20, 256 << 10, 32 << 10, 4 << 10]


def test_a_shard_whose_process_dies_again_and_again_ends_the_run(driver: Any) -> None:
    from refinery.workers.tasks import Task

    runner, place = scripted(driver, *[driver.exceptions.WorkerCrashedError()] * 9)
    with pytest.raises(OperatorError, match="the process that ran it died 4 times"):
        runner.run([SHARD], lambda shard: Task("stage_1", 100))
    assert len(place.asked) == 4


def test_memory_that_an_operator_runs_out_of(driver: Any, tmp_path: Path) -> None:
    """Ten rows are too many for it; what is run again with fewer rows comes to the same."""
    folder = operator_folder(tmp_path / "own", greedy="return text + '!'")
    path = folder / "mappers" / "greedy_mapper.py"
    path.write_text(
        path.read_text().replace(
            "    return each", "    if len(column) > 10:\n        raise MemoryError\n    return each"
        )
    )
    write_lines(tmp_path / "in.jsonl", texts(f"text {number}" for number in range(100)))
    found = on_ray(tmp_path, ["greedy_mapper"], operators=[str(folder)])
    assert found.counts.kept == 100 and rows(found, "steps", "changed") == [(100,)]


@pytest.mark.long
def test_a_driver_that_is_killed_is_resumed(cluster: Any, driver: Any, tmp_path: Path) -> None:
    own = slow(tmp_path, 0.05)
    write_lines(tmp_path / "in.jsonl", samples(600))
    place = tmp_path / "ray"
    keys = KEYS | {"operators": [str(own)], "executor_type": "ray", "ray_address": cluster.address}
    recipe = settings(tmp_path, ["slow_mapper", *STEPS], export_path=place / "kept", work_dir=place, **keys)
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    command = [sys.executable, "-m", "refinery", "run", str(tmp_path / "recipe.yaml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        marks = place / ".refinery" / "parts" / "stage_1"
        until(lambda: len(list(marks.glob("*.done.json"))) >= 2, lambda: running.poll() is None)
        running.send_signal(signal.SIGKILL)
    (tmp_path / "slow").unlink()
    assert running.returncode == -signal.SIGKILL and not (place / "refinery.duckdb").exists()
    resumed = refinery.run(recipe)
    assert rows(resumed, "shards", "count(*) FILTER (reused > 0)")[0][0] >= 2
    keys = KEYS | {"operators": [str(own)]}
    assert without_reuse(local(tmp_path, ["slow_mapper", *STEPS], **keys)) == without_reuse(resumed)


def without_reuse(run: Run) -> dict[str, Any]:
    return content(run, "shards") | {"shards": rows(run, "shards", "* EXCLUDE (reused)")}


def test_nothing_is_left_where_a_run_fails(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(60))
    limits = {"document_deduplicator": {"max_removed_share": 0.01}}
    with pytest.raises(OperatorError, match="max_removed_share"):
        on_ray(tmp_path, [limits], **KEYS)
    assert not (tmp_path / "ray" / ".tmp").exists() and not (tmp_path / "ray" / "kept").exists()


def test_actors_for_which_there_is_no_room_hold_nothing_up(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that has died is counted for some seconds; actors for it get no process, and their shards another actor."""
    own = operator_folder(tmp_path / "own", '"resources": {"loads": True},', picky="return None")
    write_lines(tmp_path / "in.jsonl", samples(100))
    monkeypatch.setattr(ClusterConnection, "machines", lambda self: [{"CPU": 4.0}])
    keys = {**KEYS, "shard_size": 6_000, "operators": [str(own)]}
    run = on_ray(tmp_path, ["picky_mapper"], **keys)
    assert rows(run, "shards", "count(*) > 3") == [(True,)] and rows(run, "runs", "rows_kept") == [(100,)]
