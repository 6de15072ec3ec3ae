"""Ctrl-C: ends a command within two seconds, whatever it is doing; pressed twice, at once.

Python runs its handler between two of its instructions, which can take long: a library does not return, a thread
waits for a function. So a separate thread also learns of the signal, from the interpreter's wakeup file.
"""

from __future__ import annotations

import ctypes
import os
import platform
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from refinery.workers import process_guard

CODE = 130

_RESET = -0x80000000  # SA_RESETHAND, as a C int

# Seconds for a normal end after Ctrl-C; seconds after which a signal counts as a second one, since a terminal and a
# wrapper around the command can each send one.
_GRACE, _TWICE = 1.5, 0.3


def watch_interrupts() -> list[int]:
    """End the process in time after Ctrl-C. Returns a list that is no longer empty after Ctrl-C."""
    seen: list[int] = []
    arm: Callable[[], None] = _nothing

    def interrupted(number: int, frame: Any) -> None:
        arm()
        if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            # Left in its middle, an import would keep a lock that all threads wait for: so a little later.
            _once_more()
            return
        seen.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as with nohup
        signal.signal(signal.SIGINT, interrupted)
        arm = _armed()
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        sys.unraisablehook = partial(_unraisable, sys.unraisablehook)
        threading.Thread(target=_end_in_time, args=(heard, arm), daemon=True, name="interrupts").start()
    return seen


def _once_more() -> None:
    threading.Timer(0.005, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()


def _unraisable(otherwise: Callable[[Any], Any], found: Any) -> None:
    """Raise Ctrl-C again: in a destructor or a library's callback Python only prints it, and the command would go on."""
    if issubclass(found.exc_type, KeyboardInterrupt):
        _once_more()
    else:
        otherwise(found)


def _nothing() -> None:
    """Do nothing, if the system's C library is not the expected one."""


class _Action(ctypes.Structure):
    """`struct sigaction` of glibc."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def _armed() -> Callable[[], None]:
    """Let the next Ctrl-C after the handled one end the process. Returns a function that installs this again.

    Code that holds the interpreter's lock for hours, such as a regular expression, delays the first in every thread.
    """
    if not sys.platform.startswith("linux") or platform.libc_ver()[0] != "glibc":
        return _nothing
    library, action = ctypes.CDLL(None), _Action()
    if library.sigaction(int(signal.SIGINT), None, ctypes.byref(action)):
        return _nothing
    action.flags |= _RESET

    def arm() -> None:
        library.sigaction(int(signal.SIGINT), ctypes.byref(action), None)

    arm()
    return arm


def _end_in_time(heard: int, arm: Callable[[], None]) -> None:
    with suppress(OSError, ValueError):  # an operator has closed the file
        while not _interrupted(heard):
            pass
        arm()
        process_guard.interrupt()
        last, end = time.monotonic(), time.monotonic() + _GRACE
        while (left := end - time.monotonic()) > 0:
            if select.select([heard], [], [], left)[0] and _interrupted(heard):
                arm()
                if time.monotonic() - last > _TWICE:
                    break
                last = time.monotonic()
        _leave()


def _interrupted(heard: int) -> bool:
    """Wait for signals; return whether one of them is Ctrl-C."""
    found = os.read(heard, 64)
    if not found:
        raise OSError("closed")
    return signal.SIGINT in found


def _leave() -> None:
    """End the process: its unfinished files have no final name yet, and the next run removes them."""
    with suppress(OSError, ValueError):
        lines = ["interrupted before all tasks had ended", *(say() for say in process_guard.last_words)]
        print("\n".join(filter(None, lines)), file=sys.stderr, flush=True)
    os._exit(CODE)
