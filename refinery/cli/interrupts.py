"""Ctrl-C: ends a command within two seconds, whatever it is doing; pressed twice, at once.

Python runs its handler between two of its instructions, which can take long: a library does not return, a thread
waits for a function. So a separate thread also learns of the signal, from the interpreter's wakeup file.
"""

from __future__ import annotations

import os
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

# Seconds for a normal end after Ctrl-C; seconds after which a signal counts as a second one, since a terminal and a
# wrapper around the command can each send one.
_GRACE, _TWICE = 1.5, 0.3


def watch_interrupts() -> list[int]:
    """End the process in time after Ctrl-C. Returns a list that is no longer empty after Ctrl-C."""
    seen: list[int] = []

    def interrupted(number: int, frame: Any) -> None:
        if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            # Left in its middle, an import would keep a lock that all threads wait for: so a little later.
            _once_more()
            return
        seen.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as with nohup
        signal.signal(signal.SIGINT, interrupted)
        heard, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        sys.unraisablehook = partial(_unraisable, sys.unraisablehook)
        threading.Thread(target=_end_in_time, args=(heard,), daemon=True, name="interrupts").start()
    return seen


def _once_more() -> None:
    threading.Timer(0.005, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()


def _unraisable(otherwise: Callable[[Any], Any], unraisable: Any) -> None:
    """Raise Ctrl-C again: in a destructor or a library's callback Python only prints it, and the command would go on."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _once_more()
    else:
        otherwise(unraisable)


def _end_in_time(heard: int) -> None:
    with suppress(OSError, ValueError):
        while not _interrupted(heard):
            pass
        process_guard.interrupt()
        last, end = time.monotonic(), time.monotonic() + _GRACE
        while (left := end - time.monotonic()) > 0:
            if select.select([heard], [], [], left)[0] and _interrupted(heard):
                if time.monotonic() - last > _TWICE:
                    break
                last = time.monotonic()
        _leave()


def _interrupted(heard: int) -> bool:
    """Wait for signals; return whether one of them is Ctrl-C."""
    signals = os.read(heard, 64)
    if not signals:
        raise OSError("closed")
    return signal.SIGINT in signals


def _leave() -> None:
    """End the process: its unfinished files have no final name yet, and the next run removes them."""
    with suppress(OSError, ValueError):
        lines = ["interrupted before all tasks had ended", *(say() for say in process_guard.last_words)]
        print("\n".join(filter(None, lines)), file=sys.stderr, flush=True)
    os._exit(CODE)
