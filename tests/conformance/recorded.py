"""Recorded cases as parameters of tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.conftest import RECORDED
from tests.sampling import first_of_each


def cases(operators: Iterable[str]) -> list[Any]:
    """(operator, case) for every recorded case of operators of Data-Juicer; one without a name where there are none.

    All but the first case of each operator, and its first error, are marked `long`.
    """
    found = []
    for name in operators:
        path = RECORDED / "data_juicer" / "ops" / f"{name}.jsonl"
        if path.is_file():
            lines = path.read_bytes().decode().rstrip("\n").split("\n")
            found += [pytest.param(name, json.loads(line), id=f"{name}-{at}") for at, line in enumerate(lines)]
    return first_of_each(found, lambda name, case: (name, bool(case["error"]))) or [
        pytest.param("", {}, id="no-recorded-results")
    ]
