"""Reads headers without rendering templates or importing Python files, so that listing all operators is cheap."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.assets.names import PLACE as ASSET_PLACE
from refinery.dedup.matchers import MATCHERS
from refinery.errors import OperatorError, did_you_mean
from refinery.operators.model import (
    KINDS,
    PARAM_TYPES,
    PLACE,
    RANGE_PARAMS,
    RUNS,
    WRITTEN,
    Feature,
    Function,
    Operator,
    Param,
    matcher_of,
)
from refinery.operators.peers import PEERS

_TAKEN = "columns that begin with _ are private to the operator, and `keep` is a condition"


_FIELDS = {
    "doc", "version", "params", "stats", "bounds", "functions", "needs", "refuses", "checks", "peer", "peers", "examples", "sql",
    "resources", "writes",
}  # fmt: skip
# Resources of a header that are numbers: the least one, and their types. memory is in bytes.
_AMOUNTS: dict[str, tuple[float, Any]] = {
    "num_cpus": (0.01, (int, float)),
    "num_gpus": (0, (int, float)),
    "memory": (1, int),
    "num_proc": (1, int),
    "batch_size": (1, int),
}
_OF_DEDUPLICATORS = {"match", "rule", "apply", "compare", "aliases", "units"}


def read_operator(path: Path, name: str | None = None, matchers: Mapping[str, Path] | None = None) -> Operator:
    """Read one operator file's header; name: one of its aliases, or the file's own. matchers: files of users' matchers.

    Raises OperatorError, naming the file and the field, when the header breaks the contract.
    """
    header, sql = _header(path, "OPERATOR")
    kind = KINDS[path.parent.name]
    name = name or path.stem
    matchers = matchers or {}
    match = header.get("match") or ""
    if kind == "deduplicator":
        _check_match(path, header, matchers)
    _only(path, header, _FIELDS | _OF_DEDUPLICATORS if kind == "deduplicator" else _FIELDS)
    _check_mappings(path, header)
    alias = (header.get("aliases") or {}).get(name) or {}
    params = {n: _param(path, n, spec) for n, spec in _all_params(kind, header, alias, matchers).items()}
    _check_assets(path, params)
    _check_defaults(path, params)
    _check_stats(path, kind, header, params)
    return Operator(
        name=name,
        kind=kind,
        path=path,
        doc=" ".join(str(alias.get("doc") or header["doc"]).split()),
        version=int(header["version"]),
        params=params,
        sql=sql,
        stats=header.get("stats") or {},
        bounds=_bounds(path, kind, header, params),
        functions=_functions(path, header),
        needs=header.get("needs") or {},
        refuses=tuple(header.get("refuses") or ()),
        checks=header.get("checks"),
        peer=alias.get("peer") or header.get("peer") or "",
        peers={} if alias else _peers(path, header),
        examples=tuple(header.get("examples") or ()) if name == path.stem else (),
        match=match,
        matcher_path=matchers.get(match),
        rule=header.get("rule") or {},
        apply=header.get("apply") or "",
        units=header.get("units") or {},
        compare=header.get("compare") or "",
        alias_of="" if name == path.stem else path.stem,
        resources=_resources(path, header, params),
        writes=_writes(path, kind, header, params),
    )


def _check_mappings(path: Path, header: dict[str, Any]) -> None:
    for field in ("params", "stats", "aliases"):
        if not isinstance(header.get(field) or {}, dict):
            raise OperatorError(f"{path}: {field} must be a mapping of names, not {header[field]!r}")
    for stat, spec in (header.get("stats") or {}).items():
        if not isinstance(spec, dict):
            raise OperatorError(f"{path}: statistic {stat!r} must be a mapping with type and doc, not {spec!r}")


def _peers(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    """Names of the operator in other tools, besides those in `peer`."""
    declared = header.get("peers") or {}
    known = set(PEERS.values())
    for tool, names in declared.items() if isinstance(declared, dict) else [("", "")]:
        if tool not in known or not all(
            isinstance(name, str) and name for name in ([names], names)[isinstance(names, list)]
        ):
            what = f"peers must be a mapping of {', '.join(sorted(known))} to names, not {declared!r}"
            raise OperatorError(f"{path}: {what}{did_you_mean(str(tool), known)}")
    return declared


def _check_stats(path: Path, kind: str, header: dict[str, Any], params: Mapping[str, Any]) -> None:
    for stat in header.get("stats") or {}:
        if not stat or stat.startswith("_") or (kind != "stats" and stat.lower() == "keep"):
            raise OperatorError(f"{path}: a statistic cannot be named {stat!r}: {_TAKEN}")
        for place in PLACE.finditer(stat):
            if place["name"] not in params:
                raise OperatorError(f"{path}: statistic {stat!r} names {place['name']!r}, which is no parameter")


def _bounds(path: Path, kind: str, header: dict[str, Any], params: Mapping[str, Any]) -> dict[str, list[str | None]]:
    bounds = header.get("bounds") or {}
    if bounds and kind == "stats":
        raise OperatorError(f"{path}: a statistics operator keeps every sample, so it has no bounds")
    if not isinstance(bounds, dict):
        raise OperatorError(f"{path}: bounds must be a mapping of statistics to two parameters, not {bounds!r}")
    for stat, ends in bounds.items():
        if not isinstance(ends, list) or len(ends) != 2:
            raise OperatorError(f"{path}: bounds of {stat!r} must be [lower, upper], two parameters, not {ends!r}")
        if ends == [None, None]:
            raise OperatorError(f"{path}: bounds of {stat!r} name no parameter")
        for bound in (stat, *ends):
            if bound is not None and bound not in params and bound not in (header.get("stats") or {}):
                raise OperatorError(f"{path}: bounds name {bound!r}, which is neither a parameter nor a statistic")
    return bounds


def _resources(path: Path, header: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    declared = header.get("resources") or {}
    _only(path, declared, {"loads", "files", *_AMOUNTS})
    loads = declared.get("loads", False)
    for name in _AMOUNTS:
        _check_amount(path, name, declared.get(name, 1), params)
    _resource_files(path, declared.get("files", []))
    for name in loads if isinstance(loads, dict) else ():
        if name not in params:
            raise OperatorError(f"{path}: loads names {name!r}, which is no parameter{did_you_mean(name, params)}")
    return declared


def _writes(path: Path, kind: str, header: dict[str, Any], params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that name the fields which a mapper writes besides the text, with the fields' SQL types."""
    declared = header.get("writes") or {}
    known = isinstance(declared, dict) and (kind == "mapper" or not declared)
    for name, type_ in declared.items() if known else [("", "")]:
        if name not in params or params[name].type != "str" or type_ not in WRITTEN:
            what = f"writes must be {{parameter: type}}, a str parameter of a mapper and one of {', '.join(WRITTEN)}"
            raise OperatorError(f"{path}: {what}, not {declared!r}")
    return dict(declared)


