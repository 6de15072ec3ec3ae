"""Unique names for the columns that the compiler makes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Container, Hashable, Iterable
from itertools import chain, count

from refinery.common.lazy import exp
from refinery.compiler.templates import ident

# A text field, such as ("meta", "body").
Keys = tuple[str, ...]

# Columns that decide whether a step computes anything for a sample; they do not count as something the step reads.
GUARDS = frozenset({"alive", "pass"})
# Columns whose cost is negligible beside the other columns of a step.
LIGHT = GUARDS | {"changed"}

# Names that code outside of a chain relies on: columns of `batch`, of results and of tables, and relations.
# A name made from a text field, a parameter or an operator's own column is never one of them.
_FIXED = re.compile(
    r"batch|kept|_(i|row|line|text|bad|bad_step|kind|rest|suffix|file|file_suffix|read|dropped|stats|grouping|tokens|units|rows)"
    r"|_s\d+|_(alive|pass|delta|changed|bytes|chars|removed|size|dropped|term|fault|sound)_\d+|_(key|mark)_.*",
    re.DOTALL,
)
# Reserved names of the relation `batch`, whose other columns are named by the input.
OF_BATCH = re.compile(r"batch|_(i|row|line|text|bad|kind|rest|suffix|file)|_(removed|size)_\d+")
# Longer field names are cut, so that statements stay readable.
_LONGEST = 40


class ColumnNames:
    """Names of one relation's columns, unique regardless of letter case, as SQL requires."""

    def __init__(self, fixed: re.Pattern[str] = _FIXED, taken: Iterable[str] = ()) -> None:
        self._fixed = fixed
        self._taken = {name.lower() for name in taken}
        self._names: dict[tuple[Hashable, ...], str] = {}

    def fixed(self, kind: str, number: int) -> str:
        """The fixed name of a column, such as `_alive_3`; `free` never returns such a name."""
        name = f"_{kind}_{number}"
        assert self._fixed.fullmatch(name), name
        return name

    def free(self, wanted: str, *what: Hashable, otherwise: str = "") -> str:
        """The name of a column: the wanted one, unless another column has it.

        what: identifies the column; the same identity always gets the same name. otherwise: the second choice.
        """
        if what not in self._names:
            self._names[what] = self._first_free(wanted, otherwise or wanted)
        return self._names[what]

    def _first_free(self, wanted: str, otherwise: str) -> str:
        candidates = chain((wanted, otherwise), (f"{otherwise}_{number}" for number in count(2)))
        name = next(n for n in candidates if n.lower() not in self._taken and not self._fixed.fullmatch(n.lower()))
        self._taken.add(name.lower())
        return name


def column(name: str) -> exp.Expr:
    """A column of exactly that name, quoted where SQL needs it."""
    return exp.column(exp.to_identifier(name, quoted=ident(name) != name))


def called(sql: exp.Expr) -> set[str]:
    """Names of the functions that SQL calls, in lower case."""
    names = {node.name.lower() for node in sql.find_all(exp.Anonymous)}
    return names | {name.lower() for node in sql.find_all(exp.Func) for name in node.sql_names()}


def replaced(sql: exp.Expr, columns: Container[str], by: exp.Expr) -> exp.Expr:
    """The SQL with an expression in place of some columns."""

    def other(node: exp.Expr) -> exp.Expr:
        return by.copy() if isinstance(node, exp.Column) and node.name in columns else node

    return sql.transform(other)


def stem(keys: Keys) -> str:
    """Name part for a (nested) field: the field's name if that needs no quotes, else a cleaned form with a checksum."""
    plain = "_".join(keys)
    if len(keys) == 1 and re.fullmatch(r"[a-z_][a-z0-9_]*", plain) and len(plain) <= _LONGEST:
        return plain
    cleaned = "".join(c if c.isascii() and c.isalnum() else "_" for c in plain.lower())[:_LONGEST]
    return f"{cleaned}_{zlib.crc32(chr(1).join(keys).encode('utf-8', 'surrogatepass')):08x}"
