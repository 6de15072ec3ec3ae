"""Kernels that Python code calls, found in its sources without importing it.

A run compiles them at once, on all processors, instead of each when it is first called.
"""

import ast
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_PACKAGE = "refinery.kernels"
_KERNELS = b"kernels"  # in every file that imports kernels
_HOME = Path(__file__).parent.parent

Place = tuple[str, str]  # module, such as "text.lines", and a name in it; "" for the whole module


class Caller(NamedTuple):
    """Code that runs: a function of a Python file, or the whole file."""

    file: Path
    function: str = ""


def stored_calls(callers: Iterable[Caller], folder: Path) -> set[str]:
    """`called_kernels`, kept in a folder that is for one version of this package; found anew for changed files."""
    return set().union(*(_stored(_stamp(caller), caller, folder) for caller in callers))


@lru_cache(maxsize=4096)
def _stored(stamp: str, caller: Caller, folder: Path) -> frozenset[str]:
    """The kernels that a caller calls. stamp: state of its file."""
    note = folder / "calls" / f"{hashlib.sha256(stamp.encode()).hexdigest()[:32]}.json"
    try:
        return frozenset(json.loads(note.read_bytes()))
    except (OSError, ValueError):
        found = called_kernels([caller])
    with suppress(OSError):  # a folder that is full or cannot be written to: found again by the next run
        note.parent.mkdir(parents=True, exist_ok=True)
        draft = note.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(json.dumps(sorted(found)))
        draft.replace(note)
    return frozenset(found)


def _stamp(caller: Caller) -> str:
    try:
        status = caller.file.stat()
    except OSError:
        return f"{caller}\0"
    return f"{caller}\0{status.st_size} {status.st_mtime_ns}\n"


def called_kernels(callers: Iterable[Caller]) -> set[str]:
    """Names of the kernels that code may call, directly or through functions of this package.

    Rare kernels are left out, and code that runs in other ways, such as a kernel that is a function's default, may be
    missed: such kernels are compiled when they are called.
    """
    places = (place for caller in callers for place in _source(caller.file).called_by(caller.function))
    return {".".join(place) for place in _reached(places, _is_kernel) if _is_kernel(place)}


def code_size(kernels: Iterable[str]) -> int:
    """Lines of kernels and of all functions that they call: a measure of the time that it takes to compile them."""
    places = ((module, name) for module, _, name in (kernel.rpartition(".") for kernel in kernels))
    return sum(_module(module).lines(name) for module, name in _reached(places, lambda place: place[0] == "core.jit"))


def _reached(places: Iterable[Place], is_end: Callable[[Place], bool]) -> set[Place]:
    """Places, and those that their code refers to, directly or not, but for the code at ends."""
    todo, seen = set(places), set[Place]()
    while todo:
        seen |= todo
        todo = {other for place in todo if not is_end(place) for other in _next(place)} - seen
    return seen


def _is_kernel(place: Place) -> bool:
    return place[1] in _module(place[0]).entries


def _next(place: Place) -> Iterator[Place]:
    """Places that the code at a place refers to."""
    module, name = place
    source = _module(module)
    if name in source.definitions:
        yield from source.uses(name).places
        yield from ((module, other) for other in source.uses(name).names)
    elif name in source.imports:
        yield source.imports[name]


class _Uses(NamedTuple):
    """Names in a piece of code: those of kernel modules, and plain ones."""

    places: list[Place]
    names: list[str]


class _Source:
    """Definitions and imports of a Python file. A file without kernels, or that cannot be parsed, has none."""

    def __init__(self, file: Path) -> None:
        self._tree = _parsed(file)
        self.definitions: dict[str, ast.AST] = {}
        self.entries: set[str] = set()
        self._uses: dict[str, _Uses] = {}
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.definitions[node.name] = node
                if any(_is_entry(decorator) for decorator in node.decorator_list):
                    self.entries.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.definitions.update((t.id, node.value) for t in targets if isinstance(t, ast.Name))
        self.imports = dict(_imports(self._tree))

    def called_by(self, function: str) -> Iterator[Place]:
        """Names of kernel modules that a function and others of its file refer to; all of the file for ""."""
        if function not in self.definitions and function not in self.imports:
            yield from self.uses("").places
            return
        todo, seen = [function], set[str]()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                if name in self.imports:
                    yield self.imports[name]
                if name in self.definitions:
                    yield from self.uses(name).places
                    todo += self.uses(name).names

    def lines(self, name: str) -> int:
        """Length of a function, 0 for other names."""
        node = self.definitions.get(name)
        return (node.end_lineno or 0) - node.lineno + 1 if isinstance(node, ast.FunctionDef) else 0

    def uses(self, name: str) -> _Uses:
        """Names in a definition, or in the whole file for ""."""
        if name not in self._uses:
            within = self.definitions[name] if name else self._tree
            nodes = [node for node in ast.walk(within) if isinstance(node, ast.Name | ast.Attribute)]
            places = [place for node in nodes if (place := self._resolve(_dotted(node)))]
            self._uses[name] = _Uses(places, [node.id for node in nodes if isinstance(node, ast.Name)])
        return self._uses[name]

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
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("refinery."):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole == _PACKAGE or whole.startswith(f"{_PACKAGE}."):
                    yield alias.asname or alias.name, _place(whole.removeprefix(_PACKAGE).lstrip("."))


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Statements with those inside of them, without the expressions, which are most of a tree."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from _statements(getattr(node, part, ()))


def _place(dotted: str) -> Place:
    if _file(dotted).is_file() or (_HOME / dotted).is_dir():
        return dotted, ""
    module, _, name = dotted.rpartition(".")
    return module, name


@lru_cache(maxsize=256)
def _module(name: str) -> _Source:
    return _Source(_file(name))


def _source(file: Path) -> _Source:
    return _read(_stamp(Caller(file)), file)


@lru_cache(maxsize=64)
def _read(stamp: str, file: Path) -> _Source:
    """The source of a file of which several functions may be called. stamp: its state."""
    return _Source(file)


def _file(module: str) -> Path:
    return _HOME / f"{module.replace('.', '/')}.py"


def _parsed(file: Path) -> ast.Module:
    try:
        content = file.read_bytes()
        return ast.parse(content) if _KERNELS in content else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _is_entry(decorator: ast.expr) -> bool:
    """True for the decorator of a kernel that Python calls often."""
    if not isinstance(decorator, ast.Call) or _dotted(decorator.func).rpartition(".")[2] != "entry":
        return False
    return not any(option.arg == "rare" for option in decorator.keywords)


def _dotted(node: ast.AST) -> str:
    """`a.b.c` for a name or an attribute of names, else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""
