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
from refinery.monitoring import nodes
from refinery.monitoring.state import look
from refinery.storage.run_folder import RunDir
from tests.execution.ray.runs import on_ray
from tests.runs import operator_folder, rows, settings, texts, write_lines

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
            os.kill(os.getpid(), signal.SIGKILL)
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
    wait_for(lambda: list((place / ".tmp").glob("*/")) and list((place / ".refinery/parts").glob("*")), 60)
    time.sleep(3)
    running.kill()
    running.wait()
    assert (place / ".tmp").exists()
    wait_for(lambda: not (place / ".tmp").exists(), 40)


def wait_for(holds: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_stragglers_are_shards_that_take_much_longer_than_others() -> None:
    running = [{"shard": 4, "seconds": 40.0}, {"shard": 5, "seconds": 11.0}]
    assert nodes.stragglers(running, [10.0, 12.0]) == []
    assert nodes.stragglers(running, [10.0, 12.0, 11.0]) == [{"shard": 4, "seconds": 40.0, "usual": 11.0}]
    assert [shard["shard"] for shard in nodes.stragglers(running, [1.0, 2.0, 3.0])] == [4, 5]


def test_machines_are_sums_of_their_workers() -> None:
    def report(node: str, pid: int, running: bool = True, **more: Any) -> dict[str, Any]:
        used = {
            "cpu": 0.5,
            "memory": 100,
            "read": None,
            "written": 1.0,
            "disk_free": 7,
            "gpu": None,
            "gpu_memory": None,
        }
        now = time.time()
        return {
            "node": node,
            "pid": pid,
            **used,
            "shard": pid,
            "since": now - 3,
            "running": running,
            "rows": 5,
            "bytes": 9,
            "at": now,
        } | more

    found = nodes.WorkerReports()
    found.take([report("a", 1), report("a", 2, running=False), report("b", 3, at=time.time() - 100)])
    assert [(node["node"], node["workers"], node["cpu"], node["rows"], node["read"]) for node in found.by_node()] == [
        ("a", 2, 1.0, 10, None)
    ]
    assert [(shard["shard"], round(shard["seconds"])) for shard in found.running()] == [(1, 3), (3, 3)]
    found.take([])
    assert [(node["workers"], node["rows"]) for node in found.by_node()] == [(1, 0)]
