"""What an operator does to its process, short of ending it, changes nothing of the run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from refinery.rundir import RunDir
from tests.engine.runs import exported, operator_folder, refine, texts

DEEDS = {
    "forks": 'if "4" in text: os.fork()\nreturn text + "."',
    "wanders": 'os.chdir("/")\nreturn text + "."',
}


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_copy_of_the_process_ends_and_the_folder_stays(
    tmp_path: Path, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    operators = operator_folder(tmp_path / "operators", **DEEDS)
    keys = {"workers": workers, "operators": str(operators), "export_path": "out/kept.jsonl", "shard_size": 200}
    samples = texts(f"text {k}" for k in range(30))
    run = refine(tmp_path, samples, ["forks_mapper", "wanders_mapper"], **keys)
    assert exported(run) == texts(f"text {k}.." for k in range(30))
    assert os.getcwd() == str(tmp_path) and run.counts.kept == 30


def test_a_copy_of_the_process_does_not_hold_the_folder(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    with run_dir.held():
        copy = os.fork()
        if not copy:
            time.sleep(60)
            os._exit(0)
    try:
        deadline = time.monotonic() + 10  # it has begun to sleep by then
        while run_dir.is_held() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not run_dir.is_held()
    finally:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
