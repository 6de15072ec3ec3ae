"""Errors of exhausted memory or disk, from the system or DuckDB, turned into errors that name the cure."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from refinery.common.duckdb_facts import messages
from refinery.common.lazy import duckdb
from refinery.errors import DataError, OperatorError, OutputError
from refinery.io.writers.write import writing


@contextmanager
def explained(place: str, inputs: Collection[str] = ()) -> Iterator[None]:
    """Turn errors of memory, disk and DuckDB into errors that name the cure. inputs: files and folders only read."""
    try:
        with writing(place), _reading(inputs):
            yield
    except OutputError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # the reader of the progress is gone
            raise error.__cause__ from None
        raise
    except RuntimeError as error:
        if messages.is_interrupt(error):
            raise KeyboardInterrupt from None
        raise
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        reason = messages.first_line(error) or "no more can be had"
        raise OperatorError(f"memory ran out: {reason}. Lower np, or raise memory_limit where one is set") from error
    except duckdb.Error as error:
        if isinstance(error, duckdb.IOException) or messages.is_failed_write(error):
            with writing(place):
                raise messages.system_error(error) from error
        raise OperatorError(messages.first_line(error)) from error


def explanation(place: str, inputs: Collection[str], error: BaseException) -> BaseException:
    """The error that `explained` raises in place of an error."""
    try:
        with explained(place, inputs):
            raise error
    except BaseException as found:
        return found


@contextmanager
def _reading(inputs: Collection[str]) -> Iterator[None]:
    """Turn the system's errors on an input into DataError: the output is not to blame."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if not isinstance(name, (str, bytes)) or not any(_is_below(os.fsdecode(name), one) for one in inputs):
            raise
        raise DataError(f"{os.fsdecode(name)}: cannot be read: {error.strerror or error}") from error


def _is_below(path: str, place: str) -> bool:
    path, place = os.path.abspath(path), os.path.abspath(place)
    return path == place or path.startswith(os.path.join(place, ""))
