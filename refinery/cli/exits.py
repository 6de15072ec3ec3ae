"""Ends of a command: one message and an exit code for every failure."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import click

# Variables that libraries read. They are set before threads start: C code reads the environment without a lock.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # numpy's linear algebra starts threads that wait in a busy loop; nothing here uses it
    "OPENBLAS_MAIN_FREE": "1",  # numpy sets it while it is imported, if nobody has
    "TOKENIZERS_PARALLELISM": "false",  # workers share the processors already
    "KMP_INIT_AT_FORK": "FALSE",  # joblib, which model2vec imports, sets it while it is imported, if nobody has
}


def end_well(command: click.Command) -> None:
    """Run a command line; a failure ends it with one message and its exit code, without a traceback."""
    from refinery.cli.interrupts import watch_interrupts
    from refinery.common.paths import shorter
    from refinery.common.redaction import hide
    from refinery.errors import RefineryError
    from refinery.workers import process_guard

    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    process_guard.ending(_give_up)
    stdout = sys.stdout
    interrupts = watch_interrupts()
    try:
        command.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        print("\n".join(["interrupted", *_notes(error)]), file=sys.stderr)
        sys.exit(130)
    except RefineryError as error:
        _end_if_interrupted(interrupts, error)
        message = shorter(hide(str(error)))
        message = f"refinery: {message}" if "\n" not in message else message
        _say("\n".join([message, *_notes(error)]))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _nobody_reads_on()
    except SystemExit:
        if sys.stdout is not stdout:  # click puts something else there when the pipe is broken
            _nobody_reads_on()
        raise
    except Exception as error:
        _end_if_interrupted(interrupts, error)
        _end_with_fault(error, stdout)
        raise


def _end_with_fault(error: Exception, stdout: Any) -> None:
    """End after an error that no command expects: one line. Returns when its traceback is asked for."""
    from refinery.common.redaction import hide
    from refinery.errors import OperatorError, OutputError

    if isinstance(error, OSError) and (refused := _before(error)):
        _say(f"refinery: {hide(str(refused))}")
        sys.exit(refused.exit_code)
    if os.environ.get("REFINERY_TRACEBACK"):
        return
    if (
        isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException"
    ):  # DuckDB's; it need not be imported
        reason = (hide(str(error)).splitlines() or ["no more can be had"])[0]
        _say(f"refinery: memory ran out: {reason}. Give the process more memory, or the recipe a higher memory_limit")
        sys.exit(OperatorError.exit_code)
    if isinstance(error, OSError) and error.filename is None and not _can_be_written(stdout):
        print(f"refinery: standard output cannot be written: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        sys.exit(OutputError.exit_code)
    what = hide(" ".join(str(error).split()))[:500]
    print(f"refinery: internal error: {type(error).__name__}: {what}", file=sys.stderr)
    print("This is a fault of refinery; REFINERY_TRACEBACK=1 shows where.", file=sys.stderr)
    sys.exit(OperatorError.exit_code)


def _give_up(reason: str) -> None:
    """End the process with a message: a statement does not return, so no normal end is possible."""
    from refinery.common.redaction import hide
    from refinery.errors import OperatorError

    _say(f"refinery: {hide(reason)}")
    os._exit(OperatorError.exit_code)


def _before(error: BaseException) -> Any:
    """The OperatorError that already ended the run when `error` came up; None if there was none.

    After an operator has closed the run's files, tidying up raises errors of its own.
    """
    from refinery.errors import OperatorError

    within = error.__context__
    while within is not None and not isinstance(within, OperatorError):
        within = within.__context__
    return within


def _say(text: str) -> None:
    """Print a message, if standard error is still open; on a terminal, lines are broken between words."""
    with suppress(OSError, ValueError):
        print(_broken(text) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def _broken(text: str) -> str:
    """The message in lines that fit the terminal."""
    import shutil

    from refinery.cli.render.layout import hanging

    width = shutil.get_terminal_size().columns
    return "\n".join(
        part for line in text.split("\n") for part in (hanging(line, width, 2) if len(line) > width else [line])
    )


def _notes(error: BaseException) -> list[str]:
    """Notes added to an error or its cause: how to go on."""
    return [note for one in (error, error.__cause__) for note in getattr(one, "__notes__", ())]


def _end_if_interrupted(interrupts: list[int], error: Exception) -> None:
    """Exit if Ctrl-C has ended a library's call, whose own error explains nothing."""
    if interrupts:
        print("\n".join(["interrupted", *_notes(error)]), file=sys.stderr)
        sys.exit(130)


def _can_be_written(stream: Any) -> bool:
    """Return whether a line end can be written to a command's output; a full disk takes none."""
    try:
        print(file=stream, flush=True)
    except (OSError, ValueError):
        return False
    return True


def _nobody_reads_on() -> None:
    """Exit with success: the reader, such as `head`, has closed the pipe."""
    _drop_output()
    sys.exit(0)


def _drop_output() -> None:
    """Send what is still to be written nowhere: Python's last flush would fail, with a message of its own."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
