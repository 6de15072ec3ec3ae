"""Comparisons of JSON values in a user's SQL: by value.

DuckDB would convert JSON to the type of the other side, by which 0.4 equals 0, and a text that is no JSON is an error. Values of
fields come from `json_by_value`, so equal ones are equal texts, and the other side is brought into the same form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence

from refinery.common.lazy import exp
from refinery.compiler.json_fields import holds_json
from refinery.recipe.sql import parse

_EQUAL = ("EQ", "NEQ", "NullSafeEQ", "NullSafeNEQ", "Nullif")
_ORDERED = ("LT", "LTE", "GT", "GTE")
_NO_ORDER = ("Greatest", "Least")
_CONTAINS = ("ArrayContains", "ArrayPosition")


def compared_by_value(expression: exp.Expr, kinds: Mapping[str, str]) -> exp.Expr:
    """The expression with comparisons of JSON by value, and whole DECIMAL numbers without a fraction as texts.

    kinds: types of the columns that are fields of JSON lines. Raises ValueError for what has no meaning.
    """
    named = {column.parts[0].name for column in expression.find_all(exp.Column)}
    if not any(_matters(kinds[name]) for name in named & kinds.keys()):
        return expression
    return _Rewriting(kinds).of(expression)


def is_json(expression: exp.Expr, kinds: Mapping[str, str]) -> bool:
    """Return whether an expression has a JSON value."""
    return _Rewriting(kinds).kind(expression) == "JSON"


class _Rewriting:
    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._types = {
            name: exp.DataType.build(kind, dialect="duckdb") for name, kind in kinds.items() if _matters(kind)
        }

    def of(self, node: exp.Expr) -> exp.Expr:
        """The expression, rewritten from its parts up."""
        for part in list(node.iter_expressions()):
            if (changed := self.of(part)) is not part:
                part.replace(changed)
        for names, rewrite in self._rules():
            if any(isinstance(node, getattr(exp, name, ())) for name in names):
                return rewrite(node)
        return node

    def _rules(self) -> Sequence[tuple[Sequence[str], Callable[[exp.Expr], exp.Expr]]]:
        return (
            (_EQUAL, self._equal),
            (_ORDERED, self._ordered),
            (("Between",), self._between),
            (("In",), self._in),
            (("Case", "If", "Coalesce"), self._merged),
            (_CONTAINS, self._contains),
            (_NO_ORDER, self._extreme),
            (("Cast", "TryCast", "DPipe", "Concat"), self._text),
        )

    # Kinds

    def kind(self, node: exp.Expr) -> str:
        """Type of a part of an expression, as far as it is known from the fields."""
        found = self._type(node)
        return "" if found is None else found.sql("duckdb")

    def _type(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Column):
            found: exp.Expr | None = self._types.get(node.parts[0].name)
            for part in node.parts[1:]:
                found = _member(found, part.name)
            return found
        if isinstance(node, exp.Paren):
            return self._type(node.this)
        if isinstance(node, exp.Dot):
            return _member(self._type(node.this), node.expression.name)
        if isinstance(node, exp.Bracket):
            return self._item(node)
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return node.args["to"]
        if isinstance(node, exp.JSONExtract) and not isinstance(node, exp.JSONExtractScalar):
            return exp.DataType.build("JSON", dialect="duckdb")
        if any(self._is_json(result) for result in _results(node)):
            return exp.DataType.build("JSON", dialect="duckdb")
        return None

    def _item(self, node: exp.Bracket) -> exp.Expr | None:
        of, index = self._type(node.this), node.expressions[0]
        if isinstance(index, exp.Literal) and index.is_string:
            return _member(of, index.name)
        is_list = of is not None and not isinstance(index, exp.Slice) and of.this == exp.DataType.Type.ARRAY
        return of.expressions[0] if is_list and of is not None else None

    def _is_json(self, node: exp.Expr) -> bool:
        return self.kind(node) == "JSON"

    # Forms

    def _json(self, node: exp.Expr) -> exp.Expr:
        """The value as JSON in the form that equal values have."""
        literal = _literal(node)
        if literal is not None:
            return parse(f"CAST('{literal.replace(chr(39), chr(39) * 2)}' AS JSON)")
        if isinstance(node, exp.Null) or (self._is_json(node) and self._of_field(node)):
            return node
        value = node if self._is_json(node) else exp.func("to_json", node, dialect="duckdb")
        return parse(f"CAST(json_by_value(CAST({value.sql('duckdb', normalize_functions=False)} AS VARCHAR)) AS JSON)")

    def _of_field(self, node: exp.Expr) -> bool:
        """Return whether a JSON value comes from a field as it is read, or is in its form."""
        if isinstance(node, exp.Cast):
            inner = node.this
            return isinstance(inner, exp.Literal) or (
                isinstance(inner, exp.Anonymous) and inner.name == "json_by_value"
            )
        if results := _results(node):
            return all(isinstance(result, exp.Null) or self._of_field(result) for result in results)
        return not isinstance(node, exp.JSONExtract) or self._is_json(node.this) and self._of_field(node.this)

    # Rules

    def _equal(self, node: exp.Expr) -> exp.Expr:
        if self._is_json(node.this) or self._is_json(node.expression):
            node.set("this", self._json(node.this))
            node.set("expression", self._json(node.expression))
        return node

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        if not (self._is_json(node.this) or self._is_json(node.expression)):
            return node
        sides = [f"CAST({self._json(side).sql('duckdb')} AS VARCHAR)" for side in (node.this, node.expression)]
        return type(node)(this=parse(f"json_order({', '.join(sides)})"), expression=exp.Literal.number(0))

    def _between(self, node: exp.Expr) -> exp.Expr:
        low, high = node.args["low"], node.args["high"]
        if not any(map(self._is_json, (node.this, low, high))):
            return node
        both = [exp.GTE(this=node.this.copy(), expression=low), exp.LTE(this=node.this.copy(), expression=high)]
        return exp.paren(exp.and_(*(self._ordered(one) for one in both)))

    def _in(self, node: exp.Expr) -> exp.Expr:
        query = node.args.get("query")
        if not any(map(self._is_json, (node.this, *node.expressions))):
            return node
        node.set("this", self._json(node.this))
        node.set("expressions", [self._json(item) for item in node.expressions])
        if query is not None:
            form = "CAST(json_by_value(CAST(to_json(_value) AS VARCHAR)) AS JSON)"
            sql = query.sql("duckdb")
            inner = sql if isinstance(query, exp.Subquery) else f"({sql})"
            node.set("query", exp.Subquery(this=parse(f"SELECT {form} FROM {inner} AS _values(_value)")))
        return node

    def _merged(self, node: exp.Expr) -> exp.Expr:
        """Bring all results of CASE, IF or COALESCE into one form, and what CASE compares."""
        if any(map(self._is_json, results := _results(node))):
            for result in results:
                result.replace(self._json(result.copy()))
        operand = node.this if isinstance(node, exp.Case) else None
        compared = [] if operand is None else [operand, *(one.this for one in node.args["ifs"])]
        if any(map(self._is_json, compared)):
            for value in compared:
                value.replace(self._json(value.copy()))
        return node

    def _contains(self, node: exp.Expr) -> exp.Expr:
        if self.kind(node.this) == "JSON[]":
            node.set("expression", self._json(node.expression))
        return node

    def _extreme(self, node: exp.Expr) -> exp.Expr:
        if any(map(self._is_json, [node.this, *node.expressions])):
            raise ValueError(
                f"{node.sql('duckdb')} compares values of several types, which have no order; CAST them, or declare the "
                "field's type in `fields`"
            )
        return node

    def _text(self, node: exp.Expr) -> exp.Expr:
        """Texts of DECIMAL numbers without zeros at the end."""
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return parse(_trimmed(node.this)) if _is_text(node.args["to"]) and self._is_decimal(node.this) else node
        for part in list(node.iter_expressions()):
            if self._is_decimal(part):
                part.replace(parse(_trimmed(part)))
        return node

    def _is_decimal(self, node: exp.Expr) -> bool:
        return isinstance(node, (exp.Column, exp.Dot, exp.Paren)) and self.kind(node).startswith("DECIMAL")


def _matters(kind: str) -> bool:
    """Return whether values of a type are compared or written in a way of their own."""
    return holds_json(kind) or "DECIMAL" in kind


def _trimmed(node: exp.Expr) -> str:
    return f"rtrim(rtrim(CAST({node.sql('duckdb')} AS VARCHAR), '0'), '.')"


def _is_text(kind: exp.Expr) -> bool:
    return kind.this in (exp.DataType.Type.VARCHAR, exp.DataType.Type.TEXT, exp.DataType.Type.CHAR)


def _member(kind: exp.Expr | None, name: str) -> exp.Expr | None:
    """Type of a member of a STRUCT, or of JSON."""
    if kind is None or kind.this != exp.DataType.Type.STRUCT:
        return None
    return next((one.args["kind"] for one in kind.expressions if one.name.lower() == name.lower()), None)


def _results(node: exp.Expr) -> list[exp.Expr]:
    """The parts of which one is the value of the expression."""
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Nullif):
        return [node.this]
    if isinstance(node, exp.Case):
        found = [one.args["true"] for one in node.args["ifs"]]
        return found + [node.args["default"]] * (node.args.get("default") is not None)
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        return [part for part in (node.args.get("true"), node.args.get("false")) if part is not None]
    return []


def _literal(node: exp.Expr) -> str | None:
    """A literal as JSON, in the form of `json_by_value`; None for other expressions."""
    sign = "-" if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) else ""
    node = node.this if sign or isinstance(node, exp.Paren) else node
    if isinstance(node, exp.Boolean):
        return json.dumps(node.this)
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return None if sign else json.dumps(node.this, ensure_ascii=False)
    if node.this.isdecimal():
        digits = node.this.lstrip("0") or "0"
        return digits if digits == "0" else sign + digits
    value = float(sign + node.this)
    whole = math.isfinite(value) and value == math.floor(value)
    return json.dumps(int(value) if whole else value)
