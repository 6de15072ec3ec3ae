"""Runs code of user operators outside of statements: the import of a file, functions that a header names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refinery.common.process_end import ExitAttempt, held
from refinery.errors import OperatorError
from refinery.operators.opened_files import noted


@contextmanager
def running(path: Path, what: str) -> Iterator[None]:
    """Note the files that the code of an operator opens. Raises OperatorError if it tries to end the process."""
    try:
        with noted(path), held():
            yield
    except ExitAttempt as misdeed:
        raise OperatorError(f"{path}: {what} {misdeed}") from None
    except SystemExit as left:
        raise OperatorError(
            f"{path}: {what} ended with SystemExit({left.code!r}); nothing there may end the run"
        ) from None


def called(path: Path, name: str, run: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of an operator's file. Raises OperatorError, with the function's name, if it raises."""
    with running(path, f"the function {name}"):
        try:
            return run(*arguments)
        except Exception as error:
            raise OperatorError(f"{path}: the function {name} raised {type(error).__name__}: {error}") from error
