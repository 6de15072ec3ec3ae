"""Errors of machines are one message each, with the machine and the cure, and no traceback."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable

import duckdb
import pytest

from refinery.errors import OperatorError, OutputError
from refinery.execution.ray.answers import known, result_of
from refinery.execution.ray.tasks import answered
from refinery.results.disk_space import explained

FULL = os.strerror(errno.ENOSPC)
SPILLED = f'IO Error: Could not write file "/tmp/spill/duckdb_temp_storage-0.tmp": Extra info because of error: {FULL}'


def raising(error: Exception) -> Callable[[], str]:
    def work() -> str:
        raise error

    return work


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, FULL, "/data/part"), duckdb.IOException(SPILLED), duckdb.IOException(f"{SPILLED}\nLINE 1")],
)
def test_a_full_disk_of_a_machine_names_machine_and_cure(error: Exception) -> None:
    with pytest.raises(OutputError) as caught, explained("outputs/run"):
        result_of(answered(raising(error)))
    said = str(caught.value)
    assert f"{FULL}, on the machine {socket.gethostname()}. Free some space" in said and "\n" not in said


def test_a_package_that_a_machine_lacks_is_named_with_the_machine() -> None:
    raised = Exception("ray::tasks.call() (pid=7, ip=10.0.0.3)\nModuleNotFoundError: No module named 'spacy'")
    found = known(raised)
    assert isinstance(found, OperatorError)
    assert str(found).startswith(
        "the machine 10.0.0.3 has no Python package 'spacy', which the run needs. Install the same"
    )


def test_code_that_cannot_be_loaded_is_said_in_one_line() -> None:
    raised = RuntimeError(
        "The remote function failed to import on the worker.\nTraceback:\nSyntaxError: invalid syntax"
    )
    assert str(known(raised)).count("\n") == 0 and "SyntaxError: invalid syntax" in str(known(raised))


def test_a_fault_of_refinery_stays_what_it_is() -> None:
    raised = ZeroDivisionError("division by zero")
    assert known(raised) is raised
