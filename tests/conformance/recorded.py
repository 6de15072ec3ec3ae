"""Recorded cases as parameters of tests."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from typing import Any

import pytest

from tests.conftest import RECORDED
from tests.sampling import first_of_each


def cases(operators: Iterable[str], together: Container[str] = ()) -> list[Any]:
    """(operator, case) for every recorded case of operators of Data-Juicer; one without a name where there are none.

    All but the first case of each operator, and its first error, are marked `long`; so is the first case of those
    which another test runs `together`.
    """
    found = []
    for name in operators:
        path = RECORDED / "data_juicer" / "ops" / f"{name}.jsonl"
        if path.is_file():
            lines = path.read_bytes().decode().rstrip("\n").split("\n")
            found += [pytest.param(name, json.loads(line), id=f"{name}-{at}") for at, line in enumerate(lines)]
    chosen = first_of_each(found, lambda name, case: (name, bool(case["error"])))
    for at, (name, case) in enumerate(param.values for param in chosen):
        if name in together and not case["error"]:
            chosen[at] = pytest.param(name, case, id=found[at].id, marks=pytest.mark.long)
    return chosen or [pytest.param("", {}, id="no-recorded-results")]
