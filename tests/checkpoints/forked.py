"""Runs recipes and commands in forks of a process that has everything loaded, and kills them: a run begins in no time.

Reads JSON lines {"recipe": {...} or "command": [...], "kill": seconds, "at": number, "interrupts": count, "folder": current folder};
answers each with {"code": exit code or -9, "seconds": ..., "reused": [of, all] or null, "operations": ..., "error": text}. at: the
fork is killed right before the file operation of this number: a file opened for writing, a rename, a removal, a new folder.
interrupts: Ctrl-C arrives in place of the kill, and once more at the next operation for 2. operations: how many there were.
The process itself starts no thread, so that its forks are sound.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import tempfile
import threading
import time
from typing import Any

import sqlglot.dialects.duckdb
from numba.core.registry import cpu_target

import refinery.api
import refinery.execution.ray
import refinery.execution.run
import refinery.results.trace
from refinery.cli.interrupts import watch_interrupts
from refinery.compiler.templates import template
from refinery.execution.open import open_recipe
from refinery.operators import shipped
from refinery.operators.versions import versions

# Seconds after which a run that should take one is ended, and says where it was.
HANGS = 900

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Operations:
    """Counts what a process does to files of the test, and ends the process at one of them."""

    def __init__(self, at: int | None, interrupts: int) -> None:
        self.count, self._at, self._owner = 0, at, os.getpid()
        self._signals = [signal.SIGINT] * interrupts or [signal.SIGKILL]
        self._below = (tempfile.gettempdir(), os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir())
        sys.addaudithook(self._seen)

    def _seen(self, event: str, args: tuple[Any, ...]) -> None:
        if event not in _CHANGES and not (event == "open" and isinstance(args[2], int) and args[2] & _WRITES):
            return
        if os.getpid() != self._owner or not str(args[0]).startswith(self._below):
            return
        self.count += 1
        if self._at is not None and self.count >= self._at and self._signals:
            os.kill(self._owner, self._signals.pop())


def execute(asked: dict[str, Any]) -> tuple[int, Any]:
    """The exit code, and how many shards were there already."""
    if command := asked.get("command"):
        from refinery.cli.main import cli

        code = cli.main(command, standalone_mode=False)
        return int(code or 0), None
    opened, library = open_recipe(asked["recipe"], {})
    return 0, refinery.execution.run.execute(opened, library).reused


def run(asked: dict[str, Any], answer: int) -> None:
    """Do what is asked, and answer."""
    faulthandler.dump_traceback_later(HANGS, exit=True)
    sys.stdout = sys.stderr  # the answers of the process stand on standard output
    interrupts = asked.get("interrupts") or 0
    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
        watch_interrupts()
    operations, found = Operations(asked.get("at"), interrupts), {"reused": None, "error": ""}
    code = 1
    os.chdir(asked.get("folder") or ".")
    try:
        code, found["reused"] = execute(asked)
    except BaseException as error:
        found["error"] = " ".join(map(str, (type(error).__name__, error, *getattr(error, "__notes__", ()))))
    for thread in threading.enumerate():  # as at the end of any process
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    os.write(answer, json.dumps(found | {"operations": operations.count}).encode())
    os._exit(code)


def forked(asked: dict[str, Any]) -> dict[str, Any]:
    """Run it in a fork, for at most so many seconds."""
    reads, writes = os.pipe()
    began = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(reads)
        run(asked, writes)
    os.close(writes)
    if asked.get("kill") is not None:
        time.sleep(asked["kill"])
        os.kill(child, signal.SIGKILL)
    with open(reads, "rb") as answer:
        found = answer.read()
    _, status = os.waitpid(child, 0)
    plain = json.loads(found) if found else {"reused": None, "error": "", "operations": None}
    return {"code": os.waitstatus_to_exitcode(status), "seconds": time.perf_counter() - began, **plain}


def warm() -> None:
    """Do once what each fork would do by itself, as far as it starts no thread."""
    cpu_target.target_context.refresh()  # what machine code is linked with
    sqlglot.dialects.duckdb.DuckDB()
    versions()
    for path in (shipped() / "sql" / "tables").glob("*.sql"):
        template(path.read_text(encoding="utf-8"))


warm()
for line in sys.stdin:
    print(json.dumps(forked(json.loads(line))), flush=True)
