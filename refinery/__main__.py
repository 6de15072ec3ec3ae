"""Entry point of the commands `refinery` and `python -m refinery`."""

from __future__ import annotations

import os
import sys


def start() -> None:
    """Run the command line."""
    _open_missing()
    try:
        from refinery.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


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


if __name__ == "__main__":
    start()
