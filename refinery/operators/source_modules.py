"""Imports of users' modules: from their sources, and anew after `forget_modules`.

Python takes compiled code for that of a source of the same size and second. Results are those of the contents, so code
of users is compiled at each import, and none of it is stored.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from refinery.common.version import IMPORTED
from refinery.operators.local_code import is_installed
from refinery.operators.opened_files import runs_operator

# Names of the modules of users that their operators have imported.
_imported: set[str] = set()


class SourceLoader(SourceFileLoader):
    """A loader that neither reads nor writes compiled code."""

    def path_stats(self, path: Any) -> NoReturn:
        """Raise OSError: without size and time of a source, Python has nothing to compare compiled code with."""
        raise OSError


class _Finder:
    """Finds modules as Python does. Those of users get a SourceLoader where an operator imports them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not runs_operator():
            return None
        spec = _found_by_others(name, path, target)
        if spec is None or not _is_of_user(spec):
            return spec
        _imported.add(name)
        if type(spec.loader) is SourceFileLoader:
            spec.loader = SourceLoader(name, spec.loader.path)
            spec.cached = None
        return spec


def _found_by_others(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
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


def find_sources() -> None:
    """Have the modules found that operators import, before other finders."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def forget_modules() -> None:
    """Unload the modules of users that operators have imported."""
    for name in list(_imported):  # another thread may import something
        _unload(name)
    _imported.clear()
    importlib.invalidate_caches()


def forget_changed(modules: Iterable[tuple[str, Path]]) -> None:
    """Unload modules that the program itself has imported, and whose files have changed since it imported refinery."""
    for name, file in modules:
        if name in sys.modules and name not in _imported and os.stat(file).st_ctime >= IMPORTED:
            _unload(name)
            _imported.add(name)


def _unload(name: str) -> None:
    """Have a module imported again, also where its package stays: `from package import module` looks there first."""
    module, (package, _, last) = sys.modules.pop(name, None), name.rpartition(".")
    above = vars(sys.modules[package]) if package in sys.modules else {}
    if module is not None and above.get(last) is module:
        del above[last]
