"""Answers of tasks: their result, or the error that the driver raises."""

from __future__ import annotations

import json
from typing import Any

from refinery import errors
from refinery.common.lazy import duckdb


class OutOfMemory(Exception):
    """A task had too little memory for its batch."""


def read(answer: str) -> str:
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
    known = getattr(errors, kind, None)
    if known is not None and issubclass(known, errors.RefineryError) and known is not errors.RecipeError:
        return known(message)
    return errors.OperatorError(message)
