"""Lazy import of a package's modules, on first access.

numpy and Arrow take a fifth of a second to import, and commands that only read stored numbers need neither.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType


def modules_of(package: str, file: str) -> Callable[[str], ModuleType]:
    """Make a package's `__getattr__`, which imports its modules. package, file: its `__name__` and `__file__`."""

    def imported(name: str) -> ModuleType:
        place = Path(file).parent / name
        if place.is_dir() or place.with_suffix(".py").is_file():
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return imported
