"""Recorded cases as parameters of tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.conftest import RECORDED


def cases(operators: Iterable[str]) -> list[Any]:
    """(operator, case) for every recorded case of operators of Data-Juicer; one without a name where there are none."""
    found = []
    for name in operators:
        path = RECORDED / "data_juicer" / "ops" / f"{name}.jsonl"
        if path.is_file():
            lines = path.read_bytes().decode().rstrip("\n").split("\n")
            found += [pytest.param(name, json.loads(line), id=f"{name}-{at}") for at, line in enumerate(lines)]
    return found or [pytest.param("", {}, id="no-recorded-results")]
