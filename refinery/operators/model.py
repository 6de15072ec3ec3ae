"""Data of operators' and features' headers. `sql/README.md` is the contract of a header."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from refinery.dedup.matchers import MATCHERS, Matcher, SampleMatcher
from refinery.dedup.matchers.params import size_field
from refinery.errors import OperatorError
from refinery.operators.home import is_shipped
from refinery.operators.user_code import called, function_of
from refinery.operators.user_matchers import matcher_in

# A parameter in the name of a statistic.
PLACE = re.compile(r"\{(?P<name>\w+)(?P<first>\[0\])?\}")

# A column with a new text.
_GIVES_TEXT = re.compile(r"\bAS\s+(delta|text)\b", re.IGNORECASE)

# A mapper's condition for keeping a sample.
_GIVES_VERDICT = re.compile(r"\bAS\s+\"?keep", re.IGNORECASE)

KINDS = {"mappers": "mapper", "filters": "filter", "statistics": "stats", "deduplicators": "deduplicator"}
PARAM_TYPES = {
    "int", "float", "bool", "str", "regex", "sql", "list[str]", "list[int]", "str_or_list", "folder", "file", "files", "path", "any",
}  # fmt: skip

# Types of fields that mappers write.
WRITTEN = ("FLOAT[]", "DOUBLE[]", "VARCHAR")

# How a function runs: machine code, Python code, or code that may hang or end its process.
RUNS = ("kernel", "python", "process")

# Every filter of Data-Juicer has these; the compiler applies them to `bounds`.
RANGE_PARAMS: dict[str, dict[str, Any]] = {
    "min_closed_interval": {"type": "bool", "default": True, "doc": "Include the lower bound itself in the range."},
    "max_closed_interval": {"type": "bool", "default": True, "doc": "Include the upper bound itself in the range."},
    "reversed_range": {
        "type": "bool",
        "default": False,
        "doc": "Keep values outside of the range, and bounds that are in the range.",
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
    asset: str = ""  # name of the file, or pattern of the files of a folder, that is looked for
    needed: Mapping[str, Any] = field(default_factory=dict)  # values of other parameters with which it is needed
    default_when: tuple[Mapping[str, Any], ...] = ()  # `when` and `default`: other defaults, by other parameters
    default_for: tuple[Any, ...] = ()  # values that mean the default


@dataclass(frozen=True)
class Function:
    """A vector function that an operator's SQL calls."""

    name: str
    columns: tuple[str, ...]
    constants: tuple[str, ...]
    returns: str
    runs: str  # one of RUNS
    call: str
    path: Path
    prepare: str = ""  # function of the file that is called with the constants before the first row

    @property
    def runs_apart(self) -> bool:
        """True if it runs in worker processes alone: code of a user, and code that may hang or crash."""
        return self.runs == "process" or not is_shipped(self.path)

    def resolve(self) -> Callable[..., Any]:
        """The Python callable; imports the file that holds it. Raises OperatorError when that fails."""
        return function_of(self.path, self.call)