def _check_amount(path: Path, name: str, value: Any, params: Mapping[str, Any]) -> None:
    """Check a resource that is a number; GPUs may depend on a parameter: `{parameter: {value: number}}`."""
    least, kinds = _AMOUNTS[name]
    if name == "num_gpus" and isinstance(value, dict):
        for param, by_value in value.items():
            if param not in params or not isinstance(by_value, dict):
                raise OperatorError(f"{path}: num_gpus must be a number or {{parameter: {{value: number}}}}")
            for each in by_value.values():
                _check_amount(path, name, each, params)
    elif isinstance(value, bool) or not isinstance(value, kinds) or value < least:
        raise OperatorError(f"{path}: {name} must be a number from {least}, not {value!r}")


def _resource_files(path: Path, names: Any) -> None:
    """Check that the data files of an operator exist. names: files, folders and globs beside its own file."""
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise OperatorError(f"{path}: files of resources must be a list of names, not {names!r}")
    for name in names:
        place = path.parent / name
        if not place.exists() and not any(path.parent.glob(name) if not os.path.isabs(name) else ()):
            raise OperatorError(f"{path}: resources name the file {name!r}, but there is no {place}")


def _all_params(
    kind: str, header: dict[str, Any], alias: dict[str, Any], matchers: Mapping[str, Path]
) -> dict[str, Any]:
    """The operator's own parameters and those of all operators of its kind."""
    own = {**(header.get("params") or {}), **(alias.get("params") or {})}
    if kind == "filter":
        return own | RANGE_PARAMS
    if kind != "deduplicator":
        return own
    return own | dict(matcher_of(header["match"], matchers.get(header["match"])).params)


