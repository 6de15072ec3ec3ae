"""Files that code of a person's operators opens, though nothing says that results depend on them."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.library import Function, is_shipped
from refinery.library.local_code import is_installed
from refinery.library.opened import noted, opened_by

_OF_THE_SYSTEM = ("/dev/", "/proc/", "/sys/")


class Undeclared:
    """Watches the functions of a program. known: files and folders that its results are known to depend on."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = tuple(os.path.realpath(name) for name in known)
        self._began = time.time_ns()
        self._paths: set[Path] = set()
        self._told: dict[str, bool] = {}

    def watched(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose files are noted; one of refinery as it is."""
        if is_shipped(function.path):
            return run
        self._paths.add(function.path)

        def call(*arguments: Any) -> Any:
            with noted(function.path):
                return run(*arguments)

        return call

    def files(self) -> tuple[str, ...]:
        """`own_mapper opens /data/list.txt` for each file that was opened since the operator was imported.

        By any thread of the process: what one has read, another may use.
        """
        found = [f"{path.stem} opens {file}" for path in self._paths for file in opened_by(path) if self._counts(file)]
        return tuple(sorted(found))

    def _counts(self, file: str) -> bool:
        if file not in self._told:
            self._told[file] = self._is_undeclared(_source(file))
        return self._told[file]

    def _is_undeclared(self, file: str) -> bool:
        real = os.path.realpath(file)
        if real.startswith(_OF_THE_SYSTEM) or is_installed(real) or not os.path.isfile(real):
            return False
        if any(real == name or real.startswith(os.path.join(name, "")) for name in self._known):
            return False
        temporary = real.startswith(os.path.join(os.path.realpath(tempfile.gettempdir()), ""))
        return not (temporary and os.stat(real).st_ctime_ns >= self._began)


@lru_cache(maxsize=1024)
def _source(file: str) -> str:
    """The source of a compiled module."""
    try:
        return importlib.util.source_from_cache(file) if file.endswith(".pyc") else file
    except ValueError:
        return file
