"""What an operator does to its process does not affect the run, and costs a row where the process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import refinery
from refinery.storage.run_folder import RunDir
from tests.conftest import ROOT
from tests.runs import exported, operator_folder, refine, rows, settings, texts, write_lines
from tests.sampling import named, sampled
from tests.waiting import HANG, until

DEEDS = {
    "forks": 'if "4" in text: os.fork()\nreturn text + "."',
    "wanders": 'os.chdir("/")\nreturn text + "."',
}


@pytest.mark.parametrize("workers", named({name: name for name in ("threads", "processes")}, "threads"))
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
            signal.pause()
            os._exit(0)
    try:
        until(lambda: not run_dir.is_held())
    finally:
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)


LEAVING = {
    "leaves": 'if "7" in text: os._exit(0)\nreturn text + "."',
    "catches": 'try:\n    if "7" in text: os._exit(0)\nexcept BaseException: pass\nreturn text + "."',
    "elsewhere": """
        import threading
        if "7" in text:
            thread = threading.Thread(target=os._exit, args=(0,))
            thread.start(), thread.join()
        return text
    """,
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", named({name: name for name in LEAVING}, "catches", "elsewhere"))
def test_a_function_that_ends_its_process_costs_the_row(tmp_path: Path, name: str) -> None:
    """Whatever `workers` says: code of users runs in worker processes."""
    operators = operator_folder(tmp_path / "operators", **{name: LEAVING[name]})
    keys = {"workers": "threads", "operators": str(operators)}
    run = refine(tmp_path, texts(f"text {k}" for k in range(10)), [f"{name}_mapper"], **keys)
    assert rows(run, "quarantine", "_row, error") == [(7, "the worker process ended with exit status 0")]
    assert run.counts.kept == 9


def test_a_function_that_closes_everything_costs_the_row(tmp_path: Path) -> None:
    operators = operator_folder(
        tmp_path / "operators", closes='if "7" in text: os.closerange(3, 500)\nreturn text + "."'
    )
    run = refine(
        tmp_path, texts(f"text {k}" for k in range(10)), ["closes_mapper"], operators=str(operators), workers="threads"
    )
    assert [row for (row,) in rows(run, "quarantine", "_row")] == [7] and run.counts.kept == 9


OWN = """\"\"\"x\"\"\"
import os, posix, sys, threading
from pathlib import Path
from os import _exit as end
sys.path.insert(0, str(Path(__file__).parent))
from refinery.kernels.core.arrow import each
{top}
OPERATOR = {{
    "doc": "x.", "version": 1, "params": {{}}, "checks": "fits", "sql": "SELECT own_f({{{{ text }}}}) AS text", "examples": [],
    "functions": {{"own_f": {{"columns": ["VARCHAR"], "constants": [], "returns": "VARCHAR", "runs": "{runs}", "call": "go"}}}},
}}
def fits(params):
    {checks}
    return []
def go(c):
    {body}
    return c
"""
# Where an operator ends the process before its rows run, and how; the message.
ENDS = {
    "import": ({"top": "os._exit(0)"}, "the function fits: the worker process ended with exit status 0"),
    "exit of the import": ({"top": "sys.exit(0)"}, "the import of the file ended with SystemExit(0)"),
    "replaced import": (
        {"top": "os.execv('/bin/false', ['false'])"},
        "the function fits: the worker process ended with exit status 1",
    ),
    "checks": ({"checks": "end(3)"}, "the function fits: the worker process ended with exit status 3"),
    "exit of checks": ({"checks": "sys.exit(0)"}, "the function fits ended with SystemExit(0)"),
    "checks that raise": ({"checks": "1 / 0"}, "the function fits raised ZeroDivisionError"),
}
# How a function ends its process.
DEEDS_OF_ROWS = {
    "another name": ({"body": "end(0)"}, 0),
    "posix": ({"body": "posix._exit(0)"}, 0),
    "replaced": ({"body": "os.execv('/bin/false', ['false'])"}, 1),
    "kernel": ({"body": "os._exit(0)", "runs": "kernel"}, 0),
    "library": ({"body": "import ctypes; ctypes.CDLL(None)._exit(0)"}, 0),
}


def own_recipe(folder: Path, **parts: str) -> Path:
    """A recipe with one operator; parts: code that stands in its file, by place."""
    path = folder / "own" / "mappers" / "own_mapper.py"
    path.parent.mkdir(parents=True)
    path.write_text(OWN.format(**{"top": "", "checks": "pass", "body": "pass", "runs": "python"} | parts))
    write_lines(folder / "in.jsonl", texts(f"text {k}" for k in range(10)))
    recipe = settings(folder, [{"own_mapper": {}}], operators=str(folder / "own"))
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return folder / "recipe.yaml"


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "refinery", *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANG)


@pytest.mark.parametrize("name", named({name: name for name in ENDS}, "import", "exit of checks"))
@pytest.mark.parametrize("what", sampled(["run", "check"]))
def test_no_code_of_an_operator_ends_a_command_without_a_word(tmp_path: Path, name: str, what: str) -> None:
    parts, message = ENDS[name]
    done = command(what, own_recipe(tmp_path, **parts))
    assert done.returncode == 4 and message in done.stderr and "own_mapper.py" in done.stderr
    assert not (tmp_path / "run" / "out.jsonl").exists() and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", named({name: name for name in DEEDS_OF_ROWS}, "library"))
def test_each_way_of_ending_the_process_costs_rows(tmp_path: Path, name: str) -> None:
    parts, status = DEEDS_OF_ROWS[name]
    run = refinery.run(yaml.safe_load(own_recipe(tmp_path, **parts).read_text()))
    error = f"the worker process ended with exit status {status}"
    assert rows(run, "quarantine", "_row, error") == [(row, error) for row in range(10)]


@pytest.mark.parametrize(
    "top", sampled(["import atexit; atexit.register(end, 0)", "threading.Timer(0.05, end, (0,)).start()"])
)
def test_threads_and_handlers_that_it_leaves_end_no_run(tmp_path: Path, top: str) -> None:
    done = command("run", own_recipe(tmp_path, top=top))
    assert done.returncode in (0, 4), done.stderr


def test_programs_and_copies_that_an_operator_starts_end_as_they_want(tmp_path: Path) -> None:
    body = "\n    ".join(
        [
            "import subprocess",
            "assert subprocess.run([sys.executable, '-c', 'import os; os._exit(3)']).returncode == 3",
            "assert os.spawnv(os.P_WAIT, '/bin/true', ['true']) == 0",
            "copy = os.fork()",
            "if not copy: os._exit(5)",
            "assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 5",
        ]
    )
    done = command("run", own_recipe(tmp_path, body=body))
    assert done.returncode == 0 and len((tmp_path / "run" / "out.jsonl").read_text().splitlines()) == 10