def _check_match(path: Path, header: dict[str, Any], matchers: Mapping[str, Path]) -> None:
    """Check that the matcher of a deduplicator exists and accepts the header. Raises OperatorError."""
    match, known = header.get("match") or "", (*MATCHERS, *matchers)
    if match not in known:
        raise OperatorError(f"{path}: match must be one of {', '.join(known)}, not {match!r}")
    if problem := matcher_of(match, matchers.get(match)).problem(header):
        raise OperatorError(f"{path}: {problem}")


def read_feature(path: Path) -> Feature:
    """Read one feature file's header; raises OperatorError as `read_operator` does."""
    header, sql = _header(path, "FEATURE")
    _only(path, header, {"doc", "version", "functions", "sql", "params", "variables"})
    doc, params = " ".join(str(header["doc"]).split()), header.get("params") or []
    if not isinstance(params, list) or not all(isinstance(name, str) and name.isidentifier() for name in params):
        raise OperatorError(f"{path}: params must be a list of names, not {params!r}")
    if taken := sorted({"text", "feature"} & {*params}):
        raise OperatorError(f"{path}: a parameter cannot be named {taken[0]}, which templates have already")
    functions, variables = _functions(path, header), str(header.get("variables") or "")
    return Feature(path.stem, doc, int(header["version"]), sql, functions, path, tuple(params), variables)


def aliases(path: Path) -> dict[str, Any]:
    """Aliases of the operator in a file, with the header fields that differ under each."""
    return deepcopy(_complete(path, "OPERATOR").get("aliases") or {})


def _header(path: Path, variable: str) -> tuple[dict[str, Any], str]:
    header = deepcopy(_complete(path, variable))
    return header, str(header["sql"]).strip()


def _complete(path: Path, variable: str) -> dict[str, Any]:
    """The header as it is kept for all readers of the file, who copy what they give away."""
    header = _parsed(path, _source(path), variable)
    for name in ("doc", "version", "sql"):
        if name not in header:
            raise OperatorError(f"{path}: the header has no {name!r}")
    return header


def _source(path: Path) -> str:
    """The text of a file with the line ends of Windows as LF; carriage returns that end no line stay in it."""
    source = path.read_bytes().decode("utf-8")
    if "\n" not in source.replace("\r\n", ""):  # every line ends alike
        source = source.replace("\r\n", "\n")
    return source if "\n" in source else source.replace("\r", "\n")


@lru_cache(maxsize=512)
def _parsed(path: Path, source: str, variable: str) -> dict[str, Any]:
    """Header in a file's text. Each text is parsed once, as a process that runs several recipes reads the same ones."""
    return _sql_header(path, source) if path.suffix == ".sql" else _python_header(path, source, variable)


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


_PARAM_FIELDS = {
    *("type", "default", "nullable", "min", "max", "choices", "doc", "asset", "needed", "default_when", "default_for")
}


