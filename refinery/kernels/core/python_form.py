"""Kernels as plain Python, for debugging: `REFINERY_KERNELS=python`.

numba computes with whole numbers of 64 bits, whatever the type of the array that they come from; numpy keeps that type.
So numbers of fewer bits become Python's where a kernel reads or makes them. Numbers of type uint64 and float32 stay
numpy's, which wrap and round as numba's do.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

_STAY = (np.uint64, np.float32)


class _Module:
    """A module as kernels see it: its kernels are Python functions, its arrays `Elements`.

    numpy's types of whole numbers cut off what they have no bits for, as machine code does.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._module, name)
        if isinstance(attribute, type) and issubclass(attribute, np.integer):
            return lambda value: _element(_cut(value, np.dtype(attribute)))
        return _argument(attribute)


def _cut(value: Any, dtype: Any) -> Any:
    return np.array(int(value) & (1 << 64) - 1, np.uint64).astype(dtype)[()]


class Elements(np.ndarray):
    """An array with Python's numbers as elements."""

    def __getitem__(self, place: Any) -> Any:
        return _element(super().__getitem__(place))

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(value, (int, np.integer)) and self.dtype.kind in "iu":
            value = _cut(value, self.dtype)
        super().__setitem__(place, value)

    def __iter__(self) -> Any:
        return map(_element, super().__iter__())


def python_form(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays as `Elements`: those it gets, and those of its module; and kernels as their Python forms."""
    code = function.__code__
    names = {**function.__globals__}
    made = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    is_ready = False

    def call(*args: Any) -> Any:
        nonlocal is_ready
        if not is_ready:  # at the first call, when the module has all of its names
            names.update({name: _argument(function.__globals__[name]) for name in _used(code, function.__globals__)})
            is_ready = True
        with np.errstate(over="ignore"):
            return made(*map(_argument, args))

    return call


def _used(code: Any, names: dict[str, Any]) -> list[str]:
    return [name for name in code.co_names if name in names]


def _argument(value: Any) -> Any:
    value = getattr(value, "python", value)  # of a kernel
    if isinstance(value, ModuleType):
        return _Module(value)
    if type(value) is np.ndarray:
        return value.view(Elements)
    if isinstance(value, tuple) and any(type(part) is np.ndarray for part in value):
        parts = [_argument(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _element(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and not isinstance(value, _STAY) else value
