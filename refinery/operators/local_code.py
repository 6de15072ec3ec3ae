"""Local modules of an operator: the modules that its file imports, except Python's and installed ones."""

from __future__ import annotations

import ast
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

from refinery.operators.distributed import is_distributed
from refinery.storage.file_digests import sha256_of


def local_modules(path: Path) -> dict[str, Path]:
    """Files of the modules that a Python file imports, at any depth and anywhere in the code, by module name.

    Left out: modules of Python, of installed packages and of refinery, and imports by a computed name.
    """
    modules: dict[str, Path] = {}
    folder = str(path.parent)
    todo = [(path, "")]
    while todo:
        file, package = todo.pop()
        for name in _imported(file, package):
            for module, spec in _specs(name, folder):
                if module not in modules and (source := _source(spec)) is not None:
                    modules[module] = source
                    todo.append((source, module if spec.submodule_search_locations else module.rpartition(".")[0]))
    return modules


def digest_of(path: Path) -> str:
    """Digest of the contents of a file; empty if it cannot be read."""
    try:
        return sha256_of(str(path))
    except OSError:
        return ""


def is_installed(path: str) -> bool:
    """Return whether a file belongs to Python, to an installed package or to refinery."""
    return _is_installed(path, tuple(sys.path))


@lru_cache(maxsize=4096)
def _is_installed(path: str, where: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return real.startswith(_installed()) or is_distributed(real, where)


def sources_in(file: Path) -> list[bytes]:
    """Text of a Python file, or of all Python files in an archive, which can be on `sys.path` like a folder."""
    if file.suffix == ".py":
        return [file.read_bytes()]
    if not is_zipfile(file):
        return []
    with ZipFile(file) as archive:
        return [archive.read(name) for name in archive.namelist() if name.endswith(".py")]


def _imported(file: Path, package: str) -> tuple[str, ...]:
    return _imports(file, digest_of(file), package)


@lru_cache(maxsize=4096)
def _imports(file: Path, digest: str, package: str) -> tuple[str, ...]:
    """Names that the code of a file imports: modules, or members of modules."""
    try:
        trees = [ast.parse(text) for text in sources_in(file)]
    except (OSError, SyntaxError, ValueError, BadZipFile):
        return ()  # its import will raise the error
    names: list[str] = []
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package if node.level else ""
            base = ".".join(part for part in (base, node.module) if part)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names if alias.name != "*")]
    return tuple(dict.fromkeys(name for name in names if name))


def _specs(name: str, folder: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Names and specs of the packages and the module in a dotted name, as far as they exist."""
    parts, where = name.split("."), None
    if parts[0] in sys.stdlib_module_names or parts[0] == "refinery":
        return
    for depth in range(1, len(parts) + 1):
        module = ".".join(parts[:depth])
        spec = _known(module) or _find(module, [folder, *sys.path] if where is None else where)
        if spec is None or (spec.has_location and spec.origin and is_installed(spec.origin)):
            return
        yield module, spec
        if spec.submodule_search_locations is None:
            return
        where = list(spec.submodule_search_locations)


def _known(module: str) -> ModuleSpec | None:
    """The spec of a module that is already loaded."""
    return getattr(sys.modules.get(module), "__spec__", None)


def _find(module: str, where: list[str]) -> ModuleSpec | None:
    """The spec of a module, found by its last name: by its full name Python would need its package to be loaded."""
    try:
        return PathFinder.find_spec(module.rpartition(".")[2], where)
    except (ImportError, ValueError, AttributeError):
        return None


def _source(spec: ModuleSpec) -> Path | None:
    """The file of a module, or the archive that contains it; None for a namespace."""
    if not spec.has_location or not spec.origin:
        return None
    path = Path(spec.origin)
    return next((place for place in (path, *path.parents) if place.is_file()), path)


@cache
def _installed() -> tuple[str, ...]:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parent.parent)}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders if folder)
