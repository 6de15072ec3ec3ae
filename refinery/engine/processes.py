"""Worker processes of this machine: started, told what to do, listened to, and gone when this process is.

They are started by one thread that lives as long as they may, for the kernel ends a child when the thread that started
it ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import duckdb

from refinery import errors
from refinery.engine import wire

_COMMAND = (sys.executable, "-P", "-m", "refinery.engine.child")


class Died(Exception):
    """A worker process ended without an answer.

    status: its exit status, negative for a signal. at: first and last row of those it was running, None when it was
    running none. piece, probe: which of those that it was to look at it had begun.
    """

    def __init__(self, status: int, told: dict[str, Any]) -> None:
        self.status, self.at = status, told.get("at")
        self.piece, self.probe = told.get("piece"), told.get("probe")
        super().__init__(self.reason)

    @property
    def reason(self) -> str:
        """What became of it, as half a sentence."""
        if self.status < 0:
            try:
                return f"the worker process was killed by {signal.Signals(-self.status).name}"
            except ValueError:
                return f"the worker process was killed by signal {-self.status}"
        return f"the worker process ended with exit status {self.status}"


class Process:
    """One worker process. Used by one thread at a time; `kill` may come from another."""

    def __init__(self) -> None:
        paths = [os.path.abspath(path) for path in sys.path if path]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [*_COMMAND, str(os.getpid())]
        self._process = subprocess.Popen(command, **pipes, env=environment, process_group=0)  # type: ignore[call-overload]
        self.program: object = None  # what it was told to run,
        self.settings: object = None  # and how

    @property
    def pid(self) -> int:
        """Its number."""
        return int(self._process.pid)

    def ask(self, command: str) -> Any:
        """Send a command and wait for the answer. Raises Died, or what the command has raised there."""
        told: dict[str, Any] = {}
        try:
            self._process.stdin.write(command.encode("ascii") + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Died(self._process.wait(), told) from None
        for line in self._process.stdout:
            if not line.endswith(b"\n"):
                break
            message = json.loads(line)
            if "answer" in message:
                return wire.from_json(line)["answer"]
            if "error" in message:
                raise raised(message["error"])
            told |= message
        raise Died(self._process.wait(), told)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """End it, and see that it is gone."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except OSError:
                pass


class Nursery:
    """Starts worker processes, and keeps those that nobody uses until somebody does."""

    def __init__(self, count: int = 0) -> None:
        """count: how many to start at once."""
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="refinery-start")
        self._lock = threading.Lock()
        self._all: list[Process] = []
        self._idle: list[Future[Process]] = [self._starter.submit(self._start) for _ in range(count)]

    def _start(self) -> Process:
        process = Process()
        with self._lock:
            self._all.append(process)
        return process

    def take(self) -> Process:
        """A process that nobody uses; a new one when there is none."""
        with self._lock:
            idle = self._idle.pop(0) if self._idle else None
        return (idle or self._starter.submit(self._start)).result()

    def give_back(self, process: Process) -> None:
        """A process that can be used again."""
        found: Future[Process] = Future()
        found.set_result(process)
        with self._lock:
            self._idle.append(found)

    def bury(self, process: Process) -> None:
        """A process that has ended, or must."""
        process.close()
        with self._lock:
            self._all.remove(process)

    def close(self) -> None:
        """End all of them."""
        self._starter.shutdown(wait=True, cancel_futures=True)
        for process in self._all:
            process.close()
        self._all, self._idle = [], []


def raised(told: dict[str, Any]) -> BaseException:
    """The error that a worker process has told of."""
    kind, name, message = told["kind"], told["class"], told["message"]
    if kind == "memory":
        return MemoryError(message)
    if kind == "os":
        return OSError(told["errno"], told["strerror"] or message, told["filename"])
    found = getattr({"refinery": errors, "duckdb": duckdb}.get(kind), name, None)
    if found is errors.RecipeError:
        return errors.RecipeError([errors.Problem("", message)])
    if isinstance(found, type) and issubclass(found, (errors.RefineryError, duckdb.Error)):
        return found(message)
    error = RuntimeError(f"{name}: {message}" if message else name)
    error.add_note(f"In the worker process:\n{told.get('traceback', '')}")
    return error


@dataclass(frozen=True)
class Terms:
    """How worker processes work. timeout: seconds that a row may take in one function, None for no limit."""

    threads: int = 1
    timeout: float | None = None
