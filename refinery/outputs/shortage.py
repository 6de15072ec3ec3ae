"""What a machine runs out of, and what DuckDB says of it, as errors that name the cure."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from refinery.errors import OperatorError, OutputError
from refinery.samples.write import writing


@contextmanager
def explained(place: str) -> Iterator[None]:
    """What the machine runs out of, as errors that name the cure."""
    try:
        with writing(place):
            yield
    except OutputError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # nobody reads the progress any more
            raise error.__cause__ from None
        raise
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # so DuckDB answers Ctrl-C
            raise KeyboardInterrupt from None
        raise
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        reason = (str(error).splitlines() or ["no more can be had"])[0]
        raise OperatorError(f"memory ran out: {reason}. Lower np, or raise memory_limit where one is set") from error
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, duckdb.IOException) or "Could not write file" in reason:
            with writing(place):
                raise _system_error(reason) from error
        raise OperatorError(reason) from error


def _system_error(text: str) -> OSError:
    """What the system has said, out of a message of DuckDB: some hold it at their end, some its number in JSON."""
    found = re.search(r'"errno":"(\d+)"', text)
    reason = os.strerror(int(found[1])) if found else text.rpartition("because of error: ")[2]
    number = next((code for code in errno.errorcode if os.strerror(code) == reason), None)
    return OSError(reason) if number is None else OSError(number, reason)
