"""Worker processes, forked from a server (`python -m refinery.workers.process_main`), so that a new one costs little.

A worker process receives commands and sends answers on a socket, one JSON text per line (see `serialization`). It
reports rows before it runs them, so that the driver knows which rows ran when the process dies. It ends when its
input ends, and when its parent dies.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import io
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from refinery.common.lazy import duckdb
from refinery.compiler.program import Program
from refinery.errors import RefineryError
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.monitoring.log import log_to
from refinery.operators import opened_files, user_process
from refinery.workers import serialization
from refinery.workers.observer import ProcessObserver, Send
from refinery.workers.process_guard import STUCK, ending
from refinery.workers.tasks import ShardResult, Task
from refinery.workers.worker import Worker

_PR_SET_PDEATHSIG = 1


class WorkerProcess:
    """Carries out the driver's commands; its worker is kept for the next shard."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._program: Program | None = None
        self._settings: dict[str, Any] = {}
        self._worker: Worker | None = None

    def do(self, command: dict[str, Any]) -> Any:
        """Carry out a command; returns its answer."""
        what = command.pop("do")
        commands: dict[str, Callable[..., Any]] = {
            "program": self._take,
            "run": self._run,
            "look": self._look,
            "blame": self._blame,
            "call": self._call,
            "items": self._items,
        }
        return commands[what](**command)

    def _take(self, program: Program, settings: dict[str, Any]) -> None:
        """Set the program and the settings of the commands that follow."""
        self._program, self._settings = program, settings
        log_to(settings["log"])
        self._drop()

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    @property
    def worker(self) -> Worker:
        """The worker, made at its first use."""
        if self._worker is None:
            assert self._program is not None
            settings = self._settings
            observer = ProcessObserver(self._send, settings["timeout"], settings["one_by_one"], settings["spoiled"])
            limits = settings["memory"], settings["temporary"], settings["threads"]
            self._worker = Worker(self._program, *limits, observer=observer)
        return self._worker

    def _run(self, shard: Shard, task: Task) -> ShardResult:
        return self.worker.run(shard, task)

    def _look(self, shard: Shard, task: Task, pieces: Sequence[Sequence[int]]) -> None:
        look(self.worker, self._send, shard, task, pieces)

    def _blame(self, shard: Shard, task: Task, row: int) -> None:
        blame(self.worker, self._send, shard, task, row)

    def _call(self, packed: str) -> str:
        return user_process.packed(user_process.called(packed))

    def _items(self, packed: str) -> None:
        for item in user_process.called(packed):
            self._send({"item": user_process.packed(item)})


def look(worker: Worker, send: Send, shard: Shard, task: Task, pieces: Sequence[Sequence[int]]) -> None:
    """Run pieces (first and last row) of one batch, each by itself, to find those that end the process."""
    for batch in _some(worker, shard, task, pieces[0][0], pieces[-1][1]):
        for number, (first, last) in enumerate(pieces):
            index = np.flatnonzero((batch.rows >= first) & (batch.rows <= last))
            if len(index):
                send({"piece": number})
                worker.attempt(batch.take(index), task.first_row)


def blame(worker: Worker, send: Send, shard: Shard, task: Task, row: int) -> None:
    """Evaluate the steps' expressions over one row, one by one, to find the one that ends the process."""
    for batch in _some(worker, shard, task, row, row):
        for number in range(len(worker.program.probes)):
            send({"probe": number})
            worker.error_of(number, batch, task.first_row)


def _some(worker: Worker, shard: Shard, task: Task, first: int, last: int) -> Iterator[Batch]:
    """Batches with the rows from first to last."""
    for batch in worker.batches(shard, task):
        index = np.flatnonzero((batch.rows >= first) & (batch.rows <= last))
        if len(index):
            yield batch.take(index)
        if len(batch.rows) and batch.rows[-1] >= last:
            return


