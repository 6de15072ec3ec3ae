"""Imports run one way: each part of the package may import those listed before it, and none after."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "refinery"

ORDER = (
    "__init__",
    "hiding",
    "places",
    "ends",
    "errors",
    "rundir",
    "wording",
    "kernels",
    "store",
    "library",
    "recipe",
    "safety",
    "monitoring",
    "plan",
    "compiler",
    "stats",
    "samples",
    "tracer",
    "engine",
    "fields",
    "fusion",
    "sizes",
    "deduplication",
    "binding",
    "preparing",
    "checkpoints",
    "staging",
    "cluster",
    "outputs",
    "examining",
    "opening",
    "pipeline",
    "retelling",
    "evidence",
    "history",
    "analysis",
    "api",
    "report",
    "console",
    "telling",
    "showing",
    "explaining",
    "reference",
    "commands",
    "interrupts",
    "ending",
    "options",
    "cli",
    "__main__",
)


def part(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0].removesuffix(".py")


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
                found.add(pieces[1])
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
