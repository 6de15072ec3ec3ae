"""Traces of operators' code: files opened for reading, and other actions that results may depend on.

Source: Python's audit events of the thread that runs an operator, and of threads that an operator has started.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any

from refinery.operators.local_code import is_installed


@dataclass(frozen=True)
class Traces:
    """Actions of code since its import (it may keep what it has read), by absolute paths.

    opened: files. missing: files that did not exist. listed: folders. deeds: other actions, as `runs a program (ls)`.
    """

    opened: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    deeds: set[str] = field(default_factory=set)


_active = threading.local()
# Traces of the running operators, by thread.
_running: dict[int, Traces] = {}
# Threads that operators have started.
_threads: tuple[tuple[threading.Thread, Traces], ...] = ()
_installing = threading.Lock()
_installed = False
_traces: dict[Path, Traces] = {}

_PROGRAMS = {"subprocess.Popen": 0, "os.system": 0, "os.posix_spawn": 0, "os.spawn": 1, "pty.spawn": 0}
_COPIES = ("os.fork", "os.forkpty")
_LISTS = ("os.listdir", "os.scandir")
_CREATES = os.O_EXCL | os.O_TRUNC


def traces_of(operator: Path) -> Traces:
    """Traces of an operator's code in this process."""
    found = _traces.get(operator, Traces())
    return Traces(*(getattr(found, one.name).copy() for one in fields(Traces)))


def forget(operator: Path) -> None:
    """Forget the traces of an operator that is imported again."""
    _traces.pop(operator, None)


@contextmanager
def noted(operator: Path) -> Iterator[None]:
    """Attribute the actions of this thread, and of threads that it starts, to an operator while the body runs.

    Files that native libraries open themselves are not noted.
    """
    _install()
    thread, before = threading.get_ident(), getattr(_active, "found", None)
    _active.found = _running[thread] = _traces.setdefault(operator, Traces())
    try:
        yield
    finally:
        _active.found = before
        if before is None:
            _running.pop(thread, None)
        else:
            _running[thread] = before


@contextmanager
def suspended() -> Iterator[None]:
    """Attribute nothing that this thread does in the body to the operator that called it."""
    before = getattr(_active, "found", None)
    _active.found = Traces()
    try:
        yield
    finally:
        _active.found = before


def runs_operator() -> bool:
    """True in a thread that runs code of an operator, or that an operator has started."""
    return bool(_concerned())


def _install() -> None:
    """Install the audit hook in this process once: it cannot be removed. Not every Python has events for threads."""
    global _installed
    with _installing:
        if not _installed:
            sys.addaudithook(_hook)
            threading.Thread.start = _noting_start(threading.Thread.start)  # type: ignore[method-assign]
            _thread.start_new_thread = _noting_bare(_thread.start_new_thread)
            _installed = True


def _noting_start(start: Callable[..., None]) -> Callable[..., None]:
    @wraps(start)
    def noting(self: threading.Thread) -> None:
        _follow(self)
        start(self)

    return noting


def _noting_bare(start: Callable[..., int]) -> Callable[..., int]:
    @wraps(start)
    def noting(*arguments: Any, **named: Any) -> int:
        for traces in _concerned():
            traces.deeds.add("starts threads without the module threading")
        return start(*arguments, **named)

    return noting


def _concerned() -> list[Traces]:
    """Traces of this thread's operator; in a thread that an operator started, also those of all running operators."""
    if (found := getattr(_active, "found", None)) is not None:
        return [found]
    thread = threading.get_ident() if _threads else 0
    own = [traces for one, traces in _threads if one.ident == thread and one.is_alive()]
    return [*own, *list(_running.values())] if own else []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _note_file(*arguments)
    elif event == "sqlite3.connect" and arguments[0] not in (":memory:", b":memory:", "", b""):
        _note_file(arguments[0], None, os.O_CREAT)
    elif event in _LISTS and isinstance(arguments[0], (str, bytes, os.PathLike, type(None))):
        for traces in _by_operators():
            traces.listed.add(os.path.abspath(os.fsdecode(arguments[0] or ".")))
    elif event in _PROGRAMS or event in _COPIES:
        deed = f"runs a program ({_name(arguments[_PROGRAMS[event]])})" if event in _PROGRAMS else "forks its process"
        for traces in _by_operators():
            traces.deeds.add(deed)


def _note_file(path: Any, mode: str | None, flags: int | None) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)) or not (concerned := _readers()):
        return
    flags = flags if isinstance(flags, int) else 0
    if flags & os.O_ACCMODE == os.O_WRONLY or flags & _CREATES or (mode or "").startswith(("w", "x", "a")):
        return
    file = os.path.abspath(os.fsdecode(path))
    there = flags & os.O_CREAT or os.path.exists(file)
    for traces in concerned:
        (traces.opened if there else traces.missing).add(file)


def _follow(thread: threading.Thread) -> None:
    """Trace a thread that is about to start, if an operator starts it."""
    global _threads
    if concerned := _concerned():
        alive = (pair for pair in _threads if pair[0].ident is None or pair[0].is_alive())
        _threads = (*alive, (thread, concerned[0]))


def _by_operators() -> list[Traces]:
    """Traces as in `_concerned`, but none for the search of a module's file or the import of an installed package."""
    concerned = _concerned()
    frame = sys._getframe(2) if concerned else None
    with suspended():  # what is installed is looked up in folders, which the operator has not listed
        while frame is not None and is_installed(file := frame.f_code.co_filename) | file.startswith("<frozen"):
            if file.startswith("<frozen importlib"):
                return []
            frame = frame.f_back
    return concerned


def _readers() -> list[Traces]:
    """Traces as in `_by_operators`, also for a file that Python reads to import it."""
    concerned = _concerned()
    if concerned and not sys._getframe(3).f_code.co_filename.startswith("<frozen importlib"):
        return _by_operators()
    return concerned


def _name(program: Any) -> str:
    """The program's name, short enough for a message."""
    first = program[0] if isinstance(program, (list, tuple)) and program else program
    words = os.fsdecode(first).split() if isinstance(first, (str, bytes, os.PathLike)) else []
    return os.path.basename(words[0])[:60] if words else "?"
