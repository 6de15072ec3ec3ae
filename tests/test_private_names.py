"""The source uses public names of other packages; the exceptions are listed in `private_names`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.private_names import ALLOWED

ROOT = Path(__file__).parent.parent
OF_TUPLES = {"_replace", "_asdict", "_fields", "_make", "_field_defaults"}  # documented for namedtuple
OF_OS = {"_exit"}  # documented for os
BY_NAME = {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_TUPLES | OF_OS | {"_"}


def own_names(tree: ast.Module) -> set[str]:
    """Names that a file defines itself: functions, classes, variables, and attributes of `self`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of_self(node):
            names.add(node.attr)
    return names


def of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        private = [alias.name for alias in node.names if is_private(alias.name)]
        return [node.module, *(f"{node.module}.{name}" for name in private)]
    return []


def private_names(source: str) -> Iterator[str]:
    """Private names of other packages in a file: attributes, imports, and attributes named by strings."""
    tree = ast.parse(source)
    own = own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own and not of_self(node):
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in BY_NAME:
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and is_private(text) and text not in own)
        for name in imported_names(node):
            if any(map(is_private, name.split(".")[1:])):  # `_thread` and its like are documented modules
                yield name


def used() -> set[tuple[str, str]]:
    files = [path for folder in ("refinery", "udfs") for path in (ROOT / folder).rglob("*.py")]
    return {
        (path.relative_to(ROOT).as_posix(), name) for path in files for name in private_names(path.read_text("utf-8"))
    }


def test_private_names_of_other_packages_are_those_listed() -> None:
    names = used()
    assert names - {*ALLOWED} == set()
    assert {*ALLOWED} - names == set()


def test_at_most_five_private_names_stay() -> None:
    assert len({name for _, name in ALLOWED}) <= 5


def test_attributes_imports_and_strings_count() -> None:
    source = (
        "import os, ray._private.state\nfrom fsspec import _core\nfs._strip_protocol(url)\n"
        "getattr(kind, '_pipe_file', None)\nos._exit(1)\nrow._replace(n=1)\nself._own\nother._mine\nclass A:\n    _mine = 1\n"
    )
    assert sorted(private_names(source)) == ["_pipe_file", "_strip_protocol", "fsspec._core", "ray._private.state"]
