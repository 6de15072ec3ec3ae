"""Keeps code of operators from ending its process: nothing would be said, and the exit code could be 0.

Where somebody has set a process aside for operators that may end it (a worker process, a task of Ray), the row is found
by the death of the process, so everything stays what it is there.
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
# The threads that run code of operators, with what that has done.
_running: dict[int, list[str]] = {}
_owner = os.getpid()
_installing = threading.Lock()
_hooked = False
_expendable = False
_ours = False


class Misdeed(BaseException):
    """What an operator's code did to its process, as the rest of a sentence that begins with the function."""


def expendable() -> None:
    """Let operators end this process: somebody else watches over it."""
    global _expendable
    _expendable = True
    _put(leave)


def reserve() -> None:
    """Keep `os._exit` for refinery, which owns this process: threads and exit handlers of operators cannot end it either."""
    global _ours
    _ours = True


@contextmanager
def held() -> Iterator[None]:
    """Run code of an operator. Raises Misdeed where it has tried to end the process, even if it has caught that.

    A copy of the process that it has forked ends when it comes back, and would else go on with the run a second time.
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
            raise Misdeed(done[0])


def _install() -> None:
    """Take the place of `os._exit`, before an operator can get hold of it; an audit hook cannot be removed."""
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
    """`os._exit`, which ends no process while it runs code of an operator."""
    _refuse(f"called os._exit({status!r}), which would end the run without a word")
    leave(status)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "os.exec":
        _refuse(f"called os.exec to become {os.fsdecode(arguments[0])}, which would end the run without a word")
    elif event == "ctypes.dlsym" and arguments[1] in _OF_C:
        _refuse(f"looked up {arguments[1]} in the C library, which would end the run without a word")


def _refuse(deed: str) -> None:
    """Raise Misdeed for a deed of an operator. A copy of the process, or of its program, ends as it wants to."""
    if _expendable or os.getpid() != _owner:
        return
    thread = threading.get_ident()
    concerned = [_running[thread]] if thread in _running else list(_running.values())
    if concerned or _ours:
        what = f"{deed}. {_CURE}"
        for done in concerned:
            done.append(what)
        raise Misdeed(what)
