"""Modules with kernels, and the digests that tell which of them have changed since they were built."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from refinery.common.packages import installed_version
from refinery.kernels.core.jit import PACKAGE, Entry
from refinery.kernels.core.library import HOME

PACKAGES = ("core", "dedup", "json", "models", "stats", "text", "unicode", "words")

# What decides over machine code beside the kernels' own sources.
_TOOLS = ("llvmlite", "numba", "numpy")
# Modules that only runs use, though all kernels import them.
_RUN_ALONE = {HOME / "core" / "library.py", HOME / "core" / "python_form.py"}
_COMPILER = ("build/compile.py", "build/numba_types.py", "llvm/*.py")


def modules(packages: Sequence[str] = PACKAGES) -> list[str]:
    """Modules with kernels that Python calls, of some packages, as `text.lines`."""
    paths = [path for package in packages for path in sorted((HOME / package).glob("*.py"))]
    return [f"{path.parent.name}.{path.stem}" for path in paths if "@entry(" in path.read_text(encoding="utf-8")]


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


def size_of(module: str) -> int:
    """Bytes of the sources of a module and of all that it imports, a measure of the time that its kernels take."""
    return sum(path.stat().st_size for path in _closure(module))


def _closure(module: str) -> set[Path]:
    """Files of a module and of all modules of kernels that it imports, directly or not."""
    reached = set(_RUN_ALONE)
    waiting = [HOME / f"{module.replace('.', '/')}.py"]
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
