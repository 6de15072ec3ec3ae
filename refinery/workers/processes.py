"""Worker processes of this machine: started, told what to do, listened to, and gone when this process is."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import duckdb

from refinery import errors
from refinery.workers import serialization

_COMMAND = (sys.executable, "-P", "-m", "refinery.workers.process_main")


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
    """One worker process. Used by one thread at a time; `kill` may come from another.

    status: gives its exit status, once it has hung up.
    """

    def __init__(self, pid: int, channel: socket.socket, status: Callable[[int], int]) -> None:
        self.pid, self._channel, self._status = pid, channel, status
        self._answers = channel.makefile("rb")
        self.program: object = None  # what it was told to run,
        self.settings: object = None  # and how

    def ask(self, command: str) -> Any:
        """Send a command and wait for the answer. Raises Died, or what the command has raised there."""
        told: dict[str, Any] = {}
        try:
            self._channel.sendall(command.encode("ascii") + b"\n")
            for line in self._answers:
                if not line.endswith(b"\n"):
                    break
                message = json.loads(line)
                if "answer" in message:
                    return serialization.from_json(line)["answer"]
                if "error" in message:
                    raise raised(message["error"])
                told |= message
        except ConnectionError:
            pass
        raise Died(self._status(self.pid), told)

    def kill(self) -> None:
        """End it at once; only while it is somebody's."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Hang up, which ends it when it is idle."""
        self._answers.close()
        self._channel.close()


class Nursery:
    """What worker processes come from, and where those are that nobody uses; started at once, ready a second later."""

    def __init__(self, lines: bool = True) -> None:
        """lines: they will read JSON lines."""
        paths = [os.path.abspath(path) for path in sys.path if path]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
        self._control, other = socket.socketpair()
        with other:
            command = [*_COMMAND, str(os.getpid()), *(["lines"] if lines else [])]
            self._mother = subprocess.Popen(command, stdin=other.fileno(), env=environment, process_group=0)
        self._lock = threading.Lock()
        self._idle: list[Process] = []

    def take(self) -> Process:
        """A process that nobody uses; a new one when there is none. Raises OperatorError when none can be started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            here, there = socket.socketpair()
            with there:
                pid = self._ask(b"fork", [there.fileno()])
            return Process(pid, here, self._status)

    def give_back(self, process: Process) -> None:
        """A process that can be used again."""
        with self._lock:
            self._idle.append(process)

    def _status(self, pid: int) -> int:
        """The exit status of a process that has hung up."""
        with self._lock:
            return self._ask(b"wait %d" % pid)

    def _ask(self, request: bytes, files: Sequence[int] = ()) -> int:
        with suppress(ConnectionError, ValueError):
            socket.send_fds(self._control, [request], files)
            return int(self._control.recv(64))
        status = self._mother.wait()
        raise errors.OperatorError(f"worker processes cannot be started any more: exit status {status}")

    def close(self) -> None:
        """End all of them; none is left when this returns, but for what is killed in uninterruptible sleep."""
        for process in self._idle:
            process.close()
        self._idle = []
        self._control.close()
        try:
            self._mother.wait(5)
        except subprocess.TimeoutExpired:
            self._mother.kill()
            self._mother.wait()


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
