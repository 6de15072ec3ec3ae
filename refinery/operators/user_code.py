"""Runs code of user operators outside of statements: the import of a file, functions that a header names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from refinery.errors import OperatorError
from refinery.operators.home import is_shipped
from refinery.operators.local_code import local_modules
from refinery.operators.modules import load_module
from refinery.operators.opened_files import running
from refinery.operators.user_process import apart


def function_of(path: Path, name: str) -> Callable[..., Any]:
    """A callable of an operator's Python file. Raises OperatorError if it is missing or the file cannot be imported."""
    function = getattr(load_module(path), name, None)
    if not callable(function):
        raise OperatorError(f"{path}: has no function {name!r}")
    return function


def called(path: Path, name: str, *arguments: Any) -> Any:
    """Call a function of an operator's file, that of a user in a worker process.

    Raises OperatorError, with the function's name, if a function of a user raises.
    """
    if is_shipped(path):
        return function_of(path, name)(*arguments)
    return apart(f"{path}: the function {name}", _called, path, name, arguments)


def _called(path: Path, name: str, arguments: tuple[Any, ...]) -> Any:
    function = function_of(path, name)
    with running(path, f"the function {name}"):
        try:
            return function(*arguments)
        except Exception as error:
            raise OperatorError(f"{path}: the function {name} raised {type(error).__name__}: {error}") from error


def imported_modules(path: Path) -> dict[str, Path]:
    """As `local_modules`, for a file of a user as its process finds them: the file may have changed `sys.path`."""
    if is_shipped(path) or path.suffix != ".py":
        return local_modules(path)
    return apart(f"{path}: the import of the file", _imported_modules, path)


def _imported_modules(path: Path) -> dict[str, Path]:
    with suppress(OperatorError):
        load_module(path)
    return local_modules(path)
