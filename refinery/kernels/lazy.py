"""Modules that are imported when the first name of theirs is asked for.

numba takes a fifth of a second to import, and commands that look at stored numbers need none of it.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType


def modules_of(package: str, file: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: imports its modules. package, file: the package's `__name__` and `__file__`."""

    def imported(name: str) -> ModuleType:
        place = Path(file).parent / name
        if place.is_dir() or place.with_suffix(".py").is_file():
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return imported
