"""Formats are compared by name nowhere but in `io/readers` and `io/writers`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from refinery.io.readers.registry import READERS
from refinery.io.writers.registry import EXPORT_TYPES

PACKAGE = Path(__file__).parents[2] / "refinery"
OWN = ("io/readers", "io/writers")
# `sql` is also a type of sources and of parameters.
NAMES = ({reader.name for reader in READERS} | {*EXPORT_TYPES}) - {"none", "sql"}
# `text` and `json` are words of other things: of columns, types and logs.
HOLDERS = {"format", "kind", "export_format", "export_type", "form", "layout"}
AMBIGUOUS = {"text", "json"}
# Files that say how other programs name or read a format, by the reason.
ELSEWHERE = {
    "inspect/card/croissant.py": "media types of Croissant",
    "inspect/card/exported.py": "functions of DuckDB in printed queries",
    "inspect/forecast/reading.py": "groups of rows, which Parquet alone has",
    "inspect/forecast/sampled.py": "the format of the sample's own files",
    "inspect/forecast/scratch.py": "the format of the sample's own files",
    "results/views/input_macro.py": "functions of DuckDB that read an input",
}
QUOTED = re.compile("|".join(f"[\"']{re.escape(name)}[\"']" for name in sorted(NAMES)))


def names_in(node: ast.AST) -> set[str]:
    """Names of formats in a literal, or in a literal collection."""
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return {item.value for item in items if isinstance(item, ast.Constant) and item.value in NAMES}


def holds_format(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in HOLDERS


def comparisons(text: str) -> Iterator[tuple[int, set[str]]]:
    """Line and names of each comparison with the name of a format."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found = set().union(*map(names_in, sides))
            if found - AMBIGUOUS or (found and any(map(holds_format, sides))):
                yield node.lineno, found
        elif isinstance(node, ast.Dict):
            found = set().union(*(names_in(key) for key in node.keys if key is not None))
            if len(found - AMBIGUOUS) > 1:
                yield node.lineno, found


@pytest.mark.parametrize(
    "text",
    ["a.format == 'text'", "kind in ('parquet', 'arrow')", "not x != 'jsonl.gz'", "{'jsonl': 1, 'parquet': 2}[kind]"],
)
def test_a_comparison_is_found(text: str) -> None:
    assert list(comparisons(text))


def test_no_format_is_compared_by_name() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} {sorted(found)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (name := path.relative_to(PACKAGE).as_posix()).startswith(OWN) and "shipped" not in path.parts
        if name not in ELSEWHERE
        if QUOTED.search(text := path.read_text(encoding="utf-8"))  # parsing every file takes a second
        for line, found in comparisons(text)
    ]
    assert wrong == []