def _param(path: Path, name: str, spec: Any) -> Param:
    if not isinstance(spec, dict) or spec.get("type") not in PARAM_TYPES:
        raise OperatorError(f"{path}: parameter {name!r} needs a type, one of {', '.join(sorted(PARAM_TYPES))}")
    _only(path, spec, _PARAM_FIELDS)
    default = spec.get("default")
    default_for = tuple(tuple(item) if isinstance(item, list) else item for item in spec.get("default_for") or ())
    if spec["type"] in ("int", "float") and isinstance(default, (str, list)):
        cure = "YAML reads 1e9 as text, 1.0e+9 as a number"
        raise OperatorError(f"{path}: the default of parameter {name!r} is {default!r}, no number; {cure}")
    return Param(
        name=name,
        type=spec["type"],
        default=tuple(default) if isinstance(default, list) else default,
        required="default" not in spec,
        nullable=bool(spec.get("nullable", "default" in spec and default is None)) or None in default_for,
        min=spec.get("min"),
        max=spec.get("max"),
        choices=tuple(spec["choices"]) if spec.get("choices") else None,
        doc=spec.get("doc", ""),
        asset=str(spec.get("asset") or ""),
        needed=_needed(spec.get("needed")),
        default_when=tuple(spec.get("default_when") or ()),
        default_for=default_for,
    )


def _needed(declared: Any) -> dict[str, Any]:
    """Values of other parameters with which an asset is needed; the name of a parameter alone means true."""
    return dict(declared) if isinstance(declared, dict) else {str(declared): True} if declared else {}


def _check_defaults(path: Path, params: Mapping[str, Param]) -> None:
    """Check that other defaults are possible values, and depend on parameters that exist. Raises OperatorError."""
    for param in params.values():
        for rule in param.default_when:
            if set(rule) != {"when", "default"} or not isinstance(rule["when"], dict):
                raise OperatorError(
                    f"{path}: default_when of {param.name!r} must have items {{when: ..., default: ...}}"
                )
            if param.choices and rule["default"] not in param.choices:
                raise OperatorError(
                    f"{path}: default_when of {param.name!r} has {rule['default']!r}, which is no choice"
                )
            for name in rule["when"]:
                if name not in params or params[name].default_when:
                    near = did_you_mean(name, params)
                    raise OperatorError(f"{path}: default_when of {param.name!r} cannot depend on {name!r}{near}")


def _check_assets(path: Path, params: Mapping[str, Param]) -> None:
    """Check that declared assets are of files, and name parameters that exist. Raises OperatorError."""
    for param in params.values():
        if (param.asset or param.needed) and param.type not in ("file", "folder"):
            raise OperatorError(f"{path}: parameter {param.name!r} has an asset, so its type must be file or folder")
        for name in (*ASSET_PLACE.findall(param.asset), *param.needed):
            if name not in params:
                near = did_you_mean(name, params)
                raise OperatorError(f"{path}: the asset of {param.name!r} names {name!r}, which is no parameter{near}")


def _check_runs(path: Path, name: str, spec: Mapping[str, Any]) -> None:
    """Check how a function runs; one that may hang has a time limit among its constants, and a place for the reason."""
    runs = spec.get("runs", "kernel")
    if runs not in RUNS:
        raise OperatorError(f"{path}: function {name!r}: runs must be one of {', '.join(RUNS)}, not {runs!r}")
    if runs == "process" and (
        "fault VARCHAR" not in spec["returns"] or list(spec.get("constants", ()))[:1] != ["DOUBLE"]
    ):
        what = "its first constant is DOUBLE, its time limit, and it returns a STRUCT with the field `fault VARCHAR`"
        raise OperatorError(f"{path}: function {name!r} runs in a process of its own: {what}")


def _functions(path: Path, header: dict[str, Any]) -> tuple[Function, ...]:
    for name, spec in (header.get("functions") or {}).items():
        if not isinstance(spec, dict) or not isinstance(spec.get("returns"), str):
            raise OperatorError(f"{path}: function {name!r} needs `returns`, the SQL type of its result")
        _check_runs(path, name, spec)
    return tuple(
        Function(
            name=name,
            columns=tuple(spec.get("columns", ["VARCHAR"])),
            constants=tuple(spec.get("constants", ())),
            returns=spec["returns"],
            runs=spec.get("runs", "kernel"),
            call=spec.get("call", name),
            path=path,
            prepare=spec.get("prepare", ""),
        )
        for name, spec in (header.get("functions") or {}).items()
    )
