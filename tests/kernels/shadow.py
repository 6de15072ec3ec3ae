"""pytest plugin: the first small calls of each kernel are computed by its Python form, too, and compared.

`REFINERY_SHADOW` names the file for the result: for each kernel an empty text, or how the two differ.
"""

from __future__ import annotations

import json
import os
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refinery.kernels.core.jit import Entry

CALLS = 2  # of each kernel
LARGEST = 400_000_000  # bytes of all arguments; a test calls few kernels with more than it needs

_machine_code = Entry.__call__
_calls: Counter[str] = Counter()
_differences: dict[str, str] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the examples of operators, leave the first of each: it calls the kernels that the others call."""
    again = [item for item in items if item.nodeid.endswith("fused]") and not item.nodeid.endswith("-1-fused]")]
    config.hook.pytest_deselected(items=again)
    items[:] = [item for item in items if item not in again]


def pytest_configure() -> None:
    """Compare from now on."""
    Entry.__call__ = _compared  # type: ignore[method-assign]


def pytest_sessionfinish() -> None:
    """Write the result."""
    results = {name: _differences.get(name, "") for name in _calls}
    Path(os.environ["REFINERY_SHADOW"]).write_text(json.dumps(results), encoding="utf-8")


def _compared(self: Entry, *args: Any) -> Any:
    if _calls[self.name] >= CALLS or self.name in _differences or not _is_small(args):
        return _machine_code(self, *args)
    copies = _copied(args, {})
    result = _machine_code(self, *args)
    _calls[self.name] += 1
    try:
        difference = _difference((result, *args), (self.python(*copies), *copies))
    except Exception:
        difference = traceback.format_exc()
    if difference:
        _differences[self.name] = difference
    return result


def _is_small(args: Any) -> bool:
    return sum(array.nbytes for array in _arrays(args)) <= LARGEST


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)


def _copied(value: Any, copies: dict[int, np.ndarray]) -> Any:
    """A copy in which arrays that share memory do so again. copies: of whole arrays, by their identities."""
    if isinstance(value, tuple):
        parts = [_copied(part, copies) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return value
    root = value
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not value.size or not root.flags.c_contiguous or root.nbytes > LARGEST:
        return value.copy()
    copy = copies.setdefault(id(root), root.copy())
    start = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(value.shape, value.dtype, copy.reshape(-1).view(np.uint8), start, value.strides)  # type: ignore[call-overload]


def _difference(expected: Any, actual: Any) -> str:
    """How results and arrays differ, empty where they are the same."""
    if not _same(expected[0], actual[0]):
        return f"result {actual[0]} in place of {expected[0]}"
    for one, other in zip(_arrays(expected[1:]), _arrays(actual[1:]), strict=True):
        if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            return f"{one.dtype}{list(one.shape)} at {np.argwhere(one != other)[:5].tolist()}"
    return ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return isinstance(other, tuple) and all(map(_same, one, other))
    return bool(one == other) or (one != one and other != other)
