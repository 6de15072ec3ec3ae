"""Imports run one way: each part of the package may import those listed before it, and no file imports itself by a circle.

Imports inside of functions and for types alone count, too.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "refinery"

ORDER = (
    "__init__",
    "common",
    "errors",
    "kernels",
    "storage",
    "assets",
    "dedup/matchers",
    "operators",
    "extractors",
    "io",
    "recipe",
    "compiler",
    "security",
    "monitoring",
    "workers",
    "dedup",
    "planning",
    "checkpoints",
    "stats",
    "tracer",
    "results",
    "execution",
    "inspect",
    "corpus",
    "sql_functions",
    "cli/render",
    "python",
    "api",
    "compat",
    "explore",
    "cli",
    "__main__",
)


def part(path: Path) -> str:
    return part_of(path.relative_to(PACKAGE).with_suffix("").parts)


def part_of(pieces: Sequence[str]) -> str:
    """The part that a module below the package belongs to: a sub-package with a place of its own, or the first name."""
    below = "/".join(pieces[:2])
    return below if below in ORDER else pieces[0]


def imported(path: Path) -> set[str]:
    """Parts of the package that a file imports anywhere, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            pieces = name.split(".")
            if pieces[0] == "refinery" and len(pieces) > 1 and pieces[1] in ORDER:
                found.add(part_of(pieces[1:]))
    return found


def test_every_part_has_a_place() -> None:
    assert {part(path) for path in PACKAGE.rglob("*.py")} - {"shipped"} == set(ORDER)


def test_imports_run_one_way() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        own = part(path)
        if own == "__init__":
            continue  # refinery.run and its like import when they are called
        wrong += [
            f"{path.name} ({own}) imports {name}" for name in imported(path) if ORDER.index(name) > ORDER.index(own)
        ]
    assert not wrong


def modules() -> dict[str, Path]:
    """Files of the package by the names of their modules."""
    found = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in found.items() if "shipped" not in path.parts}


def files_imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules of the package that a file imports; of a package's name, the module that has it where there is one."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in whole}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known.keys()


def test_recipes_and_plans_stay_where_runs_are_planned_and_started() -> None:
    """Elsewhere functions take the values that they need. In planning, one module turns a recipe into values."""
    narrow = {"security", "monitoring", "workers", "dedup", "checkpoints", "stats", "tracer", "results"}
    users = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8")) if part(path) in {*narrow, "planning"} else ast.Module([])
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        users |= {f"{part(path)}/{path.name} {name}" for name in names & {"Recipe", "Plan"}}
    planning = {"settings.py Recipe", "plan.py Recipe", "pipeline.py Recipe", "pipeline.py Plan"}
    assert users == {f"planning/{user}" for user in planning}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle; none where there is no circle."""
    left = dict(graph)
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    if not left:
        return []
    path = [next(iter(left))]
    while (step := min(left[path[-1]] & left.keys())) not in path:
        path.append(step)
    return [*path[path.index(step) :], step]


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": set()}) == []
    assert circle({"x": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]


def test_no_file_is_in_a_circle_of_imports() -> None:
    known = modules()
    assert len(known) > 300
    graph = {name: files_imported(path, known) - {name} for name, path in known.items()}
    graph["refinery"].clear()  # refinery.run and its like import when they are called
    assert circle(graph) == []


def test_four_modules_stand_at_the_top() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "api", "errors"}
