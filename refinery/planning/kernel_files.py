"""Python files whose kernels a run calls, so that kernels that have to be compiled are compiled together."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from refinery.compiler.templates import arguments, template
from refinery.operators import Library, Operator
from refinery.recipe import Recipe


def kernel_files(recipe: Recipe, library: Library) -> set[Path]:
    """Files of the recipe's operators, with their features and matchers, and of imported readers and writers."""
    used = [(library.operators[step.name], step.params) for step in recipe.steps]
    found = {path for operator, params in used for path in _of_operator(operator, params, library)}
    if any(operator.kind == "deduplicator" for operator, _ in used):
        found.update(_imported("refinery.dedup.", but="refinery.dedup.matchers."))
    return found.union(_imported("refinery.io."))


def _of_operator(operator: Operator, params: Mapping[str, Any], library: Library) -> Iterator[Path]:
    yield operator.path
    yield from (function.path for function in operator.functions)
    yield from _of_features(operator.sql, params, library)
    if operator.matcher_path is not None:
        yield operator.matcher_path
    elif operator.kind == "deduplicator":
        yield _file(sys.modules[type(operator.matcher).__module__])


def _of_features(sql: str, params: Mapping[str, Any], library: Library) -> Iterator[Path]:
    """Files of the features that a template uses with these parameters, and of those that these are made of."""
    for name, given in _used(sql, params):
        if feature := library.features.get(name):
            yield from (function.path for function in feature.functions)
            yield from _of_features(feature.sql, given, library)


def _used(sql: str, params: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Names and parameters of the features that a template asks for; all that it names if it cannot be rendered so."""
    found: list[tuple[str, Mapping[str, Any]]] = []

    def feature(name: str, **given: Any) -> str:
        found.append((name, given))
        return name

    names = dict.fromkeys(("text", "suffix", "removed"), "_") | {"params": params, "field": str, "kernel": True}
    try:
        template(sql).render({**params, **names, "feature": feature, "shares": lambda name: False})
    except Exception:  # of any kind: a template of a user, without what the compiler gives it
        return [(argument.text, {}) for argument in arguments(sql, "feature")]
    return found


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
