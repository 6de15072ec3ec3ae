"""Traces of operators' code in a worker process: files opened for reading, and other actions that results may depend on.

Source: Python's audit events of threads that run an operator, and of threads that code of users has started.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from refinery.errors import OperatorError


@dataclass(frozen=True)
class Traces:
    """Actions of code since its import (it may keep what it has read), by absolute paths.

    opened: files. missing: files that did not exist. listed: folders. deeds: other actions, as `runs a program (ls)`.
    """

    opened: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    deeds: set[str] = field(default_factory=set)


# Traces of the operator that a thread runs.
_active = threading.local()
_traces: dict[Path, Traces] = {}

_PROGRAMS = {"subprocess.Popen": 0, "os.system": 0, "os.posix_spawn": 0, "os.spawn": 1, "pty.spawn": 0}
_COPIES = ("os.fork", "os.forkpty")
_LISTS = ("os.listdir", "os.scandir")
_CREATES = os.O_EXCL | os.O_TRUNC


def watch() -> None:
    """Trace the operators of this process from now on, until its end."""
    sys.addaudithook(_hook)


def traces_of(operator: Path) -> Traces:
    """Traces of an operator's code in this process."""
    traces = _traces.get(operator, Traces())
    return Traces(*(getattr(traces, one.name).copy() for one in fields(Traces)))


@contextmanager
def noted(operator: Path) -> Iterator[None]:
    """Attribute the actions of this thread to an operator while the body runs.

    Files that native libraries open themselves are not noted.
    """
    with _attributed(_traces.setdefault(operator, Traces())):
        yield


@contextmanager
def suspended() -> Iterator[None]:
    """Attribute nothing that this thread does in the body to the operator that called it."""
    with _attributed(Traces()):
        yield


@contextmanager
def _attributed(traces: Traces) -> Iterator[None]:
    before = getattr(_active, "traces", None)
    _active.traces = traces
    try:
        yield
    finally:
        _active.traces = before


@contextmanager
def running(path: Path, what: str) -> Iterator[None]:
    """Note what the code of an operator does. Raises OperatorError if it raises SystemExit."""
    try:
        with noted(path):
            yield
    except SystemExit as left:
        raise OperatorError(
            f"{path}: {what} ended with SystemExit({left.code!r}); nothing there may end the run"
        ) from None


def runs_operator() -> bool:
    """Return whether this thread runs code of an operator, or belongs to one."""
    return bool(_concerned())


def _concerned() -> list[Traces]:
    """Traces of this thread's operator; in a thread that code of users has started, those of all operators."""
    traces = getattr(_active, "traces", None)
    if traces is not None:
        return [traces]
    return [] if threading.get_ident() == threading.main_thread().ident else list(_traces.values())


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _note_file(*arguments)
    elif event == "sqlite3.connect" and arguments[0] not in (":memory:", b":memory:", "", b""):
        _note_file(arguments[0], None, os.O_CREAT)
    elif event in _LISTS and isinstance(arguments[0], (str, bytes, os.PathLike, type(None))):
        for traces in _concerned():
            traces.listed.add(os.path.abspath(os.fsdecode(arguments[0] or ".")))
    elif event in _PROGRAMS or event in _COPIES:
        deed = f"runs a program ({_name(arguments[_PROGRAMS[event]])})" if event in _PROGRAMS else "forks its process"
        for traces in _concerned():
            traces.deeds.add(deed)


def _note_file(path: Any, mode: str | None, flags: int | None) -> None:
    if not isinstance(path, (str, bytes, os.PathLike)) or not (concerned := _concerned()):
        return
    flags = flags if isinstance(flags, int) else 0
    if flags & os.O_ACCMODE == os.O_WRONLY or flags & _CREATES or (mode or "").startswith(("w", "x", "a")):
        return
    file = os.path.abspath(os.fsdecode(path))
    exists = flags & os.O_CREAT or os.path.exists(file)
    for traces in concerned:
        (traces.opened if exists else traces.missing).add(file)


def _name(program: Any) -> str:
    """The program's name, short enough for a message."""
    first = program[0] if isinstance(program, (list, tuple)) and program else program
    words = os.fsdecode(first).split() if isinstance(first, (str, bytes, os.PathLike)) else []
    return os.path.basename(words[0])[:60] if words else "?"
