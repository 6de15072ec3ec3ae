"""Modules of libraries that are imported at their first use, because they take long to import."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stand-in for a module: its first attribute imports it.

    `importlib.util.LazyLoader` imports the packages around a module at once, which take most of the time.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look at modules
            raise AttributeError(name)
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value
