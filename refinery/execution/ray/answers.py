"""Answers of tasks: their result, or the error that the driver raises, in words that a person can act on."""

from __future__ import annotations

import json
import re
from typing import Any

from refinery import errors
from refinery.common.lazy import duckdb
from refinery.errors import OperatorError


class OutOfMemory(Exception):
    """A task had too little memory for its batch."""


def result_of(answer: str) -> str:
    """The result of a task. Raises OutOfMemory, or the error that the task has raised."""
    result = json.loads(answer)
    if "ok" in result:
        return result["ok"]
    raise _error(result)


def _error(fields: dict[str, Any]) -> Exception:
    kind, message = fields["error"], fields["message"]
    if kind == "memory":
        return OutOfMemory(message)
    if kind == "os":
        return OSError(fields["number"], message, fields["file"] or None)
    if kind == "duckdb io":
        return duckdb.IOException(message)
    if kind == "duckdb":
        return duckdb.Error(message)
    own = getattr(errors, kind, None)
    if own is not None and issubclass(own, errors.RefineryError) and own is not errors.RecipeError:
        return own(message)
    return errors.OperatorError(message)


_MODULE = re.compile(r"No module named '([\w.]+)'")
_SAME = "Install the same packages on every machine, or in Ray's runtime environment"


def message_of(error: BaseException) -> str | None:
    """Half a sentence about a machine, for an error that a task has ended with; None for a fault of refinery."""
    text = str(error)
    if match := _MODULE.search(text):
        return f"has no Python package {match[1]!r}, which the run needs. {_SAME}"
    if "failed to import on the worker" in text or "failed to unpickle" in text.lower():
        return f"cannot load refinery: {last_line(text)}. {_SAME}"
    if type(error).__name__ == "RuntimeEnvSetupError":
        return f"cannot set up Ray's runtime environment: {last_line(text)}"
    return None


def known(error: Exception) -> Exception:
    """The error in place of a task's: OperatorError if a person can cure it, else the same one with its traceback."""
    text = message_of(error)
    machine = re.search(r"\bip=([^,)\s]+)", str(error))
    return error if text is None else OperatorError(f"the machine {machine[1] if machine else 'of a task'} {text}")


def last_line(text: str) -> str:
    """The last line of a text that says something: that of a traceback names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else ""
