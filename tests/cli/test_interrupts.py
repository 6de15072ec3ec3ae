"""Ctrl-C ends a command in time, whatever it is at, and nothing half-written is published.

Times are not asserted: what is waited for here would go on for hours without Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.engine.runs import lines_of, operator_folder, settings, write_lines

ENDLESS = {"sql_filter": {"where": "(SELECT sum(range) FROM range(1000000000000000)) >= 0"}}
STUCK = {"sql_filter": {"where": "levenshtein(repeat('a', n), repeat('b', n)) >= 0"}}
FOLDED = {"sql_filter": {"where": "levenshtein(repeat('a', 9000000), repeat('b', 9000000)) >= 0"}}
BEGIN = 'Path(__file__).parents[2].joinpath("begun").touch()\nif "WAITS" in os.environ: {}\nreturn text + "."'
DEEDS = {
    "sleeps": BEGIN.format("time.sleep(1000)"),
    "spins": BEGIN.format('import re; re.match(r"(a+)+$", "a" * 60 + "b")'),  # and holds the interpreter's lock
}


class Command:
    """A command that runs until it is interrupted."""

    def __init__(self, folder: Path, words: list[str], step: Any, last: int = 5, **keys: Any) -> None:
        """last: of the five samples, those at the end that keep the steps busy for ever."""
        self.folder = folder
        operators = operator_folder(folder / "operators", **DEEDS)
        write_lines(
            folder / "in.jsonl", [{"text": f"text {k}", "n": 9_000_000 if k >= 5 - last else 1} for k in range(5)]
        )
        recipe = settings(folder, [step], operators=str(operators), **keys)
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
        self.words = [sys.executable, "-m", "refinery", *words, str(folder / "recipe.json")]
        environment = {**os.environ, "WAITS": "1"}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(self.words, cwd=ROOT, env=environment, **pipes)

    def wait_for(self, name: str) -> None:
        """Wait until there is a file of a name."""
        deadline = time.monotonic() + 120
        while not any(self.folder.rglob(name)):
            assert self.process.poll() is None and time.monotonic() < deadline, self.process.communicate()
            time.sleep(0.05)

    def interrupt(self, times: int = 1) -> tuple[int, str]:
        """Press Ctrl-C; exit code and standard error."""
        for number in range(times):
            time.sleep(0.5 if number else 0)
            self.process.send_signal(signal.SIGINT)
        try:
            _, said = self.process.communicate(timeout=20)
        finally:
            self.process.kill()
        assert not (self.folder / "run" / "out.jsonl").exists()
        return self.process.returncode, said


@pytest.mark.parametrize("words", [["check"], ["run"], ["sql", "--explain=analyze"]], ids=str)
@pytest.mark.parametrize("step", [ENDLESS, FOLDED], ids=["endless", "folded"])
def test_while_statements_are_bound(tmp_path: Path, words: list[str], step: Any) -> None:
    if words != ["check"] and step is FOLDED:
        pytest.skip("the same place")
    command = Command(tmp_path, words, step)
    time.sleep(3)
    code, said = command.interrupt()
    assert code == 130 and "interrupted" in said


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_while_an_operator_runs(tmp_path: Path, workers: str) -> None:
    command = Command(tmp_path, ["run"], "sleeps_mapper", workers=workers)
    command.wait_for("begun")
    code, said = command.interrupt()
    assert code == 130 and "interrupted" in said
    subprocess.run(command.words, cwd=ROOT, check=True, capture_output=True, timeout=120)
    assert [sample["text"] for sample in lines_of(tmp_path / "run" / "out.jsonl")] == [f"text {k}." for k in range(5)]
    assert not list((tmp_path / "run").rglob("*.tmp"))


def test_while_sql_does_not_come_back(tmp_path: Path) -> None:
    command = Command(tmp_path, ["run"], STUCK, workers="threads")
    command.wait_for(".running")
    time.sleep(1)
    code, said = command.interrupt()
    assert code == 130 and "interrupted" in said


def test_a_process_that_has_to_be_ended_says_what_is_kept(tmp_path: Path) -> None:
    command = Command(tmp_path, ["run"], STUCK, last=1, workers="threads", shard_size=40)
    command.wait_for("00002.done.json")
    time.sleep(1)
    code, said = command.interrupt()
    assert code == 130 and "interrupted, before" in said
    assert re.search(r"[34] shards are done and kept: run the same command again", said)


def test_twice_where_an_operator_holds_the_lock(tmp_path: Path) -> None:
    command = Command(tmp_path, ["run"], "spins_mapper", workers="threads")
    command.wait_for("begun")
    assert command.interrupt(times=2)[0] in (-signal.SIGINT, 130)


def test_once_where_a_worker_process_holds_its_lock(tmp_path: Path) -> None:
    command = Command(tmp_path, ["run"], "spins_mapper", workers="processes")
    command.wait_for("begun")
    assert command.interrupt()[0] == 130
