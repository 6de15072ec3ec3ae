"""Samples of large matrices: a few cases for `make test`, the others marked `long` for `make soak`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import pytest

_CASE = type(pytest.param())


def sampled(cases: Iterable[Any], every: int = 5) -> list[Any]:
    """Cases as parameters of a test; all but the first of each `every` are marked `long`."""
    return [_parameters(case, at % every > 0) for at, case in enumerate(cases)]


def first_of_each(cases: Iterable[Any], kind: Callable[..., Hashable]) -> list[Any]:
    """Cases as parameters of a test; all but the first of each kind are marked `long`.

    kind: takes the values of a case.
    """
    seen: set[Hashable] = set()
    found = []
    for case in cases:
        param = _parameters(case, False)
        this = kind(*param.values)
        found.append(_parameters(param, this in seen))
        seen.add(this)
    return found


def named(cases: Mapping[str, Any], *short: str) -> list[Any]:
    """Cases by their names as parameters of a test; all but those named `short` are marked `long`."""
    assert short and cases.keys() >= {*short}
    params = ((pytest.param(*_parameters(case, False).values, id=name), name) for name, case in cases.items())
    return [_parameters(param, name not in short) for param, name in params]


def _parameters(case: Any, long: bool) -> Any:
    """A case with the mark `long` if asked for; a tuple is a case of several values, as in pytest."""
    values, marks, name = case if isinstance(case, _CASE) else (case if isinstance(case, tuple) else (case,), (), None)
    return pytest.param(*values, marks=[*marks, pytest.mark.long] if long else marks, id=name)
