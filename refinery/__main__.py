"""Entry point of the commands `refinery` and `python -m refinery`."""

from __future__ import annotations

import atexit
import os
import sys

from refinery.common import process_end

_OUTPUT_LOST = 120  # Python's own exit code for output that could not be written


def start() -> None:
    """Run the command line, and leave the process at once when it has ended.

    Python's teardown of the libraries (compiled kernels, tables of types, arenas of memory) takes a fifth of a second
    and has no effect: by then files are closed, threads are joined and all exit handlers called.
    """
    _open_missing()
    process_end.reserve()
    process, code = os.getpid(), 1  # 1: an uncaught exception

    def leave() -> None:
        if os.getpid() == process:  # not in a forked process
            process_end.leave(code if _flushed() else code or _OUTPUT_LOST)

    atexit.register(leave)  # registered first, so called after all other handlers
    try:
        from refinery.cli.main import main

        main()
        code = 0
    except KeyboardInterrupt:
        code = 130
        sys.exit(code)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
        raise


def _open_missing() -> None:
    """Open /dev/null for closed standard files: otherwise a file of the run would get their numbers.

    Output to a closed standard output fails, and the command with it; messages are dropped.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # opened at the lowest free number
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def _flushed() -> bool:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    start()
