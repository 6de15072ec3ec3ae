"""Python files whose kernels a run calls, so that kernels that have to be compiled are compiled together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from refinery.compiler.templates import arguments
from refinery.operators import Library, Operator
from refinery.recipe import Recipe


def kernel_files(recipe: Recipe, library: Library) -> set[Path]:
    """Files of the recipe's operators, with their features and matchers, and of imported readers and writers."""
    used = [library.operators[name] for name in {step.name for step in recipe.steps}]
    found = {path for operator in used for path in _of_operator(operator, library)}
    if any(operator.kind == "deduplicator" for operator in used):
        found.update(_imported("refinery.dedup.", but="refinery.dedup.matchers."))
    return found.union(_imported("refinery.io."))


def _of_operator(operator: Operator, library: Library) -> Iterator[Path]:
    yield operator.path
    yield from (function.path for function in operator.functions)
    yield from _of_features(operator.sql, library)
    if operator.matcher_path is not None:
        yield operator.matcher_path
    elif operator.kind == "deduplicator":
        yield _file(sys.modules[type(operator.matcher).__module__])


def _of_features(sql: str, library: Library) -> Iterator[Path]:
    """Files of the features that a template uses, and of those that these are made of."""
    for used in arguments(sql, "feature"):
        if feature := library.features.get(used.text):
            yield from (function.path for function in feature.functions)
            yield from _of_features(feature.sql, library)


def _imported(package: str, but: str = "-") -> Iterator[Path]:
    """Imported modules of a package: that of a format is imported when a file of the format is met."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package) and not name.startswith(but):
            yield _file(module)


def _file(module: ModuleType) -> Path:
    return _path(module.__file__ or "")


@lru_cache(maxsize=1024)
def _path(name: str) -> Path:
    return Path(name)
