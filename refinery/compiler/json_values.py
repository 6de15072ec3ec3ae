"""Comparisons of JSON values in a user's SQL: by value.

DuckDB would convert JSON to the type of the other side, by which 0.4 equals 0, and a text that is no JSON is an error. Values of
fields come from `json_by_value`, so equal ones are equal texts, and the other side is brought into the same form.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence

from refinery.common.lazy import exp
from refinery.compiler.expression_types import list_of_variable, type_of_sql, variables_around
from refinery.compiler.json_fields import holds_json
from refinery.recipe.sql import parse

_EQUAL = ("EQ", "NEQ", "NullSafeEQ", "NullSafeNEQ", "Nullif")
_ORDERED = ("LT", "LTE", "GT", "GTE")
_NO_ORDER = ("Greatest", "Least")
_CONTAINS = ("ArrayContains", "ArrayPosition")
# Functions that order the elements of a list.
_SORTS = re.compile(r"(list|array)_(reverse_)?(sort|max|min|grade_up)|(Array|Sort)(Sort|Max|Min|Array)", re.I)


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


def has_json(expression: exp.Expr, kinds: Mapping[str, str]) -> bool:
    """Return whether an expression has a JSON value, or one with JSON in it."""
    return holds_json(_Rewriting(kinds).kind(expression))


class _Rewriting:
    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
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
            (("Func",), self._call),
        )

    # Kinds

    def kind(self, node: exp.Expr) -> str:
        """Type of a part of an expression, as far as it is known from the fields."""
        data_type = self._type(node)
        return "" if data_type is None else data_type.sql("duckdb")

    def _type(self, node: exp.Expr) -> exp.Expr | None:
        if isinstance(node, exp.Column):
            data_type = self._named(node, node.parts[0].name)
            for part in node.parts[1:]:
                data_type = _member(data_type, part.name)
            return data_type
        if isinstance(node, exp.Identifier):
            return self._named(node, node.name)
        if isinstance(node, exp.Paren):
            return self._type(node.this)
        if isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Func):
            return _member(self._type(node.this), node.expression.name)
        if isinstance(node, exp.Bracket) and (item := self._item(node)) is not None:
            return item
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return node.args["to"]
        if isinstance(node, exp.JSONExtract) and not isinstance(node, exp.JSONExtractScalar):
            return exp.DataType.build("JSON", dialect="duckdb")
        if any(self._is_json(result) for result in _results(node)):
            return exp.DataType.build("JSON", dialect="duckdb")
        return self._asked(node)

    def _named(self, node: exp.Expr, name: str) -> exp.Expr | None:
        """Type of a column, or of a variable of a lambda."""
        source = list_of_variable(node, name)
        if source is None:
            return self._types.get(name)
        of = self._type(source)
        return _element(of) if of is not None else None

    def _asked(self, node: exp.Expr) -> exp.Expr | None:
        """DuckDB's type of an expression in which a field has JSON."""
        if isinstance(node, (exp.Literal, exp.Predicate, exp.Connector, exp.Lambda, exp.Tuple)):
            return None
        columns = {column.parts[0].name: "NULL" for column in node.find_all(exp.Column)}
        columns |= {name: self._kinds[name] for name in columns.keys() & self._kinds.keys()}
        for name in variables_around(node):
            kind = self._named(node, name)
            columns[name] = "NULL" if kind is None else kind.sql("duckdb")
        if not any(map(_matters, columns.values())):
            return None
        kinds = tuple((name, '"NULL"' if kind == "NULL" else kind) for name, kind in sorted(columns.items()))
        type_name = type_of_sql(node.sql("duckdb", normalize_functions=False), kinds)
        return exp.DataType.build(type_name, dialect="duckdb") if type_name and _matters(type_name) else None

    def _item(self, node: exp.Bracket) -> exp.Expr | None:
        of, index = self._type(node.this), node.expressions[0]
        if isinstance(index, exp.Literal) and index.is_string:
            return _member(of, index.name)
        return None if of is None or isinstance(index, exp.Slice) else _element(of)

    def _is_json(self, node: exp.Expr) -> bool:
        return self.kind(node) == "JSON"

    # Forms

    def _json(self, node: exp.Expr) -> exp.Expr:
        """The value as JSON in the form that equal values have."""
        if _is_written_list(node) and node.expressions:
            return parse(f"json_array({', '.join(self._json(item).sql('duckdb') for item in node.expressions)})")
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
        if isinstance(node, (exp.JSONExtract, exp.Paren, exp.Bracket, exp.Dot)):
            return (not isinstance(node, exp.JSONExtract) or self._is_json(node.this)) and self._of_field(node.this)
        return isinstance(node, (exp.Column, exp.Identifier))

    # Rules

    def _equal(self, node: exp.Expr) -> exp.Expr:
        self._align([node.this, node.expression])
        return node

    def _align(self, sides: Sequence[exp.Expr]) -> None:
        """Bring what is compared into one form, if one has JSON; tuples by their parts."""
        parts = [side.expressions for side in map(_unwrapped, sides) if isinstance(side, exp.Tuple)]
        if len(parts) == len(sides) and len({len(part) for part in parts}) == 1:
            for position in zip(*parts, strict=True):
                self._align(position)
            return
        kinds = [kind for side in sides if (kind := self._type(side)) is not None and holds_json(kind.sql("duckdb"))]
        struct = next((kind for kind in kinds if "STRUCT" in kind.sql("duckdb")), None)
        if kinds:
            for side in sides:
                whole = struct is None or any(kind.sql("duckdb") == "JSON" for kind in kinds)
                side.replace(self._json(side.copy()) if whole or struct is None else self._written(side.copy(), struct))

    def _written(self, node: exp.Expr, kind: exp.Expr | None) -> exp.Expr:
        """A list or STRUCT that SQL writes, with JSON where the type has it. DuckDB compares STRUCTs by their members."""
        if kind is not None and kind.sql("duckdb") == "JSON":
            return self._json(node)
        if isinstance(node, exp.Array) and kind is not None:
            node.set("expressions", [self._written(item, _element(kind)) for item in node.expressions])
        if isinstance(node, exp.Struct):
            for member in node.expressions:
                if isinstance(member, exp.PropertyEQ):
                    member.set("expression", self._written(member.expression, _member(kind, member.name)))
        return node

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        if not (self._is_json(node.this) or self._is_json(node.expression)):
            if any(holds_json(self.kind(side)) for side in (node.this, node.expression)):
                raise _no_order(node)
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
        if query is None:
            self._align([node.this, *node.expressions])
        elif self._is_json(node.this):
            node.set("this", self._json(node.this))
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
        elif _is_written_list(node.this) and self._is_json(node.expression):
            self._write_items(node.this)
        return node

    def _write_items(self, node: exp.Expr) -> None:
        """Bring the items of a list that SQL writes into the form of JSON."""
        node.set("expressions", [self._json(item) for item in node.expressions])

    def _call(self, node: exp.Expr) -> exp.Expr:
        """A call of a function that takes a list of JSON: beside another list, or to order it."""
        parts = list(node.iter_expressions())
        if not any(self.kind(part) == "JSON[]" for part in parts):
            return node
        if _SORTS.fullmatch(node.name if isinstance(node, exp.Anonymous) else type(node).__name__):
            raise _no_order(node)
        for part in parts:
            if _is_written_list(part):
                self._write_items(part)
        return node

    def _extreme(self, node: exp.Expr) -> exp.Expr:
        if any(map(self._is_json, [node.this, *node.expressions])):
            raise _no_order(node)
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
        """Return whether a part has the decimal type of fields, not one that a CAST names."""
        shapes = (exp.Column, exp.Identifier, exp.Dot, exp.Bracket, exp.Paren, exp.Coalesce, exp.Case, exp.If)
        return isinstance(node, shapes) and not node.find(exp.Cast) and self.kind(node).startswith("DECIMAL")


