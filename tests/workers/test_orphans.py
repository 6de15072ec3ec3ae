"""Whatever ends a run ends its worker processes with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from refinery.operators.processes import ForkServer, Process
from tests.conftest import ROOT
from tests.runs import operator_folder, settings, texts, write_lines
from tests.waiting import HANG, until


def workers_of(driver: int) -> list[int]:
    """Numbers of the worker processes of a run, and of the one that they are forked from."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(") ")[2][0]
            except OSError:
                continue
            if b"refinery.workers.process_main" in words and str(driver).encode() in words and state != "Z":
                found.append(int(entry.name))
    return found


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A run whose operator never comes back; it leaves a file when it is there."""
    body = f"open({str(tmp_path / 'busy')!r}, 'a').close()\nwhile True:\n    import time; time.sleep(0.01)"
    folder = operator_folder(tmp_path / "operators", busy=body)
    write_lines(tmp_path / "in.jsonl", texts([f"text {k}" for k in range(10)]))
    recipe = settings(tmp_path, ["busy_mapper"], np=2, shard_size=100, workers="processes", operators=str(folder))
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, None, marks=pytest.mark.long),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_no_worker_outlives_its_run(tmp_path: Path, recipe: Path, sent: signal.Signals, code: int | None) -> None:
    command = [sys.executable, "-m", "refinery", "run", str(recipe), "--quiet"]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until((tmp_path / "busy").exists, lambda: run.poll() is None)
        assert len(workers_of(run.pid)) >= 2
        run.send_signal(sent)
        said, _ = run.communicate(timeout=HANG)
        assert code is None or run.returncode == code, said
        assert run.returncode != 0 and "Traceback" not in said
        until(lambda: not workers_of(run.pid))
    finally:
        run.kill()
        run.wait()


def test_a_server_outlives_the_thread_that_started_it() -> None:
    """The kernel tells a child of its parent's death when the thread ends that has started it."""
    started: list[ForkServer] = []
    thread = threading.Thread(target=lambda: started.append(ForkServer()))
    thread.start()
    thread.join()
    process = Process(started[0])
    process.kill()
    assert started[0].status(process.pid) == -signal.SIGKILL
    process.close()
    started[0].close()
