"""The process of a command: what `refinery` and `python -m refinery` start."""

from __future__ import annotations

import atexit
import os
import sys

from refinery.common import process_end

_UNTOLD = 120  # Python's own exit code where what was printed could not be written


def start() -> None:
    """Run the command line, and leave at once when it has ended.

    To take apart what its libraries have set up (compiled kernels, tables of types, arenas of memory) takes a fifth of
    a second, and changes nothing: files are closed, threads have been joined and everybody's handlers called by then.
    """
    _open_missing()
    process_end.reserve()
    process, code = os.getpid(), 1  # 1: an exception that nobody has caught

    def leave() -> None:
        if os.getpid() == process:  # not in one that was forked
            process_end.leave(code if _flushed() else code or _UNTOLD)

    atexit.register(leave)  # before anybody else's, so that it is called after theirs
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
    """Put something in the place of standard files that are closed: else a file of the run would get their numbers.

    What is printed to a closed standard output cannot be written, and ends the command so; messages go nowhere.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # the lowest number that is free
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
