"""Finds `sql/`, `udfs/` and `recipes/`, and reads what operator files say of themselves.

Headers are read without rendering a template or importing a Python file, so listing every operator is cheap and needs
none of the operators' own libraries. `sql/README.md` is the contract of a header.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from refinery.errors import OperatorError, did_you_mean

Item = TypeVar("Item")

_importing = threading.RLock()

KINDS = {"mappers": "mapper", "filters": "filter"}
PARAM_TYPES = {
    "int", "float", "bool", "str", "regex", "sql", "list[str]", "list[int]", "str_or_list", "folder", "file", "any",
}  # fmt: skip

# Every filter of Data-Juicer has these; the compiler applies them to `bounds`.
RANGE_PARAMS: dict[str, dict[str, Any]] = {
    "min_closed_interval": {"type": "bool", "default": True, "doc": "Whether the lower bound itself is in the range."},
    "max_closed_interval": {"type": "bool", "default": True, "doc": "Whether the upper bound itself is in the range."},
    "reversed_range": {
        "type": "bool",
        "default": False,
        "doc": "Keep what lies outside of the range; a bound that is in the range is kept then as well.",
    },
}


@dataclass(frozen=True)
class Param:
    """One parameter of an operator, as its header declares it."""

    name: str
    type: str
    default: Any = None
    required: bool = False
    nullable: bool = False
    min: float | None = None
    max: float | None = None
    choices: tuple[Any, ...] | None = None
    doc: str = ""


@dataclass(frozen=True)
class Function:
    """A vector function that an operator's SQL calls."""

    name: str
    columns: tuple[str, ...]
    constants: tuple[str, ...]
    returns: str
    runs: str  # "kernel" or "python"
    call: str
    path: Path

    def resolve(self) -> Callable[..., Any]:
        """The Python callable; imports the file that holds it. Raises OperatorError when that fails."""
        found = getattr(load_module(self.path), self.call, None)
        if found is None:
            raise OperatorError(f"{self.path}: has no function {self.call!r}")
        return found


@dataclass(frozen=True)
class Feature:
    """What several operators need of one version of a text: an SQL expression over it."""

    name: str
    doc: str
    version: int
    sql: str
    functions: tuple[Function, ...]
    path: Path


@dataclass(frozen=True)
class Operator:
    """One operator file's header and body."""

    name: str
    kind: str  # "mapper" or "filter"
    path: Path
    doc: str
    version: int
    params: dict[str, Param]
    sql: str
    stats: dict[str, dict[str, str]] = field(default_factory=dict)
    bounds: dict[str, list[str]] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    refuses: tuple[dict[str, Any], ...] = ()
    checks: str | None = None
    peer: str = ""
    examples: tuple[dict[str, Any], ...] = ()

    def check(self, params: dict[str, Any]) -> list[str]:
        """What stands in the way of running with these (complete) parameters: sentences that name the cure."""
        problems = [
            rule["say"]
            for rule in self.refuses
            if all(params.get(name) == value for name, value in rule["when"].items())
        ]
        if self.checks:
            problems += getattr(load_module(self.path), self.checks)(params)
        return problems


class Library:
    """All operators and features of the shipped folders and of the user's own ones, read when asked for."""

    def __init__(self, extra: tuple[str | Path, ...] = ()) -> None:
        home = shipped()
        self._folders = [home / "sql", home / "udfs"]
        for folder in map(Path, extra):
            if not folder.is_dir():
                raise OperatorError(f"{folder}: no such folder of operators")
            self._folders.append(folder)

    @cached_property
    def _paths(self) -> dict[str, tuple[str, Path]]:
        found: dict[str, tuple[str, Path]] = {}
        for folder in self._folders:
            for directory in (*KINDS, "features"):
                for path in sorted((folder / directory).glob("*")):
                    if path.suffix in (".sql", ".py") and not path.name.startswith("_"):
                        self._claim(found, path, directory)
        return found

    @staticmethod
    def _claim(found: dict[str, tuple[str, Path]], path: Path, directory: str) -> None:
        taken = found.get(path.stem)
        if taken:
            raise OperatorError(f"{path}: the name {path.stem!r} is taken by {taken[1]}; rename the file")
        found[path.stem] = (directory, path)

    @cached_property
    def operators(self) -> Mapping[str, Operator]:
        """Operators by name, each header read when first asked for."""
        return _Lazy({n: p for n, (d, p) in self._paths.items() if d in KINDS}, read_operator)

    @cached_property
    def features(self) -> Mapping[str, Feature]:
        """Features by name."""
        return _Lazy({n: p for n, (d, p) in self._paths.items() if d == "features"}, read_feature)

    def functions(self) -> list[Function]:
        """Every function of every operator and feature, each name once."""
        found: dict[str, Function] = {}
        functions = [function for feature in self.features.values() for function in feature.functions]
        functions += [function for operator in self.operators.values() for function in operator.functions]
        for function in functions:
            other = found.setdefault(function.name, function)
            if other.path != function.path:
                raise OperatorError(f"{function.path}: function {function.name!r} is also in {other.path}")
        return list(found.values())


class _Lazy(Mapping[str, Item]):
    """Reads what a name stands for when it is first asked for."""

    def __init__(self, paths: dict[str, Path], read: Callable[[Path], Item]) -> None:
        self._paths, self._read = paths, read
        self._loaded: dict[str, Item] = {}

    def __getitem__(self, name: str) -> Item:
        if name not in self._loaded:
            self._loaded[name] = self._read(self._paths[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._paths))

    def __len__(self) -> int:
        return len(self._paths)


