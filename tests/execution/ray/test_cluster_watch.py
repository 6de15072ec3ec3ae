"""A run whose cluster is lost ends with a message, for Ray would end the process without one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml

from refinery.execution.ray.cluster_watch import HEAD, OWN, ClusterWatch, Server
from refinery.monitoring import state
from refinery.storage.run_folder import RunDir
from refinery.workers import process_guard
from tests.execution.ray.gates import until
from tests.runs import operator_folder, settings, texts, write_lines

RAYLET = Server("the raylet", "127.0.0.1", 1, OWN)
GCS = Server("the head", "127.0.0.1", 2, HEAD)


def test_a_server_is_lost_after_its_patience() -> None:
    silent: set[Server] = set()
    watch = ClusterWatch([RAYLET, GCS], lambda server: server not in silent)
    assert watch.lost(1000.0) is None
    silent.add(GCS)
    assert watch.lost(1000.0 + HEAD - 1) is None
    assert watch.lost(1000.0 + HEAD) is GCS
    silent.clear()
    assert watch.lost(2000.0) is None
    silent.add(RAYLET)
    assert watch.lost(2000.0 + OWN) is RAYLET


def test_a_head_that_comes_back_in_time_is_not_lost() -> None:
    answers = iter([True, False, True, False])
    watch = ClusterWatch([GCS], lambda server: next(answers))
    assert [watch.lost(1000.0 + 30 * look) for look in range(4)] == [None] * 4


def test_a_lost_cluster_ends_a_command_with_reason_and_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(process_guard, "_end", heard.append)
    monkeypatch.setattr(process_guard, "last_words", [lambda: "3 shards are done and kept", lambda: ""])
    watch = ClusterWatch([RAYLET])
    watch.hears += [lambda reason: heard.append("noted"), lambda reason: 1 / 0]  # type: ignore[list-item, func-returns-value]
    watch.give_up(RAYLET)
    assert heard == [
        "noted",
        "the raylet (127.0.0.1:1) does not answer any more. The same command continues once there is a cluster again\n"
        "3 shards are done and kept",
    ]


@pytest.mark.parametrize("server", ["raylet", pytest.param("gcs_server", marks=pytest.mark.long)])
def test_a_killed_server_of_an_own_cluster(tmp_path: Path, server: str) -> None:
    pytest.importorskip("ray")
    flag = tmp_path / "begun"
    own = operator_folder(tmp_path / "own", slow=f"Path({str(flag)!r}).touch()\ntime.sleep(600)\nreturn None")
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    place = tmp_path / "run"
    keys = {"executor_type": "ray", "ray_address": "local", "operators": [str(own)], "export_path": place / "kept"}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(settings(tmp_path, ["slow_mapper"], work_dir=place, **keys)))
    command = [sys.executable, "-m", "refinery", "run", str(tmp_path / "recipe.yaml")]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: str(flag) if flag.exists() else "")
    started = psutil.Process(running.pid).children(recursive=True)
    [killed] = [child for child in started if child.name() == server]
    killed.send_signal(signal.SIGKILL)
    _, said = running.communicate()
    assert running.returncode == 4
    assert [line for line in said.splitlines() if line.startswith("refinery: ") and "does not answer any more" in line]
    now = state.look(RunDir(place))
    assert now["state"] == state.FAILED and "does not answer any more" in now["error"]
    until(lambda: not any(child.is_running() for child in started))  # workers see that they have lost their raylet
