"""Modules with kernels, and the digests that tell which of them have changed since they were built."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path

from refinery.common.packages import installed_version
from refinery.kernels.core.jit import PACKAGE, Entry
from refinery.kernels.core.library import HOME

PACKAGES = ("contamination", "core", "dedup", "json", "models", "stats", "text", "unicode", "words")

# What decides over machine code beside the kernels' own sources.
_TOOLS = ("llvmlite", "numba", "numpy")
# Modules that only runs use, though all kernels import them.
_RUN_ALONE = {HOME / "core" / "library.py", HOME / "core" / "python_form.py"}
_COMPILER = ("build/compile.py", "build/numba_types.py", "llvm/*.py")


def modules(names: Sequence[str] = PACKAGES) -> list[str]:
    """Modules with kernels that Python calls, as `text.lines`. names: of packages, or of modules."""
    patterns = [f"{name.replace('.', '/')}.py" if "." in name else f"{name}/*.py" for name in names]
    paths = [path for pattern in patterns for path in sorted(HOME.glob(pattern))]
    return [f"{path.parent.name}.{path.stem}" for path in paths if "@entry(" in path.read_text(encoding="utf-8")]


def groups(names: Sequence[str], processes: int) -> list[list[str]]:
    """Modules in groups for processes, the largest group first. Modules of a package share helpers, which a process compiles once."""
    sizes = {name: path_of(name).stat().st_size for name in names}
    most = sum(sizes.values()) / max(1, processes)
    made: list[list[str]] = []
    for _, package in groupby(sorted(names), lambda name: name.partition(".")[0]):
        made.append([])
        for name in package:
            if made[-1] and sum(sizes[other] for other in made[-1]) + sizes[name] > most:
                made.append([])
            made[-1].append(name)
    return sorted(made, key=lambda group: sum(sizes[name] for name in group), reverse=True)


def path_of(module: str) -> Path:
    """The file of a module."""
    return HOME / f"{module.replace('.', '/')}.py"


def entries(module: str) -> list[Entry]:
    """The kernels of a module that Python calls."""
    items = vars(import_module(f"{PACKAGE}{module}")).values()
    return [item for item in items if isinstance(item, Entry) and item.name.rpartition(".")[0] == module]


def digest_of(module: str, kind: str) -> str:
    """Digest of all that decides over the machine code of a module's kernels."""
    digest = hashlib.sha256(f"{kind} {platform.machine()} {platform.python_version_tuple()[:2]}".encode())
    for tool in _TOOLS:
        digest.update(f"{tool} {installed_version(tool)}".encode())
    compiler = [path for pattern in _COMPILER for path in sorted(HOME.glob(pattern))]
    for path in [*compiler, *sorted(_closure(module))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _closure(module: str) -> set[Path]:
    """Files of a module and of all modules of kernels that it imports, directly or not."""
    reached = set(_RUN_ALONE)
    waiting = [path_of(module)]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting.extend(_imports(path))
    return reached - _RUN_ALONE


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.ImportFrom)]
    return tuple(file for node in nodes for file in _files(node) if file.is_file())


def _files(node: ast.ImportFrom) -> Iterator[Path]:
    if (node.module or "").startswith(PACKAGE.rstrip(".")):
        place = HOME / str(node.module).removeprefix(PACKAGE.rstrip(".")).lstrip(".").replace(".", "/")
        yield place.with_suffix(".py")
        yield from (place / f"{alias.name}.py" for alias in node.names)
