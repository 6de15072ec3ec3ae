"""The registry of executors is the only place that compares values of `executor_type`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module

import pytest

from refinery.execution.backend import Backend
from refinery.recipe.executors import EXECUTORS, on_cluster
from refinery.recipe.keys import KEYS
from tests.conftest import ROOT

PACKAGE = ROOT / "refinery"
REGISTRY = PACKAGE / "recipe" / "executors.py"


def test_a_recipe_may_name_what_is_registered() -> None:
    assert KEYS["executor_type"].choices == tuple(EXECUTORS) and KEYS["executor_type"].default in EXECUTORS


@pytest.mark.parametrize("name", EXECUTORS)
def test_each_backend_can_be_imported(name: str) -> None:
    module, _, class_name = EXECUTORS[name].backend.partition(":")
    backend = getattr(import_module(module), class_name)
    interface = {attribute for attribute in vars(Backend) if not attribute.startswith("_")}
    # `spill` and `executor` may be attributes that its constructor sets.
    assert "runner" in interface and interface - {"spill", "executor"} <= set(dir(backend))


def test_clusters() -> None:
    assert not on_cluster("default") and on_cluster("ray") and on_cluster("some other")


def names(node: ast.AST) -> Iterator[str]:
    """Names of variables, attributes and texts anywhere in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Attribute):
            yield part.attr
        elif isinstance(part, ast.Name):
            yield part.id


def compares_an_executor(node: ast.AST) -> bool:
    """Return whether a node compares something with an executor's name, or the key's value with anything."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
    elif isinstance(node, ast.Match):
        sides = [node.subject, *(case.pattern for case in node.cases)]
    else:
        return False
    said = {name for side in sides for name in names(side)}
    return "executor_type" in said or bool(said & (EXECUTORS.keys() - {"default"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recipe.executor_type == 'default'", True),
        ("values['executor_type'] != other", True),
        ("kind in ('ray', 'local')", True),
        ("'default' in spec", False),
        ("on_cluster(recipe.executor_type)", False),
    ],
)
def test_a_comparison_is_found(text: str, expected: bool) -> None:
    assert any(map(compares_an_executor, ast.walk(ast.parse(text)))) is expected


def test_no_executor_is_compared_by_name() -> None:
    said = ("executor_type", *EXECUTORS.keys() - {"default"})  # parsing the other files would find nothing
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path != REGISTRY}
    assert len(sources) > 300
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        for path, source in sources.items()
        if any(name in source for name in said)
        for node in ast.walk(ast.parse(source))
        if compares_an_executor(node)
    ]
    assert not found
