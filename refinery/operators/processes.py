"""Worker processes of this machine, forked from a server that this process starts. They end with this process.

`multiprocessing` does not serve here: each of its processes imports the caller's main module, so a script without the line
`if __name__ == "__main__"` would run again in every one of them.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any

from refinery import errors
from refinery.common.lazy import duckdb

_COMMAND = (sys.executable, "-P", "-m", "refinery.workers.process_main")


class WorkerDied(Exception):
    """A worker process ended without an answer.

    status: exit status, negative for a signal. at: first and last row that it was running, or None. row: the one row that it
    had in its hands, or began to read, if known. piece, probe: number of the piece or expression that it had begun last. call,
    seconds: the row that a function with a time limit had begun (see `workers.single_rows`), and the limit.
    """

    def __init__(self, status: int, last: dict[str, Any]) -> None:
        self.status, self.at, self.row = status, last.get("at"), last.get("row")
        self.piece, self.probe = last.get("piece"), last.get("probe")
        self.call, self.seconds = last.get("call"), last.get("seconds")
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


class ForkServer:
    """The process that worker processes are forked from. Started at once, ready half a second later."""

    def __init__(self) -> None:
        paths = [os.path.abspath(path) for path in sys.path if path]
        # Machine code that numba stores of users' functions depends on more than numba looks at: it is for these processes alone.
        self._numba = TemporaryDirectory(prefix="refinery-", ignore_cleanup_errors=True)
        variables = {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "NUMBA_CACHE_DIR": self._numba.name}
        self._control, other = socket.socketpair()
        self._lock = threading.Lock()
        with other:
            command = [*_COMMAND, str(os.getpid())]
            self._process = subprocess.Popen(command, stdin=other.fileno(), env=os.environ | variables, process_group=0)

    def fork(self, channel: socket.socket) -> int:
        """Fork a worker process that serves a socket; returns its number. Raises OperatorError when that is impossible."""
        return self._ask(b"fork", channel.fileno())

    def status(self, pid: int) -> int:
        """Exit status of a worker process that has closed its socket; negative for a signal."""
        return self._ask(b"wait %d" % pid)

    def _ask(self, request: bytes, *files: int) -> int:
        with self._lock, suppress(ConnectionError, ValueError):
            socket.send_fds(self._control, [request], files)
            return int(self._control.recv(64))
        status = self._process.wait()
        raise errors.OperatorError(f"no more worker processes can be started: exit status {status}")

    def close(self) -> None:
        """End the server, which waits a second for its worker processes, so that the system counts them as this process's."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._numba.cleanup()


class Process:
    """One worker process. Used by one thread at a time; `kill` may come from another."""

    def __init__(self, server: ForkServer) -> None:
        self._server = server
        self._channel, there = socket.socketpair()
        with there:
            self.pid = server.fork(there)
        self._answers = self._channel.makefile("rb")
        self.program: object = None  # current program of the process,
        self.settings: object = None  # and its settings

    def ask(self, command: str, decoded: Callable[[bytes], Any] = json.loads) -> Any:
        """Send a command, a line, and wait for its answer. decoded: reads the line with the answer.

        Raises WorkerDied, or the error that the command raised in the process.
        """
        answer: Any = None
        for line, message in self._messages(command):
            if "answer" in message:
                answer = decoded(line)["answer"]
        return answer

    def items(self, command: str) -> Iterator[Any]:
        """Send a command, and yield the items that come before its answer. Raises as `ask`."""
        for _, message in self._messages(command):
            if "item" in message:
                yield message["item"]

    def _messages(self, command: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The messages of the process, each with its line, until the answer."""
        last: dict[str, Any] = {}
        with suppress(ConnectionError):
            self._channel.sendall(command.encode("ascii") + b"\n")
            for line in self._answers:
                if not line.endswith(b"\n"):
                    break
                message = json.loads(line)
                if "error" in message:
                    raise raised(message["error"])
                yield line, message
                if "answer" in message:
                    return
                last |= message
        raise WorkerDied(self._server.status(self.pid), last)

    def kill(self) -> None:
        """Kill the process; only valid while it is in use."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the socket, which ends an idle process."""
        self._answers.close()
        self._channel.close()


class ProcessPool:
    """A fork server with its idle worker processes. owner: number of the process that has started it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._server = ForkServer()
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._retired: set[int] = set()
        self._taken: set[int] = set()
        atexit.register(self.close)

    def take(self) -> Process:
        """Take an idle process, or a new one if there is none. Raises OperatorError when none can be started."""
        with self._lock:
            process = self._idle.pop() if self._idle else Process(self._server)
            self._taken.add(process.pid)
            return process

    def give_back(self, process: Process) -> None:
        """Return a process that can be used again; a retired one ends."""
        with self._lock:
            self._taken.discard(process.pid)
            if process.pid in self._retired:
                process.close()
            else:
                self._idle.append(process)

    def retire(self) -> None:
        """Use no process again that has imported code of users."""
        with self._lock:
            self._retired |= self._taken
            self._end_idle()

    def _end_idle(self) -> None:
        for process in self._idle:
            process.close()
        self._idle = []

    def close(self) -> None:
        """End all processes; none is left afterwards, except one killed in uninterruptible sleep."""
        if os.getpid() == self.owner:
            self._end_idle()
            self._server.close()
            atexit.unregister(self.close)


_current: ProcessPool | None = None
_lock = threading.Lock()
_uses = 0  # runs that use the processes now


def processes() -> ProcessPool:
    """The worker processes of this process; their server starts at the first use."""
    global _current
    with _lock:
        if _current is None or _current.owner != os.getpid():  # a fork has processes of its own
            _current = ProcessPool()
        return _current


@contextmanager
def using_processes(anew: bool = False) -> Iterator[None]:
    """Context that needs worker processes; all end with the last of such contexts.

    anew: no process stays from before, whose environment and `sys.path` may be others, unless such a context uses it.
    """
    global _uses
    with _lock:
        _uses += 1
        is_first = _uses == 1
    if anew and is_first:
        _end()
    try:
        yield
    finally:
        with _lock:
            _uses -= 1
        if not _uses:
            _end()


def import_anew() -> None:
    """Have the code of users imported anew, by processes that have not imported any."""
    if not _uses:
        _end()
    elif _current is not None:
        _current.retire()


def _end() -> None:
    global _current
    with _lock:
        pool, _current = _current, None
    if pool is not None:
        pool.close()


def raised(fields: dict[str, Any]) -> BaseException:
    """Rebuild the error that a worker process has sent."""
    kind, name, message = fields["kind"], fields["class"], fields["message"]
    if kind == "memory":
        return MemoryError(message)
    if kind == "os":
        return OSError(fields["errno"], fields["strerror"] or message, fields["filename"])
    known = getattr({"refinery": errors, "duckdb": duckdb}.get(kind), name, None)
    if known is errors.RecipeError:
        return errors.RecipeError([errors.Problem("", message)])
    if isinstance(known, type) and issubclass(known, (errors.RefineryError, duckdb.Error)):
        return known(message)
    error = RuntimeError(f"{name}: {message}" if message else name)
    error.add_note(f"In the worker process:\n{fields.get('traceback', '')}")
    return error
