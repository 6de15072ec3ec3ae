"""Imports of users' modules in a worker process: from their sources.

Python takes compiled code for that of a source of the same size and second. Results are those of the contents, so code
of users is compiled at each import, and none of it is stored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any, NoReturn

from refinery.operators.local_code import is_installed
from refinery.operators.opened_files import runs_operator, suspended


class SourceLoader(SourceFileLoader):
    """A loader that neither reads nor writes compiled code."""

    def path_stats(self, path: Any) -> NoReturn:
        """Raise OSError: without size and time of a source, Python has nothing to compare compiled code with."""
        raise OSError


class _Finder:
    """Finds modules for operators as Python does: those of users with a SourceLoader, others without traces of their import."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not runs_operator():
            return None
        with suspended():
            spec = _spec_of_others(name, path, target)
            of_user = spec is not None and _is_of_user(spec)
        if spec is None:
            return None
        if not of_user:
            _import_without_traces(spec.loader)
        elif type(spec.loader) is SourceFileLoader:
            spec.loader = SourceLoader(name, spec.loader.path)
            spec.cached = None
        return spec


def _spec_of_others(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None) if finder is not _Finder else None
        spec: ModuleSpec | None = find(name, path, target) if find is not None else None
        if spec is not None:
            return spec
    return None


def _is_of_user(spec: ModuleSpec) -> bool:
    """True for a module, or a package without a file of its own, outside of what is installed."""
    places = [spec.origin] if spec.has_location and spec.origin else list(spec.submodule_search_locations or ())
    return bool(places) and not all(is_installed(place) for place in places)


def _import_without_traces(loader: Any) -> None:
    """Let a loader of one installed module import it without traces: its version stands for what it reads then."""
    if isinstance(loader, type) or loader is None:  # of modules that are part of Python
        return
    for name in ("create_module", "exec_module"):
        if hasattr(loader, name):
            setattr(loader, name, _without_traces(getattr(loader, name)))


def _without_traces(run: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with suspended():
            return run(*arguments)

    return call


def find_sources() -> None:
    """Have the modules found that operators import, before other finders."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