@dataclass(frozen=True)
class Feature:
    """An SQL expression over a text that several operators share."""

    name: str
    doc: str
    version: int
    sql: str
    functions: tuple[Function, ...]
    path: Path
    params: tuple[str, ...] = ()  # names of values that the operators give it
    variables: str = ""  # function of the file that makes further variables of the SQL from the parameters

    def context(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Variables of the SQL besides the text. Raises ValueError if operators give it other parameters than its own."""
        if set(params) != set(self.params):
            takes = ", ".join(self.params) or "none"
            raise ValueError(f"feature {self.name} gets the parameters {', '.join(params) or 'none'}; it takes {takes}")
        if not self.variables:
            return dict(params)
        made = called(self.path, self.variables, params)
        if not isinstance(made, Mapping):
            raise OperatorError(f"{self.path}: the function {self.variables} must return a mapping, not {made!r:.80}")
        return {**params, **made}


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
    bounds: dict[str, list[str | None]] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    needs: dict[str, str] = field(default_factory=dict)
    refuses: tuple[dict[str, Any], ...] = ()
    checks: str | None = None
    peer: str = ""
    peers: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[dict[str, Any], ...] = ()
    match: str = ""  # of a deduplicator: the name of its matcher
    matcher_path: Path | None = None  # file of the matcher, if it is a user's
    rule: dict[str, str] = field(default_factory=dict)  # units to remove, and the treatment of empty texts
    apply: str = ""  # SQL that removes units from a text
    units: dict[str, str] = field(default_factory=dict)  # name of a unit, and the function that splits a text
    compare: str = ""  # SQL for the `shingles` by which candidates are compared exactly
    alias_of: str = ""  # the operator whose file declares this name
    resources: dict[str, Any] = field(default_factory=dict)  # GPUs, memory and such, and whether it loads a model
    writes: Mapping[str, str] = field(default_factory=dict)  # parameter with a field that a mapper writes -> its type

    @property
    def changes_text(self) -> bool:
        """True if its steps make a new version of the text."""
        gives = _GIVES_TEXT.search(self.sql) is not None
        return gives or not self.writes if self.kind == "mapper" else gives and self.kind == "filter"

    @property
    def removes_samples(self) -> bool:
        """True if a mapper may remove samples."""
        return self.kind == "mapper" and _GIVES_VERDICT.search(self.sql) is not None

    @property
    def matcher(self) -> Matcher:
        """The matcher of a deduplicator. Raises OperatorError if its file cannot be imported."""
        return matcher_of(self.match, self.matcher_path)

    @property
    def sample_matcher(self) -> SampleMatcher:
        """The matcher of a deduplicator that removes samples."""
        matcher = self.matcher
        assert not matcher.takes_units
        return cast(SampleMatcher, matcher)

    def check(self, params: dict[str, Any]) -> list[str]:
        """Problems that prevent a run with these (complete) parameters, as sentences that name the cure."""
        problems = [
            rule["say"]
            for rule in self.refuses
            if all(params.get(name) == value for name, value in rule["when"].items())
        ]
        if self.checks:
            problems += self._call(self.checks, params)
        return problems

    def fields_of(self, params: Mapping[str, Any]) -> dict[str, str]:
        """The fields that a step writes with these parameters, by the parameter that names the field."""
        fields = {name: str(params[name]) for name in self.writes if params.get(name) is not None}
        with suppress(ValueError):  # compiling reports it
            fields |= {"save_cluster_size": size} if (size := size_field(params)) else {}
        return fields

    def sql_of(self, params: Mapping[str, Any]) -> dict[str, str]:
        """The given parameters that are a person's SQL."""
        named = {name: params.get(name) for name, param in self.params.items() if param.type == "sql"}
        return {name: sql for name, sql in named.items() if sql is not None}

    def stats_of(self, params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        """Statistics by name with these (complete) parameters: `{a}` in a name stands for parameter a.

        A list gives one statistic for each of its values, `{a[0]}` one for its first value; a list of pairs one for each pair, by
        its first value.
        """
        return {name: spec for pattern, spec in self.stats.items() for name in _names(pattern, params)}

    def bounds_of(self, params: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """The parameters that bound each statistic with these (complete) parameters."""
        return {name: ends for pattern, ends in self.bounds.items() for name in _names(pattern, params)}

    def loads(self, params: Mapping[str, Any]) -> bool:
        """Return whether the operator loads something large with these parameters, such as a model."""
        declared = self.resources.get("loads", False)
        if not isinstance(declared, dict):
            return bool(declared)
        return any(_applies(params.get(name), value) for name, value in declared.items())

    def parts(self, text: str, params: dict[str, Any]) -> list[str]:
        """The units of a text, in order; none for an operator without a function that splits texts."""
        return self._call(self.units["split"], text, params) if "split" in self.units else []

    def _call(self, name: str, *arguments: Any) -> list[str]:
        """Call a function of the file that returns a list of texts. Raises OperatorError."""
        answer = called(self.path, name, *arguments)
        if not isinstance(answer, (list, tuple)) or not all(isinstance(item, str) for item in answer):
            raise OperatorError(
                f"{self.path}: the function {name} returned {answer!r:.80}; it must return a list of texts"
            )
        return list(answer)


def matcher_of(name: str, path: Path | None) -> Matcher:
    """A shipped matcher, or the object `MATCHER` of a user's file. Raises OperatorError if there is none."""
    return MATCHERS[name] if path is None else matcher_in(path)


def _applies(value: Any, declared: Any) -> bool:
    """Return whether a parameter has a declared value: True for any, `{"not": list}` for all but some."""
    if isinstance(declared, dict):
        return value not in declared["not"]
    return bool(value == declared or (declared is True and value))


def _names(pattern: str, params: Mapping[str, Any]) -> list[str]:
    """Names that a statistic's name in a header stands for with these parameters."""
    place = PLACE.search(pattern)
    if place is None:
        return [pattern]
    value_of_param = params.get(place["name"])
    values: list[Any] = []
    for value in getattr(
        value_of_param, "all_values", [value_of_param]
    ):  # of a parameter that depends on a column, all that it may have
        items = [value] if not isinstance(value, (list, tuple)) else list(value[:1] if place["first"] else value)
        values += [item for item in items if item is not None]
    rests = _names(pattern[place.end() :], params)
    named = dict.fromkeys(str(value[0]) if isinstance(value, (list, tuple)) else str(value) for value in values)
    return [pattern[: place.start()] + value + rest for value in named for rest in rests]
