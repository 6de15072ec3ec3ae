"""Workers of a cluster are watched: machines, shards and logs are in the status and the tables of the run."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from refinery.cli.render.status import lines
from refinery.execution.ray import reports
from refinery.execution.ray.board import Board
from refinery.monitoring import nodes
from refinery.monitoring.state import look
from refinery.monitoring.watch import RunMonitor
from refinery.storage.run_folder import RunDir
from tests.execution.ray.runs import on_ray
from tests.runs import operator_folder, rows, settings, texts, write_lines
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("_shared_actors", "actors")

SLOW = """
    import logging
    time.sleep(0.02)
    if text.endswith(" 7"):
        logging.getLogger("mine").info("seen %s", text)
    return None
"""


def test_a_run_on_a_cluster_is_watched(driver: Any, tmp_path: Path) -> None:
    own = operator_folder(tmp_path / "own", slow=SLOW)
    write_lines(tmp_path / "in.jsonl", texts([f"text number {n}" for n in range(400)]))
    seen: list[dict[str, Any]] = []
    end = threading.Event()

    def look_on() -> None:
        while not end.wait(0.3):
            seen.append(look(RunDir(tmp_path / "ray")))

    looking = threading.Thread(target=look_on, daemon=True)
    looking.start()
    keys = {"operators": [str(own)], "shard_size": 4_000, "open_monitor": True}
    run = on_ray(tmp_path, ["slow_mapper"], **keys)
    end.set()
    looking.join()
    measured = [found for found in seen if found.get("nodes") and found.get("running")]
    assert measured and measured[-1]["retries"] == 0
    text = "\n".join(lines(measured[-1], "here"))
    assert "nodes    " in text and " workers" in text and "runs     shards " in text
    assert {shard["shard"] for found in measured for shard in found["running"]} <= set(range(len(rows(run, "shards"))))
    columns = (
        "count(*) > 0, count(DISTINCT node), min(memory) > 1e6, sum(rows_per_second) > 0, sum(bytes_per_second) > 0"
    )
    [(there, machines, *positive)] = rows(run, "monitor", columns, "worker = 'node'")
    assert there and machines in (1, 2) and all(positive)
    [(spent, most)] = rows(run, "monitor", "sum(cpu_seconds), max(memory)", "worker = 'node'")
    [(all_spent, all_most)] = rows(run, "monitor", "sum(cpu_seconds), max(memory)", "worker = 'all'")
    assert all_spent > 0.5 * spent > 0 and all_most > most
    [(processes,)] = rows(run, "monitor", "count(DISTINCT pid)", "worker LIKE 'process %' AND node LIKE '% %'")
    assert processes >= 1
    log = [json.loads(line) for line in (tmp_path / "ray/.refinery/log/run.jsonl").read_text().splitlines()]
    mine = [found for found in log if found["logger"] == "mine"]
    assert sorted(found["message"] for found in mine) == sorted(
        f"seen text number {n}" for n in range(400) if str(n) == "7"
    )
    assert mine[0]["node"] and mine[0]["pid"]


def test_retries_are_counted(driver: Any, tmp_path: Path) -> None:
    once = tmp_path / "once"
    body = f"""
        if text == "b" and not Path({str(once)!r}).exists():
            Path({str(once)!r}).write_text("")
            import psutil
            psutil.Process().parents()[1].kill()  # Ray's process, of which a child runs the code of users
        return None
    """
    own = operator_folder(tmp_path / "own", fatal=body)
    write_lines(tmp_path / "in.jsonl", texts(["a", "b", "c"]))
    run = on_ray(tmp_path, ["fatal_mapper"], operators=[str(own)])
    assert run.counts.kept == 3
    log = [json.loads(line) for line in (tmp_path / "ray/.refinery/log/run.jsonl").read_text().splitlines()]
    [retry] = [found for found in log if found["event"] == "retry"]
    assert (retry["shard"], retry["reason"]) == (0, "processes died 1 times")


@pytest.mark.long
def test_the_temporary_folder_of_a_killed_driver_goes(cluster: Any, driver: Any, tmp_path: Path) -> None:
    own = operator_folder(tmp_path / "own", slow="time.sleep(0.2)\nreturn None")
    write_lines(tmp_path / "in.jsonl", texts([f"text {n}" for n in range(500)]))
    place = tmp_path / "run"
    keys = {
        "executor_type": "ray",
        "ray_address": cluster.address,
        "operators": [str(own)],
        "export_path": place / "kept",
    }
    recipe = settings(tmp_path, ["slow_mapper"], work_dir=place, **keys)
    code = f"import refinery; refinery.run({recipe!r})"
    running = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: list((place / ".tmp").glob("*/")) and list((place / ".refinery/parts").glob("*")))
    time.sleep(3)
    running.kill()
    running.wait()
    assert (place / ".tmp").exists()
    until(lambda: not (place / ".tmp").exists())


def test_stragglers_are_shards_that_take_much_longer_than_others() -> None:
    running = [{"shard": 4, "seconds": 40.0}, {"shard": 5, "seconds": 11.0}]
    assert nodes.stragglers(running, [10.0, 12.0]) == []
    assert nodes.stragglers(running, [10.0, 12.0, 11.0]) == [{"shard": 4, "seconds": 40.0, "usual": 11.0}]
    assert [shard["shard"] for shard in nodes.stragglers(running, [1.0, 2.0, 3.0])] == [4, 5]


def report(node: str, pid: int, running: bool = True, **more: Any) -> dict[str, Any]:
    """A report of a process that has used half a processor for two seconds."""
    used = {"cpu_seconds": 1.0, "covered": 2.0, "memory": 100, "read_bytes": None, "written_bytes": 2.0}
    machine = {"node": node, "host": node, "disk_free": 7, "gpu": None, "gpu_memory": None}
    about = {"pid": pid, "shard": pid, "seconds": 3.0, "running": running, "rows": 5, "bytes": 9}
    return machine | used | about | more


def test_machines_are_sums_of_their_workers() -> None:
    found = nodes.WorkerReports()
    found.take([report("a", 1), report("a", 2, running=False), report("b", 3, gpu=1.5)], 1.0)
    columns = ("node", "workers", "cpu", "cpu_seconds", "rows", "read", "written", "gpu", "disk_free")
    assert [tuple(node[name] for name in columns) for node in found.by_node()] == [
        ("a", 2, 1.0, 2.0, 10, None, 2.0, None, 7),
        ("b", 1, 0.5, 1.0, 5, None, 1.0, 1.5, 7),
    ]
    assert [(shard["shard"], round(shard["seconds"])) for shard in found.running()] == [(1, 3), (3, 3)]
    found.take([], 1.0)
    assert [(node["workers"], node["rows"], node["cpu"], node["memory"]) for node in found.by_node()] == [
        (1, 0, 0, 100),
        (1, 0, 0, 100),
    ]


def test_tasks_other_than_shards_are_workers_without_a_shard() -> None:
    found = nodes.WorkerReports()
    found.take([report("a", 1, shard=None)], 1.0)
    assert found.running() == [] and len(found.workers()) == 1


def test_processes_that_are_measured_by_the_driver_count_once() -> None:
    found = nodes.WorkerReports()
    found.take([report("here", 1), report("here", 2, gpu=0.5), report("there", 1, gpu=2.0)], 1.0)
    sums = found.beyond("here", {1})
    assert (sums["cpu"], sums["cpu_seconds"], sums["memory"], sums["gpu"]) == (1.0, 2.0, 200, 2.5)
    assert found.beyond("here", {1, 2})["memory"] == 100
    assert nodes.WorkerReports().beyond("here", set())["memory"] is None


def test_the_board_adds_up_what_reports_count() -> None:
    board = Board()
    for _ in range(3):
        board.report(report("a", 1), [])
    board.report(report("a", 2), [])
    reports, _ = board.take()
    assert sorted(
        (one["pid"], one["cpu_seconds"], one["rows"], one["read_bytes"], one["memory"]) for one in reports
    ) == [
        (1, 3.0, 15, None, 100),
        (2, 1.0, 5, None, 100),
    ]


def test_a_run_uses_what_all_machines_use(tmp_path: Path) -> None:
    """The driver's own processes and those of other machines are one row, in the status, too."""
    sent = [report("there 1", 5, memory=10**12, cpu_seconds=1000.0, covered=10.0)]
    with RunMonitor(RunDir(tmp_path), {}, 1, 100) as monitor:
        monitor._measure(first=True)
        monitor.remote = lambda: (sent, [])
        monitor.began(1, "shards")
        sent = []
        table = monitor.table().to_pylist()
        now = monitor._cluster()
    whole = max((row for row in table if row["worker"] == "all"), key=lambda row: row["cpu_seconds"])
    assert 1000 <= whole["cpu_seconds"] < 1100 and 100 <= whole["cpu"] < 200 and whole["memory"] > 10**12
    assert sum(row["cpu_seconds"] for row in table if row["worker"] == "all") < 1100
    assert [node["node"] for node in now["nodes"]] == ["there 1"] and monitor.peak > 10**12


def test_a_task_reports_while_it_runs_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    class Method:
        def remote(self, report: Any, records: Any) -> None:
            heard.append(report)

    class Actor:
        report = Method()

    monkeypatch.setattr(reports, "_WORTH", 0.0)
    tasks = reports.TaskReports(lambda: {"memory": 1})
    with tasks.task(Actor()):
        pass
    assert heard[-1]["memory"] == 1 and heard[-1]["shard"] is None and heard[-1]["running"] is False
    with tasks.task(None):
        count = len(heard)
    assert len(heard) == count


def test_processor_time_counts_from_the_start_of_a_process() -> None:
    code = "from refinery.execution.ray.reports import ProcessUse; u = ProcessUse(); print(u.taken()['cpu_seconds'], u.taken()['cpu_seconds'])"
    first, second = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert float(first) > 0.01 and float(second) < float(first)
