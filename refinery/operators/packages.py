"""Installed packages with operators: those with an entry point of the group `refinery.operators`.

The value of the entry point is the dotted name of the Python package whose folder has `mappers/`, `filters/` and so on. The
folder is found without importing anything.
"""

from __future__ import annotations

import importlib.metadata as metadata
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from refinery.common.packages import installed_version
from refinery.errors import OperatorError
from refinery.operators.misplaced import problem_with

GROUP = "refinery.operators"


@dataclass(frozen=True)
class OperatorPackage:
    """An installed package with operators. folder: that of the operators."""

    name: str
    version: str
    folder: Path

    def __str__(self) -> str:
        return f"package {self.name} {self.version}"


def operator_packages() -> tuple[OperatorPackage, ...]:
    """The installed packages with operators, by name. Raises OperatorError for an entry point that names no such folder."""
    return _packages(tuple(sys.path))


@lru_cache(maxsize=4)
def _packages(where: tuple[str, ...]) -> tuple[OperatorPackage, ...]:
    by_folder: dict[Path, OperatorPackage] = {}
    for point in metadata.entry_points(group=GROUP):
        name = point.dist.name if point.dist is not None else point.name
        place = f"package {name}: its entry point {point.name} = {point.value} of {GROUP}"
        folder = _folder(point, place)
        if problem := problem_with(folder):
            raise OperatorError(f"{place}: {folder}: {problem}. Mend the package or uninstall it")
        by_folder.setdefault(folder, OperatorPackage(name, installed_version(name), folder))
    return tuple(sorted(by_folder.values(), key=lambda package: (package.name, package.folder)))


def _folder(point: metadata.EntryPoint, place: str) -> Path:
    """The folder that an entry point names. Raises OperatorError."""
    if point.attr or point.extras:
        raise OperatorError(f"{place} must be the name of a Python package, such as my_package.operators")
    first, *rest = point.module.split(".")
    spec = _spec(first)
    for name in rest:
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations or ())) if spec is not None else None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise OperatorError(f"{place} names no Python package that is installed. Mend the package or uninstall it")
    return Path(places[0])


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)  # imports nothing: the name has no dot
    except (ImportError, ValueError):
        return None
