"""The Jinja environment for operators' SQL bodies, and functions that print SQL literals and identifiers."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from refinery.common.duckdb_facts.names import KEYWORDS
from refinery.common.fields import quoted
from refinery.common.lazy import jinja2
from refinery.compiler.template_code import code_cache
from refinery.errors import RefineryError


@lru_cache(maxsize=1024)
def asks_for(body: str, name: str) -> bool:
    """Return whether a template uses a variable; one that cannot be read uses none."""
    from jinja2.meta import find_undeclared_variables

    tree = _tree(body) if name in body else None
    return tree is not None and name in find_undeclared_variables(tree)


def _tree(body: str) -> jinja2.nodes.Template | None:
    """The tree of a template; None for one that cannot be read, which is reported when it is rendered."""
    try:
        return environment().parse(body)
    except jinja2.TemplateSyntaxError:
        return None


@dataclass(frozen=True)
class Argument:
    """First argument of a call in a template: a constant text, or the name of a variable."""

    text: str
    is_variable: bool = False


@lru_cache(maxsize=1024)
def arguments(body: str, function: str) -> tuple[Argument, ...]:
    """The first arguments of a template's calls of a function, each once, by line; other expressions are left out."""
    tree = _tree(body) if function in body else None  # parsing takes as long as compiling
    if tree is None:
        return ()
    calls = tree.find_all(jinja2.nodes.Call)
    own = [call for call in calls if isinstance(call.node, jinja2.nodes.Name) and call.node.name == function]
    nodes = [call.args[0] for call in sorted(own, key=lambda call: call.lineno) if call.args]
    return tuple(dict.fromkeys(argument for node in nodes if (argument := _argument(node)) is not None))


def _argument(node: jinja2.nodes.Expr) -> Argument | None:
    if isinstance(node, jinja2.nodes.Name):
        return Argument(node.name, is_variable=True)
    return Argument(node.value) if isinstance(node, jinja2.nodes.Const) and isinstance(node.value, str) else None


class DependsOnColumn(RefineryError):
    """A template needs the value of a parameter that each sample has for itself."""

    def __init__(self, parameter: str) -> None:
        super().__init__(f"{parameter} depends on a column, but shapes the SQL")
        self.parameter = parameter


class ColumnValue:
    """The column with each sample's value of a parameter.

    A template can write it (`| lit`), and compare it if the answer is the same for all values. sql: the column. values: all
    that samples may have.
    """

    __slots__ = ("parameter", "sql", "values")

    def __init__(self, sql: str, parameter: str, values: Sequence[Any] = ()) -> None:
        self.sql, self.parameter, self.values = sql, parameter, tuple(values)

    def _need(self, *_: Any) -> Any:
        raise DependsOnColumn(self.parameter)

    def _all(self, answer: Callable[[Any], bool]) -> bool:
        answers = {bool(answer(value)) for value in self.values}
        if len(answers) != 1:
            raise DependsOnColumn(self.parameter)
        return answers.pop()

    def __bool__(self) -> bool:
        return self._all(bool)

    def __eq__(self, other: object) -> bool:
        return self._all(lambda value: value == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._all(lambda value: value < other)

    def __le__(self, other: Any) -> bool:
        return self._all(lambda value: value <= other)

    def __gt__(self, other: Any) -> bool:
        return self._all(lambda value: value > other)

    def __ge__(self, other: Any) -> bool:
        return self._all(lambda value: value >= other)

    __len__ = __iter__ = __contains__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = (
        _need
    )
    __truediv__ = __neg__ = __str__ = __format__ = __float__ = __int__ = __hash__ = _need


def lit(value: Any) -> str:
    """`value` as a SQL literal: None, bool, int, float, str, or a list of these; a `ColumnValue` as its column.

    Raises TypeError for any other type. No character of a string can end the literal, so no value can change a statement.
    """
    if isinstance(value, ColumnValue):
        return value.sql
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(lit(item) for item in value) + "]"
    raise TypeError(f"{type(value).__name__} has no SQL literal")


def _string(value: str) -> str:
    value = str.__str__(value)  # the filter `tojson` returns a Markup, whose methods escape what they are given
    # A statement cannot contain a NUL; chr(0) makes it at run time.
    return " || chr(0) || ".join("'" + piece.replace("'", "''") + "'" for piece in value.split("\0"))


def ident(name: str) -> str:
    """`name` as a SQL identifier, quoted only where it must be."""
    if isinstance(name, ColumnValue):  # a name that each sample has for itself names no column
        raise DependsOnColumn(name.parameter)
    if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in KEYWORDS:
        return name
    return quoted(name)


def json_path(keys: tuple[str, ...]) -> str:
    """Nested `keys` for DuckDB's JSON functions: a path, or a pointer if the path would not be read literally."""
    if all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) for key in keys):
        return "$" + "".join(f'."{key}"' for key in keys)
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


_bodies: dict[str, str] = {}  # of templates, by their digests: only templates with a name have stored code


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The Jinja environment: sandboxed, because operator files may be untrusted; an unknown variable is an error."""
    from jinja2.sandbox import SandboxedEnvironment

    from refinery.common.carriage_returns import CarriageReturns

    syntax = {"trim_blocks": True, "lstrip_blocks": True, "autoescape": False}
    env = SandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_bodies.get),
        cache_size=-1,
        bytecode_cache=code_cache({**syntax, "extensions": "CarriageReturns"}),
        extensions=[CarriageReturns],
        **syntax,
    )
    env.filters["lit"] = lit
    env.filters["ident"] = ident
    env.policies["json.dumps_kwargs"] = {**env.policies["json.dumps_kwargs"], "default": _in_json}
    return env


def _in_json(value: Any) -> Any:
    """Refuse values that JSON cannot have: a value that each sample has for itself shapes the text."""
    if isinstance(value, ColumnValue):
        raise DependsOnColumn(value.parameter)
    raise TypeError(f"{type(value).__name__} cannot be in JSON")


@lru_cache(maxsize=1024)
def template(body: str) -> jinja2.Template:
    """The compiled template of an operator's body."""
    name = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
    _bodies[name] = body
    return environment().get_template(name)
