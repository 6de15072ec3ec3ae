"""Finds `sql/`, `udfs/` and `recipes/`, and reads what operator files say of themselves.

Headers are read without rendering a template or importing a Python file, so listing every operator is cheap and needs
none of the operators' own libraries. `sql/README.md` is the contract of a header.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
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

# A parameter in the name of a statistic.
_PLACE = re.compile(r"\{(?P<name>\w+)(?P<first>\[0\])?\}")

KINDS = {"mappers": "mapper", "filters": "filter", "statistics": "stats", "deduplicators": "deduplicator"}
# How a deduplicator compares samples; `sql/README.md` says what each needs of an operator.
MATCHES = ("keys", "bands", "hamming", "units")
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


# Every deduplicator that removes samples has these; `verify` only where there are shingles to compare.
SURVIVOR_PARAMS: dict[str, dict[str, Any]] = {
    "keep": {
        "type": "str",
        "default": "first",
        "doc": "Which of a cluster's samples stays: `first`, or an SQL order such as `length(text) desc`; ties: the first.",
    },
    "max_cluster_size": {
        "type": "int",
        "default": None,
        "min": 1,
        "doc": "A cluster of more samples is suspicious; see on_excess.",
    },
    "max_removed_share": {
        "type": "float",
        "default": None,
        "min": 0,
        "max": 1,
        "doc": "More removed than this share of all samples, or of one input's, is suspicious; see on_excess.",
    },
    "on_excess": {
        "type": "str",
        "default": "fail",
        "choices": ["fail", "warn"],
        "doc": "Whether what is suspicious ends the run before anything is written, or is only said.",
    },
    "index": {
        "type": "str",
        "default": None,
        "nullable": True,
        "doc": "Folder that remembers the samples of earlier runs: duplicates of those are removed too, and new ones are added.",
    },
    "trace_samples": {
        "type": "bool",
        "default": False,
        "doc": "Trace whole samples as dup1 and dup2, as Data-Juicer does, instead of their texts.",
    },
}
VERIFY_PARAMS: dict[str, dict[str, Any]] = {
    "verify": {
        "type": "bool",
        "default": False,
        "doc": "Compute the true Jaccard similarity of candidate pairs and let go of those below jaccard_threshold.",
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
    kind: str  # "mapper", "filter", "stats" or "deduplicator"
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
    match: str = ""  # of a deduplicator: one of MATCHES
    rule: dict[str, str] = field(default_factory=dict)  # which units go, and what becomes of empty texts
    apply: str = ""  # SQL that takes units out of a text
    units: dict[str, str] = field(default_factory=dict)  # what a unit is called, and the function that splits a text
    compare: str = ""  # SQL for the `shingles` by which candidates are compared exactly
    alias_of: str = ""  # the operator whose file this name stands in
    resources: dict[str, Any] = field(default_factory=dict)  # of a cluster: num_gpus, and what it loads

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

    def stats_of(self, params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """The statistics by their names with these (complete) parameters: `{a}` in a name stands for parameter a.

        A list gives one statistic for each of its values, `{a[0]}` the first of them alone.
        """
        return {name: spec for pattern, spec in self.stats.items() for name in _names(pattern, params)}

    def loads(self, params: Mapping[str, Any]) -> bool:
        """Whether it loads something large with these parameters, such as a model."""
        declared = self.resources.get("loads", False)
        if not isinstance(declared, dict):
            return bool(declared)
        return any(
            params.get(name) == value or (value is True and params.get(name)) for name, value in declared.items()
        )

    def parts(self, text: str, params: dict[str, Any]) -> list[str]:
        """The units of a text, in order; none for an operator that does not say how to split one."""
        return getattr(load_module(self.path), self.units["split"])(text, params) if "split" in self.units else []


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
        paths = {n: p for n, (d, p) in self._paths.items() if d in KINDS}
        return _Lazy(paths | self._aliases, lambda name, path: read_operator(path, name))

    @cached_property
    def _aliases(self) -> dict[str, Path]:
        """Other names of deduplicators: their headers have to be looked into."""
        found: dict[str, Path] = {}
        for directory, path in self._paths.values():
            if directory == "deduplicators":
                found.update(dict.fromkeys(_header(path, "OPERATOR")[0].get("aliases") or {}, path))
        return found

    @cached_property
    def features(self) -> Mapping[str, Feature]:
        """Features by name."""
        paths = {n: p for n, (d, p) in self._paths.items() if d == "features"}
        return _Lazy(paths, lambda name, path: read_feature(path))

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


def _names(pattern: str, params: Mapping[str, Any]) -> list[str]:
    """What a statistic's name in a header stands for with these parameters."""
    found = _PLACE.search(pattern)
    if found is None:
        return [pattern]
    value = params.get(found["name"])
    values = [value] if not isinstance(value, (list, tuple)) else list(value[:1] if found["first"] else value)
    return [pattern[: found.start()] + str(value) + pattern[found.end() :] for value in dict.fromkeys(values)]


