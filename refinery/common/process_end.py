"""Guard against operator code that ends its process: there would be no message, and the exit code could be 0.

In a process set aside for operators that may end it (a worker process, a Ray task), the death of the process
identifies the row, so the guard changes nothing there.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_CURE = "With workers: processes it would cost the row alone"
# Functions of the C library that end or replace a process, as `ctypes` looks them up.
_OF_C = frozenset({"exit", "_exit", "_Exit", "quick_exit", "execl", "execle", "execlp", "execv", "execve", "execvp"})

leave = os._exit  # the real one
# The threads that run operator code, with its attempts to end the process.
_running: dict[int, list[str]] = {}
_owner = os.getpid()
_installing = threading.Lock()
_hooked = False
_expendable = False
_ours = False
_kept: list[Any] = []


class ExitAttempt(BaseException):
    """An attempt of operator code to end its process. Its text continues a sentence that begins with the function."""


def expendable() -> None:
    """Let operators end this process: another process watches it."""
    global _expendable
    _expendable = True
    _put(leave)


def reserve() -> None:
    """Reserve `os._exit` for refinery, the owner of this process, against operators' threads and exit handlers too."""
    global _ours
    _ours = True


def keep(thing: Any) -> bool:
    """Keep an object that need not be closed, because the process ends without freeing anything; False in other processes."""
    if _ours:
        _kept.append(thing)
    return _ours


@contextmanager
def held() -> Iterator[None]:
    """Run operator code. Raises ExitAttempt if the code has tried to end the process, even if it caught the exception.

    A process that the code has forked ends when the code returns; else it would continue the run a second time.
    """
    global _owner
    _install()
    _owner = owner = os.getpid()
    thread = threading.get_ident()
    done: list[str] = []
    before = _running.get(thread)
    _running[thread] = done
    try:
        yield
    finally:
        if os.getpid() != owner:
            leave(0)
        if before is None:
            del _running[thread]
        else:
            _running[thread] = before
        if done:
            raise ExitAttempt(done[0])


def _install() -> None:
    """Replace `os._exit` before an operator can get a reference; add the audit hook, which cannot be removed."""
    global _hooked
    with _installing:
        if not _expendable and os._exit is leave:
            _put(_exit)
        if not _hooked:
            sys.addaudithook(_hook)
            _hooked = True


def _put(function: Any) -> None:
    os._exit = function
    vars(sys.modules[os.name])["_exit"] = function  # posix, or nt


def _exit(status: int) -> NoReturn:
    """Replacement of `os._exit` that ends no process while it runs operator code."""
    _refuse(f"called os._exit({status!r}), which would end the run without a message")
    leave(status)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "os.exec":
        _refuse(f"called os.exec to become {os.fsdecode(arguments[0])}, which would end the run without a message")
    elif event == "ctypes.dlsym" and arguments[1] in _OF_C:
        _refuse(f"looked up {arguments[1]} in the C library, which would end the run without a message")


def _refuse(deed: str) -> None:
    """Raise ExitAttempt for an attempt of operator code. A fork of the process, or a new program, may end itself."""
    if _expendable or os.getpid() != _owner:
        return
    thread = threading.get_ident()
    concerned = [_running[thread]] if thread in _running else list(_running.values())
    if concerned or _ours:
        what = f"{deed}. {_CURE}"
        for done in concerned:
            done.append(what)
        raise ExitAttempt(what)
