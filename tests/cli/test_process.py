"""End of a command's process: exit code, output, exit handlers of others, forked copies."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from refinery.errors import OutputError
from tests.waiting import HANG

CODE = """
import atexit, os, sys, threading
import refinery.cli.main
from refinery.__main__ import start

def late():
    threading.main_thread().join()  # still there when the command has ended
    print("thread")

def main():
    atexit.register(print, "handler")
    threading.Thread(target=late).start()
    if not os.fork():
        sys.exit(9)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
    {ending}

refinery.cli.main.main = main
start()
"""


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("pass", 0),
        pytest.param("sys.exit()", 0, marks=pytest.mark.long),
        ("sys.exit(5)", 5),
        pytest.param("sys.exit('why')", 1, marks=pytest.mark.long),
        ("raise KeyboardInterrupt", 130),
        ("raise ValueError('x')", 1),
    ],
)
def test_what_a_process_leaves(ending: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", CODE.replace("{ending}", ending)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-2:]) == (code, ["thread", "handler"]), done.stderr
    assert "9" in lines  # the exit code of its copy
    assert ("why" in done.stderr, "ValueError: x" in done.stderr) == ("why" in ending, "ValueError" in ending)


def test_output_that_cannot_be_written() -> None:
    code = "import refinery.cli.main; from refinery.__main__ import start; refinery.cli.main.main = lambda: print('x'); start()"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 120


@pytest.mark.parametrize("words", [["--help"], ["ops"]])
def test_commands_say_that_their_output_cannot_be_written(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "refinery", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr.strip() == "refinery: standard output cannot be written: No space left on device"
    assert done.returncode == OutputError.exit_code


def test_commands_say_that_standard_output_is_closed() -> None:
    command = 'exec "$0" -m refinery ops >&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True)
    assert done.stderr.strip() == "refinery: standard output cannot be written: Bad file descriptor"
    assert done.returncode == OutputError.exit_code


@pytest.mark.parametrize(
    ("closed", "code"),
    [
        ("2>&-", 2),
        pytest.param(">&- 2>&-", 2, marks=pytest.mark.long),
        ("<&- >&- 2>&-", 2),
        pytest.param("<&- 2>&-", 2, marks=pytest.mark.long),
    ],
)
def test_closed_standard_files_change_no_exit_code(closed: str, code: int) -> None:
    command = f'exec "$0" -m refinery check nowhere.yaml {closed}'
    assert subprocess.run(["sh", "-c", command, sys.executable]).returncode == code


IMPORTING = """
import signal, time, types
from refinery.cli.interrupts import watch_interrupts

seen = watch_interrupts()
frame = types.SimpleNamespace(f_code=types.SimpleNamespace(co_filename="<frozen importlib._bootstrap>"))
signal.getsignal(signal.SIGINT)(signal.SIGINT, frame)
print(seen)
try:
    time.sleep(30)
except KeyboardInterrupt:
    print(seen)
"""


def test_an_import_is_not_left_in_its_middle() -> None:
    """Its lock would stay, and all other threads wait for it: the interrupt comes a little later."""
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=HANG)
    assert done.stdout == "[]\n[2]\n", done.stderr
