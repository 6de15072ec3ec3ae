"""Compilation of kernels in processes of their own, as many as there are processors.

A process of its own keeps the numba of this process as it is: kernels are compiled with changes to numba that would
break functions of a user (see `numba_compiler`). One process imports numba, and forks those that compile.
"""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path

from refinery.kernels.core.cache import CACHE, SHIPPED
from refinery.kernels.core.kernel_calls import code_size

Report = Callable[[int, int], None]

_HOME = Path(__file__).parents[1]
_ROOT = _HOME.parents[1]
_CODE = """
import gc, sys
gc.disable()  # while numba is imported
sys.path.insert(0, sys.argv[1])
from refinery.kernels.build import serve
serve()
"""

_INSIDE = "REFINERY_COMPILES"  # set for processes that compile
_SETTINGS = {_INSIDE: "1", "OPENBLAS_NUM_THREADS": "1"}  # numpy computes no matrices there, so it needs no threads

_observers: list[Report] = []
_begun: list["_Compiler"] = []  # at most one


def observe(report: Report) -> None:
    """Call `report` with the number of compiled kernels, and of all, while kernels are compiled."""
    _observers[:] = [report]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process of this computer compiles into a folder, and keep others waiting."""
    if _INSIDE in os.environ:  # a process that compiles, whose parent has the lock
        yield
        return
    with ExitStack() as held:
        with suppress(OSError):  # no room, or no locks: the same kernels may be compiled twice
            folder.mkdir(parents=True, exist_ok=True)
            fcntl.flock(held.enter_context((folder / "lock").open("w")), fcntl.LOCK_EX)
        yield


def begin() -> None:
    """Start a process that imports numba, for kernels that will be compiled soon."""
    if not _begun:
        with suppress(OSError):
            _begun.append(_Compiler())


def begin_on_new_computer() -> None:
    """Begin ahead where no kernel of these sources has been compiled yet, since every run calls some."""
    if not SHIPPED.is_dir() and next((CACHE / "code").glob("*/*.o"), None) is None:
        begin()


def compile_apart(names: Sequence[str], folder: Path) -> None:
    """Compile declared kernels into a folder. names: as `Kernel.name`. A kernel that fails is left out."""
    begin()
    if not _begun:
        return
    compiler, modules, progress = _begun.pop(), _Modules(names), _Progress(len(names))
    threads = [
        threading.Thread(target=_work, args=(channel, modules, folder, progress))
        for channel in compiler.processes(min(os.cpu_count() or 1, len(modules)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compiler.end()


class _Compiler:
    """A process that has imported numba and forks processes that compile (see `build.serve`)."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _CODE, str(_ROOT)]
        self._control, inside = socket.socketpair()
        with inside:
            self._process = subprocess.Popen(
                command,
                stdin=inside.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_SETTINGS},
            )

    def processes(self, count: int) -> Iterator[socket.socket]:
        """Have processes forked, each with a socket: it gets lines with names of kernels, and gives one for each."""
        for _ in range(count):
            outside, inside = socket.socketpair()
            with inside, suppress(OSError):  # the process has ended: so says the socket
                socket.send_fds(self._control, [b"\n"], [inside.fileno()])
            yield outside

    def end(self) -> None:
        """Wait until all of its processes have ended."""
        self._control.close()
        self._process.wait()


class _Modules:
    """Modules with kernels that are still to be compiled, the longest first."""

    def __init__(self, names: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._begun: set[str] = set()  # packages
        modules = [list(group) for _, group in groupby(sorted(names), _module)]
        packages = {package: list(group) for package, group in groupby(sorted(names), _package)}
        sizes = {package: code_size(group) for package, group in packages.items()}
        self._left = sorted(modules, key=lambda group: (sizes[_package(group[0])], code_size(group)), reverse=True)

    def __len__(self) -> int:
        return len(self._left)

    def take(self, package: str) -> list[str]:
        """Kernels of a module, for a process that has compiled some of a package; none if no module is left.

        Modules of a package share functions, which one process compiles once.
        """
        with self._lock:
            same = [module for module in self._left if _package(module[0]) == package]
            fresh = [module for module in self._left if _package(module[0]) not in self._begun]
            chosen: list[str] = next(iter(same or fresh or self._left), [])
            if chosen:
                self._left.remove(chosen)
                self._begun.add(_package(chosen[0]))
            return chosen


def _module(name: str) -> str:
    return name.rpartition(".")[0]


def _package(name: str) -> str:
    return name.partition(".")[0]


class _Progress:
    def __init__(self, total: int) -> None:
        self._done, self._total = 0, total
        self._lock = threading.Lock()
        self._report()

    def add(self) -> None:
        with self._lock:
            self._done += 1
            self._report()

    def _report(self) -> None:
        for observer in _observers:
            observer(self._done, self._total)


def _work(channel: socket.socket, modules: _Modules, folder: Path, progress: _Progress) -> None:
    """Have one process compile modules until none is left, or it has ended."""
    package = ""
    with suppress(OSError), channel, channel.makefile("rw", encoding="utf-8") as lines:
        while names := modules.take(package):
            package = _package(names[0])
            lines.write(json.dumps([str(folder), *names]) + "\n")
            lines.flush()
            for _ in names:
                if not lines.readline():
                    return
                progress.add()
