"""Worker processes of this machine, and the fork server that they come from. They end with this process."""

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

from refinery import errors
from refinery.common.lazy import duckdb
from refinery.monitoring.log import for_processes
from refinery.workers import serialization

_COMMAND = (sys.executable, "-P", "-m", "refinery.workers.process_main")


class WorkerDied(Exception):
    """A worker process ended without an answer.

    status: exit status, negative for a signal. at: first and last row that it was running, or None. row: the one row that it
    had in its hands, or began to read, if known. piece, probe: number of the piece or expression that it had begun last.
    """

    def __init__(self, status: int, last: dict[str, Any]) -> None:
        self.status, self.at, self.row = status, last.get("at"), last.get("row")
        self.piece, self.probe = last.get("piece"), last.get("probe")
        super().__init__(self.reason)

    @property
    def reason(self) -> str:
        """The end of the process, as half a sentence."""
        if self.status < 0:
            try:
                return f"the worker process was killed by {signal.Signals(-self.status).name}"
            except ValueError:
                return f"the worker process was killed by signal {-self.status}"
        return f"the worker process ended with exit status {self.status}"


class Process:
    """One worker process. Used by one thread at a time; `kill` may come from another.

    status: returns the exit status of a process id, once that process has closed its socket.
    """

    def __init__(self, pid: int, channel: socket.socket, status: Callable[[int], int]) -> None:
        self.pid, self._channel, self._status = pid, channel, status
        self._answers = channel.makefile("rb")
        self.program: object = None  # current program of the process,
        self.settings: object = None  # and its settings

    def ask(self, command: str) -> Any:
        """Send a command and wait for its answer. Raises WorkerDied, or the error that the command raised in the process."""
        last: dict[str, Any] = {}
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
                last |= message
        except ConnectionError:
            pass
        raise WorkerDied(self._status(self.pid), last)

    def kill(self) -> None:
        """Kill the process; only valid while it is in use."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the socket, which ends an idle process."""
        self._answers.close()
        self._channel.close()


class IdleProcesses:
    """Fork server and pool of idle worker processes. Started at once, ready a second later."""

    def __init__(self, lines: bool = True) -> None:
        """lines: the processes will read JSON lines."""
        paths = [os.path.abspath(path) for path in sys.path if path]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))} | for_processes()
        self._control, other = socket.socketpair()
        with other:
            command = [*_COMMAND, str(os.getpid()), *(["lines"] if lines else [])]
            self._mother = subprocess.Popen(command, stdin=other.fileno(), env=environment, process_group=0)
        self._lock = threading.Lock()
        self._idle: list[Process] = []

    def take(self) -> Process:
        """Take an idle process, or a new one if there is none. Raises OperatorError when none can be started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            here, there = socket.socketpair()
            with there:
                pid = self._ask(b"fork", [there.fileno()])
            return Process(pid, here, self._status)

    def give_back(self, process: Process) -> None:
        """Return a process that can be used again."""
        with self._lock:
            self._idle.append(process)

    def _status(self, pid: int) -> int:
        """Exit status of a process that has closed its socket."""
        with self._lock:
            return self._ask(b"wait %d" % pid)

    def _ask(self, request: bytes, files: Sequence[int] = ()) -> int:
        with suppress(ConnectionError, ValueError):
            socket.send_fds(self._control, [request], files)
            return int(self._control.recv(64))
        status = self._mother.wait()
        raise errors.OperatorError(f"no more worker processes can be started: exit status {status}")

    def close(self) -> None:
        """End all processes; none is left afterwards, except one killed in uninterruptible sleep."""
        for process in self._idle:
            process.close()
        self._idle = []
        self._control.close()
        try:
            self._mother.wait(5)
        except subprocess.TimeoutExpired:
            self._mother.kill()
            self._mother.wait()


def raised(fields: dict[str, Any]) -> BaseException:
    """Rebuild the error that a worker process has sent."""
    kind, name, message = fields["kind"], fields["class"], fields["message"]
    if kind == "memory":
        return MemoryError(message)
    if kind == "os":
        return OSError(fields["errno"], fields["strerror"] or message, fields["filename"])
    found = getattr({"refinery": errors, "duckdb": duckdb}.get(kind), name, None)
    if found is errors.RecipeError:
        return errors.RecipeError([errors.Problem("", message)])
    if isinstance(found, type) and issubclass(found, (errors.RefineryError, duckdb.Error)):
        return found(message)
    error = RuntimeError(f"{name}: {message}" if message else name)
    error.add_note(f"In the worker process:\n{fields.get('traceback', '')}")
    return error


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of worker processes. timeout: seconds for a row in one function, None for no limit."""

    threads: int = 1
    timeout: float | None = None
