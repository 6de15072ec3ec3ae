"""Lines of the examples in the files of operators."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import yaml


def example_lines(path: Path) -> list[int]:
    """The line at which each example of an operator's file begins, from 1; none for a file without examples."""
    source = path.read_bytes().decode("utf-8", "replace")
    return _in_sql(source) if path.suffix == ".sql" else _in_python(source)


def _in_sql(source: str) -> list[int]:
    start = source.find("/*---") + 5
    head = source[start : source.find("---*/")]
    first = source.count("\n", 0, start) + 1
    return [first + node.start_mark.line for node in _items(yaml.compose(head, yaml.SafeLoader))]


def _items(root: Any) -> list[Any]:
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "examples" and isinstance(value, yaml.SequenceNode):
            return list(value.value)
    return []


def _in_python(source: str) -> list[int]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "OPERATOR" for t in node.targets):
            header = node.value
            pairs = zip(header.keys, header.values, strict=True) if isinstance(header, ast.Dict) else ()
            for key, value in pairs:
                if (
                    isinstance(key, ast.Constant)
                    and key.value == "examples"
                    and isinstance(value, (ast.List, ast.Tuple))
                ):
                    return [item.lineno for item in value.elts]
    return []
