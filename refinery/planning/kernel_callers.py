"""Python functions whose kernels a run calls, so that kernels that have to be compiled are compiled together."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.compiler.templates import arguments, template
from refinery.kernels.core.kernel_calls import Caller
from refinery.operators import Function, Library, Operator
from refinery.recipe import Recipe

_WORD = re.compile(r"[a-z_]\w*")


def kernel_callers(recipe: Recipe, library: Library) -> set[Caller]:
    """Functions of the recipe's operators, features and matchers, and whole modules of imported readers and writers."""
    found = certain_callers(recipe, library)
    for step in recipe.steps:
        operator = library.operators[step.name]
        functions = () if operator.kind == "deduplicator" else operator.functions
        found.update(_of_template(operator.sql, functions, step.params, library))
    return found


def certain_callers(recipe: Recipe, library: Library) -> set[Caller]:
    """Those of the callers that stand in no template: of matchers, readers and writers."""
    used = [library.operators[step.name] for step in recipe.steps]
    deduplicators = [operator for operator in used if operator.kind == "deduplicator"]
    found = {caller for operator in deduplicators for caller in _of_deduplicator(operator)}
    if deduplicators:
        found.update(_imported("refinery.dedup.", but="refinery.dedup.matchers."))
    return found.union(_imported("refinery.io."))


def _of_deduplicator(operator: Operator) -> Iterator[Caller]:
    yield Caller(operator.path)
    yield from (Caller(function.path) for function in operator.functions)
    yield Caller(operator.matcher_path or Path(sys.modules[type(operator.matcher).__module__].__file__ or ""))


def _of_template(
    sql: str, functions: Sequence[Function], params: Mapping[str, Any], library: Library
) -> Iterator[Caller]:
    """Functions that a template calls with these parameters, and those of the features that it uses."""
    text, features = _rendered(sql, params)
    words = set(_WORD.findall(text))
    yield from (Caller(function.path, function.call) for function in functions if function.name.lower() in words)
    for name, given in features:
        if feature := library.features.get(name):
            yield from _of_template(feature.sql, feature.functions, given, library)


def _rendered(sql: str, params: Mapping[str, Any]) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """SQL in lower case, and the features with their parameters; the template and its features if it cannot be rendered."""
    features: list[tuple[str, Mapping[str, Any]]] = []

    def feature(name: str, **given: Any) -> str:
        features.append((name, given))
        return name

    names = dict.fromkeys(("text", "suffix", "removed"), "_") | {"params": params, "field": str, "kernel": True}
    try:
        text = template(sql).render({**params, **names, "feature": feature, "shares": lambda name: False})
    except Exception:  # of any kind: a template of a user, without what the compiler gives it
        return sql.lower(), [(argument.text, {}) for argument in arguments(sql, "feature")]
    return text.lower(), features


def _imported(package: str, but: str = "-") -> Iterator[Caller]:
    """Imported modules of a package: that of a format is imported when a file of the format is met."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package) and not name.startswith(but):
            yield _module(module.__file__ or "")


@lru_cache(maxsize=1024)
def _module(file: str) -> Caller:
    return Caller(Path(file))
