"""Kernels that Python files call, found in their sources without importing them.

A run compiles them at once, on all processors, instead of each when it is first called.
"""

import ast
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_PACKAGE = "refinery.kernels"
_HOME = Path(__file__).parent.parent

Place = tuple[str, str]  # module, such as "text.lines", and a name in it; "" for the whole module


def stored_calls(files: Iterable[Path], folder: Path) -> set[str]:
    """`called_kernels`, kept in a folder that is for one version of this package; found anew for changed files."""
    return set().union(*(_stored(_stamp(file), file, folder) for file in files))


@lru_cache(maxsize=4096)
def _stored(stamp: str, file: Path, folder: Path) -> frozenset[str]:
    """The kernels that one file calls. stamp: its state."""
    note = folder / "calls" / f"{hashlib.sha256(stamp.encode()).hexdigest()[:32]}.json"
    try:
        return frozenset(json.loads(note.read_bytes()))
    except (OSError, ValueError):
        found = called_kernels([file])
    with suppress(OSError):  # a folder that is full or cannot be written to: found again by the next run
        note.parent.mkdir(parents=True, exist_ok=True)
        draft = note.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(json.dumps(sorted(found)))
        draft.replace(note)
    return frozenset(found)


def _stamp(file: Path) -> str:
    try:
        status = file.stat()
    except OSError:
        return f"{file}\0"
    return f"{file}\0{status.st_size} {status.st_mtime_ns}\n"


def called_kernels(files: Iterable[Path]) -> set[str]:
    """Names of the kernels that the code of the files may call, directly or through functions of this package.

    Code that runs in other ways, such as a kernel that is a function's default, may be missed: it is compiled later.
    """
    todo = [place for file in files for place in _Source(file).called()]
    seen: set[Place] = set()
    found = set()
    while todo:
        place = todo.pop()
        if place in seen:
            continue
        seen.add(place)
        module, name = place
        source = _module(module)
        if name in source.entries:
            found.add(f"{module}.{name}")
        elif name in source.definitions:
            todo += source.called(source.definitions[name])
            todo += [(module, other) for other in _names(source.definitions[name])]
        elif name in source.imports:
            todo.append(source.imports[name])
    return found


class _Source:
    """Definitions and imports of a Python file. A file that cannot be parsed has none."""

    def __init__(self, file: Path) -> None:
        self._tree = _parsed(file)
        self.definitions: dict[str, ast.AST] = {}
        self.entries: set[str] = set()
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.definitions[node.name] = node
                if any(_is_entry(decorator) for decorator in node.decorator_list):
                    self.entries.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.definitions.update((t.id, node.value) for t in targets if isinstance(t, ast.Name))
        self.imports = dict(_imports(self._tree))

    def called(self, within: ast.AST | None = None) -> Iterator[Place]:
        """Names of kernel modules that the code refers to."""
        for node in ast.walk(within or self._tree):
            if isinstance(node, ast.Name | ast.Attribute) and (place := self._resolve(_dotted(node))):
                yield place

    def _resolve(self, dotted: str) -> Place | None:
        """The place of `lines.classify`, `kernels.text.lines.classify` or an imported `classify`."""
        first, *rest = dotted.split(".")
        if first not in self.imports:
            return None
        module, name = self.imports[first]
        while rest and not name:
            inner = f"{module}.{rest[0]}".lstrip(".")
            if not (_file(inner).is_file() or (_HOME / inner).is_dir()):
                return module, rest[0]
            module, rest = inner, rest[1:]
        return (module, name) if name else None


def _imports(tree: ast.Module) -> Iterator[tuple[str, Place]]:
    """Local names of this package, its modules and their contents; imports within functions count."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("refinery."):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole == _PACKAGE or whole.startswith(f"{_PACKAGE}."):
                    yield alias.asname or alias.name, _place(whole.removeprefix(_PACKAGE).lstrip("."))


def _place(dotted: str) -> Place:
    if _file(dotted).is_file() or (_HOME / dotted).is_dir():
        return dotted, ""
    module, _, name = dotted.rpartition(".")
    return module, name


@lru_cache(maxsize=256)
def _module(name: str) -> _Source:
    return _Source(_file(name))


def _file(module: str) -> Path:
    return _HOME / f"{module.replace('.', '/')}.py"


def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _names(within: ast.AST) -> Iterator[str]:
    return (node.id for node in ast.walk(within) if isinstance(node, ast.Name))


def _is_entry(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and _dotted(decorator.func).rpartition(".")[2] == "entry"


def _dotted(node: ast.AST) -> str:
    """`a.b.c` for a name or an attribute of names, else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""