class _Lazy(Mapping[str, Item]):
    """Reads what a name stands for when it is first asked for."""

    def __init__(self, paths: dict[str, Path], read: Callable[[str, Path], Item]) -> None:
        self._paths, self._read = paths, read
        self._loaded: dict[str, Item] = {}

    def __getitem__(self, name: str) -> Item:
        if name not in self._loaded:
            self._loaded[name] = self._read(name, self._paths[name])
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


def read_operator(path: Path, name: str | None = None) -> Operator:
    """Read one operator file's header; name: one of its aliases, or the file's own.

    Raises OperatorError, naming the file and the field, when the header does not keep the contract.
    """
    header, sql = _header(path, "OPERATOR")
    kind = KINDS[path.parent.name]
    name = name or path.stem
    known = {
        "doc", "version", "params", "stats", "bounds", "functions", "needs", "refuses", "checks", "peer", "examples", "sql",
        "resources",
    }  # fmt: skip
    _only(
        path,
        header,
        known | {"match", "rule", "apply", "compare", "aliases", "units"} if kind == "deduplicator" else known,
    )
    alias = (header.get("aliases") or {}).get(name) or {}
    params = {n: _param(path, n, spec) for n, spec in _all_params(path, kind, header, alias).items()}
    for stat in header.get("stats") or {}:
        if (place := _PLACE.search(stat)) and place["name"] not in params:
            raise OperatorError(f"{path}: statistic {stat!r} names {place['name']!r}, which is no parameter")
    bounds = header.get("bounds") or {}
    if bounds and kind == "stats":
        raise OperatorError(f"{path}: an operator of statistics keeps every sample, so it has no bounds")
    for stat, ends in bounds.items():
        for bound in (stat, *ends):
            if bound not in params and bound not in (header.get("stats") or {}):
                raise OperatorError(f"{path}: bounds name {bound!r}, which is neither a parameter nor a statistic")
    return Operator(
        name=name,
        kind=kind,
        path=path,
        doc=" ".join(str(alias.get("doc") or header["doc"]).split()),
        version=int(header["version"]),
        params=params,
        sql=sql,
        stats=header.get("stats") or {},
        bounds=bounds,
        functions=_functions(path, header),
        needs=header.get("needs") or {},
        refuses=tuple(header.get("refuses") or ()),
        checks=header.get("checks"),
        peer=alias.get("peer") or header.get("peer") or "",
        examples=tuple(header.get("examples") or ()) if name == path.stem else (),
        match=_match(path, kind, header),
        rule=header.get("rule") or {},
        apply=header.get("apply") or "",
        units=header.get("units") or {},
        compare=header.get("compare") or "",
        alias_of="" if name == path.stem else path.stem,
        resources=_resources(path, header, params),
    )


def _resources(path: Path, header: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    declared = header.get("resources") or {}
    _only(path, declared, {"num_gpus", "loads"})
    gpus, loads = declared.get("num_gpus", 0), declared.get("loads", False)
    if isinstance(gpus, bool) or not isinstance(gpus, (int, float)) or gpus < 0:
        raise OperatorError(f"{path}: num_gpus must be a number from 0, not {gpus!r}")
    for name in loads if isinstance(loads, dict) else ():
        if name not in params:
            raise OperatorError(f"{path}: loads names {name!r}, which is no parameter{did_you_mean(name, params)}")
    return declared


def _all_params(path: Path, kind: str, header: dict[str, Any], alias: dict[str, Any]) -> dict[str, Any]:
    """The operator's own parameters, and those of all operators of its kind."""
    own = {**(header.get("params") or {}), **(alias.get("params") or {})}
    if kind == "filter":
        return own | RANGE_PARAMS
    if kind != "deduplicator" or _match(path, kind, header) == "units":
        return own
    return own | (VERIFY_PARAMS if header["match"] == "bands" else {}) | SURVIVOR_PARAMS


def _match(path: Path, kind: str, header: dict[str, Any]) -> str:
    match = header.get("match") or ""
    if kind == "deduplicator" and match not in MATCHES:
        raise OperatorError(f"{path}: match must be one of {', '.join(MATCHES)}, not {match!r}")
    if match == "units" and not (header.get("apply") and header.get("rule")):
        raise OperatorError(f"{path}: a deduplicator of units needs `apply` and `rule`")
    return match


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
