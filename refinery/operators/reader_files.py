"""Files of users that add an input format: `readers/NAME.py` in a folder of operators."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.errors import OperatorError

FOLDER = "readers"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SUFFIX = re.compile(r"[.][a-z0-9_+-]+")
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class ReaderFile:
    """A declared input format.

    name: in a recipe's `dataset`, and in tables. suffixes: of its files, lower case, without that of a compression.
    """

    name: str
    suffixes: tuple[str, ...]
    path: Path


def read_reader(path: Path) -> ReaderFile:
    """Read the declaration of a file, without running its code. Raises OperatorError."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError) as error:
        raise OperatorError(f"{path}: cannot be read as Python: {error}") from error
    constants = _constants(tree, path)
    name, suffixes = constants.get("FORMAT"), constants.get("SUFFIXES")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise OperatorError(f"{path}: FORMAT must be a name of small letters, such as FORMAT = 'fasta'")
    listed = suffixes if isinstance(suffixes, (tuple, list)) else ()
    if not listed or not all(isinstance(one, str) and _SUFFIX.fullmatch(one) for one in listed):
        raise OperatorError(f"{path}: SUFFIXES must list suffixes of small letters, such as SUFFIXES = ('.fasta',)")
    if packed := [suffix for suffix in listed if suffix in _PACKED]:
        raise OperatorError(
            f"{path}: SUFFIXES has {packed[0]!r}; compressed files are unpacked before `read` sees them"
        )
    if not any(isinstance(node, ast.FunctionDef) and node.name == "read" for node in tree.body):
        raise OperatorError(f"{path}: there is no function read(stream), which yields the samples of a file")
    return ReaderFile(name, tuple(listed), path)


def _constants(tree: ast.Module, path: Path) -> dict[str, Any]:
    """Values of FORMAT and SUFFIXES."""
    constants: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("FORMAT", "SUFFIXES"):
                try:
                    constants[name] = ast.literal_eval(node.value)
                except ValueError:
                    raise OperatorError(f"{path}:{node.lineno}: {name} must be a plain value, not computed") from None
    return constants