def error_fields(error: BaseException) -> dict[str, Any]:
    """An error as plain data; `operators.processes.raised` makes it one again."""
    text = str(error)
    fields: dict[str, Any] = {"class": type(error).__name__, "message": text}
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        fields["kind"] = "memory"
    elif isinstance(error, RefineryError):
        fields["kind"] = "refinery"
    elif isinstance(error, duckdb.Error):
        fields["kind"] = "duckdb"
    elif isinstance(error, OSError):
        fields |= {"kind": "os", "errno": error.errno, "strerror": error.strerror, "filename": error.filename}
    else:
        fields |= {"kind": "other", "traceback": "".join(traceback.format_exception(error))}
    return fields


def main() -> None:
    """Import everything once, then become a worker process as often as the driver asks for one.

    Standard input is a socket. `fork`, with a socket for the worker, is answered with the worker's process id; `wait`
    and a process id with the exit status of that process, negative for a signal.
    """
    control, parent = socket.socket(fileno=os.dup(0)), int(sys.argv[1])
    _apart_from_terminal()
    _expendable()
    gc.freeze()
    signal.signal(signal.SIGCHLD, _go_on)
    while True:
        asked, files = _request(control, parent)
        if asked == b"fork":
            number = os.fork()
            if not number:
                control.close()
                _serve(socket.socket(fileno=files[0]), os.getppid())
            os.close(files[0])
        elif asked:
            number = _status(int(asked.split()[1]))
        else:
            _wait_for_all()
            os._exit(0)
        control.sendall(b"%d\n" % number)


def _serve(channel: socket.socket, parent: int) -> NoReturn:
    """Carry out commands as a worker process until there are no more."""
    _mortal(parent)
    faulthandler.disable()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with channel.makefile("r", encoding="ascii") as commands, channel.makefile("w", encoding="ascii") as answers:

        def send(message: dict[str, Any]) -> None:
            try:
                answers.write(serialization.to_json(message) + "\n")
                answers.flush()
            except OSError:  # nobody waits for an answer any more
                os._exit(0)

        opened_files.watch()
        user_process.become_worker()
        ending(lambda _: os._exit(STUCK))
        child = WorkerProcess(send)
        for line in commands:
            try:
                answer = {"answer": child.do(serialization.from_json(line))}
            except (Exception, KeyboardInterrupt, SystemExit) as error:
                answer = {"error": error_fields(error)}
            send(answer)
    os._exit(0)


def _status(pid: int) -> int:
    """Exit status of a worker process that has closed its socket; kills a process that still runs after a second."""
    for _ in range(100):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _go_on(*_: Any) -> None:
    """Continue worker processes that an operator or a user has stopped: the run would wait for them for ever."""
    with suppress(ChildProcessError, AttributeError):  # not every system has waitid
        while (stopped := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG)) is not None:
            os.kill(stopped.si_pid, signal.SIGCONT)


def _wait_for_all() -> None:
    """Wait a second for worker processes to end, so that the system counts their resources as the run's."""
    with suppress(ChildProcessError):
        for _ in range(100):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.01)


def _apart_from_terminal() -> None:
    """Give operators an empty standard input and print their output to standard error; leave Ctrl-C to the driver."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # the process may end without flushing
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _request(control: socket.socket, parent: int) -> tuple[bytes, list[int]]:
    """The next request with its files; an empty one when the parent has died.

    The kernel's signal for that is no help here: it comes when the thread ends that has started this process.
    """
    control.settimeout(1)
    while True:
        try:
            asked, files, _, _ = socket.recv_fds(control, 64, 1)
            return asked, files
        except TimeoutError:
            if os.getppid() != parent:  # a fork of the parent may still hold the socket
                return b"", []


def _mortal(parent: int) -> None:
    """End this process when its parent dies, a process of one thread."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before
        os._exit(0)


def _expendable() -> None:
    """Make this process, and those that it forks, the kernel's first choice when memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("700")


if __name__ == "__main__":
    main()
