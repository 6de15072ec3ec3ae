"""Undeclared files: those that user operators read, although no declaration makes results depend on them."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.io.side_files import base_of, files, is_glob
from refinery.kernels.core.cache import CACHE
from refinery.operators import Function
from refinery.operators.local_code import is_installed
from refinery.operators.opened_files import Traces, noted, traces_of

_OF_THE_SYSTEM = ("/dev/", "/proc/", "/sys/")
_CACHE = os.path.realpath(CACHE)
_CURE = ", which is not declared: name it in `files` of the header's `resources`, so that results can be reused"
_NEVER = ", so the dependencies of results are unknown: they are not reused"


class Undeclared:
    """Watches the functions of a program. known: declared files, folders and globs that its results depend on."""

    def __init__(self, known: Collection[str]) -> None:
        globs = [name for name in known if is_glob(name)]
        self._known = tuple(os.path.realpath(name) for name in known if not is_glob(name))
        self._bases = tuple(os.path.realpath(base_of(name)) for name in globs)
        self._files = {os.path.realpath(file) for name in globs for file in files(name)}
        self._began = time.time_ns()
        self._paths: set[Path] = set()
        self._judged: dict[tuple[str, bool, bool], bool] = {}

    def watched(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function of a user so that files it opens are noted."""
        self._paths.add(function.path)

        def call(*arguments: Any) -> Any:
            with noted(function.path):
                return run(*arguments)

        return call

    def follow(self, path: Path) -> None:
        """Judge what the code of a user's input format opens, too."""
        self._paths.add(path)

    def notes(self) -> tuple[str, ...]:
        """A sentence for each undeclared dependency since the operators were imported.

        All threads of the process count: one thread may use what another has read.
        """
        return tuple(sorted(note for path in self._paths for note in self._of(path.stem, traces_of(path))))

    def _of(self, name: str, traces: Traces) -> Iterator[str]:
        yield from (f"{name} opens {file}{_CURE}" for file in traces.opened if self._counts(file))
        sought = (
            file for file in traces.missing if not file.endswith(".pyc")
        )  # compiled code; its source is read then
        missing = (file for file in sought if self._counts(file, missing=True))
        yield from (f"{name} looks for {file}, which is not there{_NEVER}" for file in missing)
        yield from (f"{name} lists {folder}{_CURE}" for folder in traces.listed if self._counts(folder, folder=True))
        yield from (f"{name} {deed}{_NEVER}" for deed in traces.deeds)

    def _counts(self, path: str, missing: bool = False, folder: bool = False) -> bool:
        known = path, missing, folder
        if known not in self._judged:
            self._judged[known] = self._is_undeclared(_source(path), missing, folder)
        return self._judged[known]

    def _is_undeclared(self, path: str, missing: bool, folder: bool) -> bool:
        real = os.path.realpath(path)
        if real.startswith(_OF_THE_SYSTEM) or is_installed(real) or _is_below(real, _CACHE):
            return False
        if (
            (os.path.isdir(real) and not folder)
            or real in self._files
            or any(_is_below(real, one) for one in self._known)
        ):
            return False
        if folder and any(_is_below(real, base) for base in self._bases):
            return False
        if missing or not _is_below(real, os.path.realpath(tempfile.gettempdir())):
            return True
        return os.path.exists(real) and os.stat(real).st_ctime_ns < self._began


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(os.path.join(place, ""))


@lru_cache(maxsize=1024)
def _source(file: str) -> str:
    """The source of a compiled module; test tools name theirs with more dots than Python does."""
    if not file.endswith(".pyc"):
        return file
    try:
        return importlib.util.source_from_cache(file)
    except ValueError:
        folder, name = os.path.split(file)
        source = os.path.join(os.path.dirname(folder), f"{name.partition('.')[0]}.py")
        return source if os.path.basename(folder) == "__pycache__" else file
