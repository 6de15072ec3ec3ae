"""Compilation of kernels in processes of their own, as many as there are processors.

A process of its own keeps the numba of this process as it is: kernels are compiled with changes to numba that would
break functions of a user (see `numba_compiler`).
"""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

Report = Callable[[int, int], None]

_HOME = Path(__file__).parents[1]
_ROOT = _HOME.parents[1]
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from refinery.kernels.build import serve; serve(sys.argv[2])"

_INSIDE = "REFINERY_COMPILES"  # set for processes that compile

_observers: list[Report] = []


def observe(report: Report) -> None:
    """Call `report` with the number of compiled kernels, and of all, while kernels are compiled."""
    _observers[:] = [report]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process of this computer compiles into a folder, and keep others waiting."""
    folder.mkdir(parents=True, exist_ok=True)
    if _INSIDE in os.environ:  # a process that compiles, whose parent has the lock
        yield
        return
    with (folder / "lock").open("w") as file:
        with suppress(OSError):  # a file system without locks: the same kernels may be compiled twice
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_apart(names: Sequence[str], folder: Path) -> None:
    """Compile declared kernels into a folder. names: as `Kernel.name`. A kernel that fails is left out."""
    progress = _Progress(len(names))
    modules = iter(sorted(_by_module(names), key=_size, reverse=True))  # a long one at the end keeps all waiting
    lock = threading.Lock()
    threads = [threading.Thread(target=_work, args=(modules, lock, folder, progress)) for _ in range(_processes(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _by_module(names: Sequence[str]) -> list[list[str]]:
    """Kernels of a module share functions, which one process compiles once."""
    return [list(group) for _, group in groupby(sorted(names), lambda name: name.rpartition(".")[0])]


def _size(names: Sequence[str]) -> int:
    """Length of the source of a module, which tells how long it takes."""
    module = names[0].rpartition(".")[0]
    with suppress(OSError):
        return (_HOME / f"{module.replace('.', '/')}.py").stat().st_size
    return 0


def _processes(names: Sequence[str]) -> int:
    return min(os.cpu_count() or 1, len({name.rpartition(".")[0] for name in names}))


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


def _work(modules: Iterator[list[str]], lock: threading.Lock, folder: Path, progress: _Progress) -> None:
    """Have one process compile modules until none is left, or it has ended."""
    command = [sys.executable, "-c", _CODE, str(_ROOT), str(folder)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, _INSIDE: "1"},
        )
    except OSError:
        return
    with process:
        assert process.stdin and process.stdout
        while True:
            with lock:
                names = next(modules, None)
            if names is None:
                return
            try:
                process.stdin.write(" ".join(names) + "\n")
                process.stdin.flush()
            except OSError:
                return
            for _ in names:
                if not process.stdout.readline():
                    return
                progress.add()
