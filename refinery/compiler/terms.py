"""Terms of a filter's predicate, so that the ledger can name the one that a removed sample broke."""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from refinery.common.lazy import exp
from refinery.compiler.column_names import called
from refinery.compiler.stability import reads_elsewhere
from refinery.compiler.templates import lit
from refinery.recipe.sql import parse, quoted_columns, split_at_and
from refinery.recipe.sql_files import file_names

# Columns with which an operator's body gives a text.
TEXTS = frozenset(("delta", "text"))

# A column of an operator's body with one condition for keeping a sample, named after the reason for removing it otherwise.
CONDITION = re.compile(r"\bAS\s+\"?keep_", re.IGNORECASE)

# Numbers of one term's codes: 0 for a term that is not true, and one for each of its columns that may be NULL.
_CODES = 32


def is_verdict(name: str, stats: Collection[str]) -> bool:
    """Return whether a column of a body is a condition for keeping a sample. stats: the operator's statistics."""
    return name == "keep" or (name.startswith("keep_") and name not in stats)


def verdicts_of(select: Mapping[str, exp.Expr], stats: Collection[str]) -> dict[str, exp.Expr]:
    """Conditions that a body selects, in order, by the reason for removing a sample; the reason of `keep` is empty."""
    return {name.removeprefix("keep").removeprefix("_"): sql for name, sql in select.items() if is_verdict(name, stats)}


@dataclass(frozen=True)
class Term:
    """One term of a predicate, as SQL over the chain's columns.

    shown: as the user wrote it. columns: the chain's columns in it that may be NULL, with the user's names of them.
    reason: for removing a sample for which it is not true, as the operator names it; empty if it has no name.
    """

    sql: str
    shown: str
    columns: Mapping[str, str]
    reason: str = ""

    @cached_property
    def tree(self) -> exp.Expr:
        """The tree of the term, made for those who ask for it."""
        return parse(self.sql)


@dataclass(frozen=True)
class Predicate:
    """The terms of a filter's predicate, of which all must be true. parameter: that holds it; empty for an operator's own.

    stored: the terms can be computed from stored statistics, so no column has the failed term.
    """

    terms: tuple[Term, ...]
    parameter: str
    stored: bool

    @property
    def has_column(self) -> bool:
        """True if facts need a column with the reason of a removal: the terms, or values that may be NULL, are several."""
        return not self.stored and (len(self.terms) > 1 or bool(self.terms[0].columns))

    def names_any(self, columns: Collection[str]) -> bool:
        """Return whether a term names one of the columns."""
        return any(column.parts[0].name in columns for term in self.terms for column in term.tree.find_all(exp.Column))

    def failed(self) -> str:
        """SQL for the code of the first term that is not true; NULL if all are."""
        whens = [
            f"WHEN NOT coalesce({term.sql}, FALSE) THEN {_code(term, number * _CODES)}"
            for number, term in enumerate(self.terms)
        ]
        return f"CAST(CASE {' '.join(whens)} END AS USMALLINT)"

    def tests(self, code: str | None) -> Iterable[tuple[str, Term, str]]:
        """Tests in order for why a sample is removed: SQL, the term, and the user's name of the column that makes it NULL.

        The name is empty for a term that is false. code: the column of `failed`, if there is one.
        """
        for number, term in enumerate(self.terms):
            for at, (null, shown) in enumerate(term.columns.items(), 1):
                test = f"({term.sql}) IS NULL AND {null} IS NULL"
                yield f"{code} = {number * _CODES + at}" if code else test, term, shown
            yield f"{code} = {number * _CODES}" if code else f"NOT coalesce({term.sql}, FALSE)", term, ""


def _code(term: Term, code: int) -> str:
    """SQL for the code of a term that is not true: `code`, or one above it by the column that makes it NULL."""
    nulls = " ".join(f"WHEN {column} IS NULL THEN {code + at}" for at, column in enumerate(term.columns, 1))
    return f"CASE WHEN ({term.sql}) IS NOT NULL THEN {code} {nulls} ELSE {code} END" if nulls else str(code)


def predicate_of(
    verdicts: Mapping[str, exp.Expr],
    own: Mapping[str, str],
    names: Mapping[str, str],
    stored: Collection[str],
    functions: Collection[str],
) -> Predicate:
    """The terms of a predicate over the chain's columns.

    verdicts: the conditions by reason, of which all must be true; one without a reason is taken apart at AND. own: the user's SQL by parameter; the words for a term come from the one that has as many terms. names: the user's names
    of columns that may be NULL. stored: columns that the facts of a run have. functions: that only workers have.
    """
    plain = _terms(verdicts[""]) if "" in verdicts else []
    parameter, words = _own_words(own, len(plain))
    terms = [
        Term(
            tree.sql("duckdb"),
            shown or _shown(_named(tree, parameter)),
            dict(list(_columns(tree, names).items())[: _CODES - 1]),
        )
        for tree, shown in zip(plain, words or [""] * len(plain), strict=True)
    ]
    reasons = {reason: tree for reason, tree in verdicts.items() if reason}
    terms += [Term(tree.sql("duckdb"), _shown(tree), {}, reason) for reason, tree in reasons.items()]
    lower, trees = {name.lower() for name in functions}, [*plain, *reasons.values()]
    return Predicate(
        tuple(terms), parameter, all(_is_stored(tree, stored) and not called(tree) & lower for tree in trees)
    )


