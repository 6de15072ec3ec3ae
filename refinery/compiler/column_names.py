"""The names of the columns that the compiler makes: each thing has one, and no two things share one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Hashable, Iterable
from itertools import chain, count

from sqlglot import exp

from refinery.compiler.templates import ident

# A text field, such as ("meta", "body").
Keys = tuple[str, ...]

# Columns that decide whether a step computes anything of a sample; what a step reads does not depend on them.
GUARDS = frozenset({"alive", "pass"})
# Columns that cost next to nothing beside what else a step computes.
LIGHT = GUARDS | {"changed"}

# Names that are known by their spelling outside of a chain: columns of `batch`, of results and of tables, and relations.
# Nothing that is named after a text field, a parameter or an operator's own column gets one of them.
_FIXED = re.compile(
    r"batch|kept|_(i|row|line|text|bad|kind|rest|suffix|file|file_suffix|read|dropped|stats|told|tokens|units|rows)"
    r"|_s\d+|_(alive|pass|delta|changed|bytes|chars|removed|dropped)_\d+|_(key|mark)_.*",
    re.DOTALL,
)
# The same for the relation `batch`, whose other columns are named by the input.
OF_BATCH = re.compile(r"batch|_(i|row|line|text|bad|kind|rest|suffix|file)|_removed_\d+")
# Longer names of fields are cut, so that a statement can be read.
_LONGEST = 40


class Names:
    """Gives out the names of one relation's columns. SQL does not tell letter cases apart, so neither does this."""

    def __init__(self, fixed: re.Pattern[str] = _FIXED, taken: Iterable[str] = ()) -> None:
        self._fixed = fixed
        self._taken = {name.lower() for name in taken}
        self._given: dict[tuple[Hashable, ...], str] = {}

    def fixed(self, kind: str, number: int) -> str:
        """A column with the one name that it always has, such as `_alive_3`; `free` gives nobody else that name."""
        name = f"_{kind}_{number}"
        assert self._fixed.fullmatch(name), name
        return name

    def free(self, wanted: str, *what: Hashable, otherwise: str = "") -> str:
        """The name of a thing: the wanted one, unless another thing has it.

        what: identifies the thing, which gets the same name whenever it is asked for. otherwise: the second choice.
        """
        if what not in self._given:
            self._given[what] = self._first_free(wanted, otherwise or wanted)
        return self._given[what]

    def _first_free(self, wanted: str, otherwise: str) -> str:
        candidates = chain((wanted, otherwise), (f"{otherwise}_{number}" for number in count(2)))
        name = next(n for n in candidates if n.lower() not in self._taken and not self._fixed.fullmatch(n.lower()))
        self._taken.add(name.lower())
        return name


def column(name: str) -> exp.Expr:
    """A column of that very name, in quotes where SQL needs them."""
    return exp.column(exp.to_identifier(name, quoted=ident(name) != name))


def called(sql: exp.Expr) -> set[str]:
    """Names of the functions that SQL calls, in small letters."""
    found = {node.name.lower() for node in sql.find_all(exp.Anonymous)}
    return found | {name.lower() for node in sql.find_all(exp.Func) for name in node.sql_names()}


def replaced(sql: exp.Expr, columns: Container[str], by: exp.Expr) -> exp.Expr:
    """The SQL with something else in place of some columns."""

    def other(node: exp.Expr) -> exp.Expr:
        return by.copy() if isinstance(node, exp.Column) and node.name in columns else node

    return sql.transform(other)


def stem(keys: Keys) -> str:
    """What names a (nested) field within a name: the field itself, where that can be read without quotes."""
    plain = "_".join(keys)
    if len(keys) == 1 and re.fullmatch(r"[a-z_][a-z0-9_]*", plain) and len(plain) <= _LONGEST:
        return plain
    cleaned = "".join(c if c.isascii() and c.isalnum() else "_" for c in plain.lower())[:_LONGEST]
    return f"{cleaned}_{zlib.crc32(chr(1).join(keys).encode('utf-8', 'surrogatepass')):08x}"