def shipped() -> Path:
    """The folder that holds `sql/`, `udfs/` and `recipes/`: inside an installed package, or the checkout."""
    inside = Path(__file__).parent / "shipped"
    if inside.is_dir():
        return inside
    checkout = Path(__file__).parent.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "sql").is_dir():
        return checkout
    raise OperatorError(f"neither {inside} nor a checkout at {checkout} holds the operators; reinstall refinery")


def read_sql(relative: str) -> str:
    """Text of a file below the shipped `sql/` folder."""
    return (shipped() / "sql" / relative).read_text(encoding="utf-8")


def read_operator(path: Path) -> Operator:
    """Read one operator file's header.

    Raises OperatorError, naming the file and the field, when the header does not keep the contract.
    """
    header, sql = _header(path, "OPERATOR")
    kind = KINDS[path.parent.name]
    params = {name: _param(path, name, spec) for name, spec in (header.get("params") or {}).items()}
    if kind == "filter":
        params |= {name: _param(path, name, spec) for name, spec in RANGE_PARAMS.items()}
    known = {
        "doc", "version", "params", "stats", "bounds", "functions", "needs", "refuses", "checks", "peer", "examples", "sql",
    }  # fmt: skip
    _only(path, header, known)
    bounds = header.get("bounds") or {}
    for stat, ends in bounds.items():
        for name in (stat, *ends):
            if name not in params and name not in (header.get("stats") or {}):
                raise OperatorError(f"{path}: bounds name {name!r}, which is neither a parameter nor a statistic")
    return Operator(
        name=path.stem,
        kind=kind,
        path=path,
        doc=" ".join(str(header["doc"]).split()),
        version=int(header["version"]),
        params=params,
        sql=sql,
        stats=header.get("stats") or {},
        bounds=bounds,
        functions=_functions(path, header),
        needs=header.get("needs") or {},
        refuses=tuple(header.get("refuses") or ()),
        checks=header.get("checks"),
        peer=header.get("peer") or "",
        examples=tuple(header.get("examples") or ()),
    )


def read_feature(path: Path) -> Feature:
    """Read one feature file's header; raises OperatorError as `read_operator` does."""
    header, sql = _header(path, "FEATURE")
    _only(path, header, {"doc", "version", "functions", "sql"})
    doc = " ".join(str(header["doc"]).split())
    return Feature(path.stem, doc, int(header["version"]), sql, _functions(path, header), path)


def _header(path: Path, variable: str) -> tuple[dict[str, Any], str]:
    source = path.read_text(encoding="utf-8")
    header = _sql_header(path, source) if path.suffix == ".sql" else _python_header(path, source, variable)
    for name in ("doc", "version", "sql"):
        if name not in header:
            raise OperatorError(f"{path}: the header has no {name!r}")
    return header, str(header["sql"]).strip()


def _sql_header(path: Path, source: str) -> dict[str, Any]:
    import yaml

    start, end = source.find("/*---"), source.find("---*/")
    if start < 0 or end < start:
        raise OperatorError(f"{path}: no header between /*--- and ---*/")
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        header = yaml.load(source[start + 5 : end], loader)
    except yaml.YAMLError as error:
        raise OperatorError(f"{path}: the header is not valid YAML: {error}") from None
    if not isinstance(header, dict):
        raise OperatorError(f"{path}: the header is not a mapping")
    return header | {"sql": source[end + 5 :]}


def _python_header(path: Path, source: str, variable: str) -> dict[str, Any]:
    try:
        tree = ast.parse(source, str(path))
    except SyntaxError as error:
        raise OperatorError(f"{path}:{error.lineno}: {error.msg}") from None
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == variable for t in node.targets):
            try:
                return ast.literal_eval(node.value)
            except ValueError:
                raise OperatorError(f"{path}:{node.lineno}: {variable} must be a literal") from None
    raise OperatorError(f"{path}: no {variable} = {{...}}")


def _only(path: Path, header: dict[str, Any], known: set[str]) -> None:
    for name in header:
        if name not in known:
            raise OperatorError(f"{path}: unknown header field {name!r}{did_you_mean(name, known)}")


def _param(path: Path, name: str, spec: Any) -> Param:
    if not isinstance(spec, dict) or spec.get("type") not in PARAM_TYPES:
        raise OperatorError(f"{path}: parameter {name!r} needs a type, one of {', '.join(sorted(PARAM_TYPES))}")
    _only(path, spec, {"type", "default", "nullable", "min", "max", "choices", "doc"})
    default = spec.get("default")
    return Param(
        name=name,
        type=spec["type"],
        default=tuple(default) if isinstance(default, list) else default,
        required="default" not in spec,
        nullable=bool(spec.get("nullable", "default" in spec and default is None)),
        min=spec.get("min"),
        max=spec.get("max"),
        choices=tuple(spec["choices"]) if spec.get("choices") else None,
        doc=spec.get("doc", ""),
    )


def _functions(path: Path, header: dict[str, Any]) -> tuple[Function, ...]:
    return tuple(
        Function(
            name=name,
            columns=tuple(spec.get("columns", ["VARCHAR"])),
            constants=tuple(spec.get("constants", ())),
            returns=spec["returns"],
            runs=spec.get("runs", "kernel"),
            call=spec.get("call", name),
            path=path,
        )
        for name, spec in (header.get("functions") or {}).items()
    )


def load_module(path: Path) -> ModuleType:
    """Import an operator's Python file by its path, once."""
    import refinery.kernels  # noqa: F401  it says where numba keeps compiled kernels, before numba asks

    # The same in every process: numba's cache on disk knows a kernel by the name of its module.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    name = f"refinery_udf_{path.parent.name}_{path.stem}_{digest}"
    with _importing:
        return sys.modules.get(name) or _import(name, path)


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise OperatorError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
        raise
    return module