def _terms(expression: exp.Expr) -> list[exp.Expr]:
    whole = expression.unnest()
    return (
        [term.unnest() for part in (whole.left, whole.right) for term in _terms(part)]
        if isinstance(whole, exp.And)
        else [whole]
    )


def _own_words(own: Mapping[str, str], count: int) -> tuple[str, list[str]]:
    """The parameter that holds the predicate and the words of its terms; neither, unless a single one can be it."""
    if len(own) != 1:
        return "", []
    [(name, sql)] = own.items()
    trees = _terms(parse(quoted_columns(sql)))
    return (name, _cut(sql, trees) or list(map(_shown, trees))) if len(trees) == count else ("", [])


def _cut(sql: str, trees: Sequence[exp.Expr]) -> list[str]:
    """The texts of the terms within SQL, on one line each; none where it is not terms in their order and nothing else."""
    if any(os.path.isabs(name) for tree in trees for name in file_names(tree)):
        return []
    try:
        pieces = _pieces(sql) if len(trees) > 1 else [sql]
        same = [parse(quoted_columns(piece)).unnest() for piece in pieces] == list(trees)
    except ValueError:
        return []
    return [" ".join(piece.split()) for piece in pieces] if same and "\n" not in sql.strip() else []


def _pieces(sql: str) -> list[str]:
    """Texts between the ANDs of SQL, also of those within parentheses."""
    pieces = []
    for piece in map(str.strip, split_at_and(sql)):
        whole = parse(quoted_columns(piece))
        inner = isinstance(whole, exp.Paren) and isinstance(whole.unnest(), exp.And) and piece[0] + piece[-1] == "()"
        pieces += _pieces(piece[1:-1]) if inner else [piece]
    return pieces


def _shown(term: exp.Expr) -> str:
    """A term as SQL on one line, with the names of files without their folders."""
    files = {name for name in file_names(term) if os.path.isabs(name)}

    def short(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Literal) and node.this in files:
            return exp.Literal.string(os.path.basename(node.this))
        if isinstance(node, exp.Identifier) and node.this in files:
            return exp.to_identifier(os.path.basename(node.this), quoted=True)
        return node

    return term.transform(short).sql("duckdb", normalize_functions=False, comments=False)


def _columns(term: exp.Expr, names: Mapping[str, str]) -> dict[str, str]:
    """Columns of the chain in a term that may be NULL, and fields of them, as SQL, with the user's names."""
    columns = {}
    for column in term.find_all(exp.Column):
        name = column.parts[0].name
        if name not in names or reads_elsewhere(column):
            continue
        whole: exp.Expr = column
        shown = [names[name]]
        while isinstance(whole.parent, exp.Dot) and whole.arg_key == "this" and _is_name(whole.parent.expression):
            whole = whole.parent
            shown.append(whole.expression.name)
        columns[whole.sql("duckdb")] = ".".join(shown)
    return columns


def _is_name(node: exp.Expr) -> bool:
    return isinstance(node, exp.Identifier)


def _is_stored(term: exp.Expr, stored: Collection[str]) -> bool:
    return not term.find(exp.Select) and {column.parts[0].name for column in term.find_all(exp.Column)} <= set(stored)


def _named(tree: exp.Expr, parameter: str) -> exp.Expr:
    """The part of a term that the reason names: in an operator's own condition, the first part of an OR."""
    tree = tree.unnest()
    return _named(tree.this, parameter) if isinstance(tree, exp.Or) and not parameter else tree


def compared(term: Term, parameter: str) -> tuple[str, str, list[exp.Expr]]:
    """Column and bounds of a term that compares a column: its SQL, the kind (`in` or `than`), constants or a column."""
    tree = _named(term.tree, parameter)
    if isinstance(tree, exp.EQ):
        tree = exp.In(this=tree.this, expressions=[tree.expression])
    if isinstance(tree, exp.In) and isinstance(tree.this, exp.Column) and all(map(_is_constant, tree.expressions)):
        return tree.this.sql("duckdb"), "in", list(tree.expressions)
    if isinstance(tree, (exp.GT, exp.GTE, exp.LT, exp.LTE)):
        sides = (tree.this, tree.expression)
        column, bound = sides if isinstance(sides[0], exp.Column) else sides[::-1]
        if isinstance(column, exp.Column) and (_is_constant(bound) or isinstance(bound, exp.Column)):
            return column.sql("duckdb"), "than", [bound]
    return "", "", []


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) or (isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal))


def reason(parameter: str, term: Term, null: str, stats: Collection[str]) -> str:
    """SQL for the reason of a sample that a term has removed. stats: columns of statistics. null: name of a column."""
    if term.reason:
        return lit(term.reason)
    if null:
        return lit(f"{null} is NULL: {term.shown}")
    column, kind, constants = compared(term, parameter)
    if kind == "in" and column in stats and all(constant.is_string for constant in constants):
        wanted = ", ".join(constant.name for constant in constants)
        rest = f", not {'one of ' if len(constants) > 1 else ''}{wanted}"
        return f"{lit(f'{column} is ')} || {column} || {lit(rest)}"
    return lit(f"not kept by {parameter}: {term.shown}" if parameter else f"not kept by {term.shown}")