def _matters(kind: str) -> bool:
    """Return whether values of a type are compared or written in a way of their own."""
    return holds_json(kind) or "DECIMAL" in kind


def _no_order(node: exp.Expr) -> ValueError:
    return ValueError(
        f"{node.sql('duckdb')} compares values of several types, which have no order; CAST them, or declare the "
        "field's type in `fields`"
    )


def _is_written_list(node: exp.Expr) -> bool:
    """Return whether an expression is a list with its items, such as [1, 2]."""
    return isinstance(node, exp.Array) and not any(isinstance(item, exp.Comprehension) for item in node.expressions)


def _unwrapped(node: exp.Expr) -> exp.Expr:
    """An expression without its parentheses."""
    return _unwrapped(node.this) if isinstance(node, exp.Paren) else node


def _trimmed(node: exp.Expr) -> str:
    """SQL for the text without zeros at the end of a fraction; expressions are rewritten twice, and 10 stays 10."""
    text = f"CAST({node.sql('duckdb')} AS VARCHAR)"
    return rf"regexp_replace({text}, '(\.[0-9]*[1-9])0+$|\.0+$', '\1')"


def _is_text(kind: exp.Expr) -> bool:
    return kind.this in (exp.DataType.Type.VARCHAR, exp.DataType.Type.TEXT, exp.DataType.Type.CHAR)


def _member(kind: exp.Expr | None, name: str) -> exp.Expr | None:
    """Type of a member of a STRUCT, or of JSON."""
    if kind is None or kind.this != exp.DataType.Type.STRUCT:
        return None
    return next((one.args["kind"] for one in kind.expressions if one.name.lower() == name.lower()), None)


def _element(kind: exp.Expr) -> exp.Expr | None:
    """Type of the elements of a list."""
    return kind.expressions[0] if kind.this == exp.DataType.Type.ARRAY else None


def _results(node: exp.Expr) -> list[exp.Expr]:
    """The parts of which one is the value of the expression."""
    if isinstance(node, exp.Coalesce):
        return [node.this, *node.expressions]
    if isinstance(node, exp.Nullif):
        return [node.this]
    if isinstance(node, exp.Case):
        results = [one.args["true"] for one in node.args["ifs"]]
        return results + [node.args["default"]] * (node.args.get("default") is not None)
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
