"""A compiled step as one SQL expression over a text: the columns of its layers, each in place of its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from refinery.common.lazy import exp
from refinery.compiler.layers import Definition
from refinery.compiler.model import Chain
from refinery.compiler.templates import ident, lit
from refinery.recipe.sql import parse
from refinery.sql_functions.model import TEXT

# Longer expressions, in characters, cost more to plan than a statement of layers.
MOST = 400_000


class NotOneText(ValueError):
    """A step reads more of a sample than one text, so no function of a text computes it."""


class InlinedChain:
    """The columns of a chain of one step as expressions over the macro's parameter `text`.

    A column that costs something and is named more than once is computed once: it becomes a field of a struct, the
    variable of a lambda around all that names it. (DuckDB finds no common expressions within CASE and AND.)
    """

    def __init__(self, chain: Chain, known: Mapping[str, str]) -> None:
        """known: SQL of the columns below the layers, by name."""
        self._known, self._chain = {name: parse(sql) for name, sql in known.items()}, chain

    def guarded(self, make: Callable[[Mapping[str, str]], str], columns: Iterable[str]) -> str:
        """The SQL of a value of some columns: NULL for a text that is NULL, an error for a sample that cannot be processed.

        make: gets the SQL of each column. Raises NotOneText if the SQL is too long for one expression.
        """
        faults = list(self._chain.faults.values())
        layers = self._needed([*columns, *faults])
        bound = _bound(layers)
        values, lets = dict(self._known), list[tuple[str, str]]()
        for number, layer in enumerate(layers, 1):
            variable, fields = f"refinery_layer_{number}", dict[str, str]()
            for definition in layer:
                value = inserted(definition.expression, values)
                if definition.name in bound:
                    fields[definition.name] = str(value.sql("duckdb"))
                    value = parse(f"{variable}.{ident(definition.name)}")
                values[definition.name] = value
            if fields:
                lets.append((variable, "{" + ", ".join(f"{lit(name)}: {sql}" for name, sql in fields.items()) + "}"))
        shown = {name: str(value.sql("duckdb")) for name, value in values.items()}
        whens = "".join(f" WHEN ({shown[column]}) IS NOT NULL THEN error({shown[column]})" for column in faults)
        body = f"CASE{whens} ELSE {make(shown)} END" if faults else make(shown)
        for variable, struct in reversed(lets):
            body = f"list_extract(list_transform([{struct}], LAMBDA {variable} : {body}), 1)"
        if len(body) > MOST:
            raise NotOneText("has SQL that is too long for one expression")
        return f"CASE WHEN {TEXT} IS NULL THEN NULL ELSE {body} END"

    def _needed(self, columns: Iterable[str]) -> list[list[Definition]]:
        """The definitions by layer that columns are made of."""
        wanted, chosen = set(columns), list[list[Definition]]()
        for layer in reversed(self._chain.layers.layers()):
            chosen.append([definition for definition in layer if definition.name in wanted])
            wanted |= {name for definition in chosen[-1] for name in named_in(definition.expression)}
        return chosen[::-1]


def _bound(layers: Sequence[Sequence[Definition]]) -> set[str]:
    """Definitions that call something and are named more than once."""
    uses = Counter(name for layer in layers for definition in layer for name in named_in(definition.expression))
    return {
        definition.name
        for layer in layers
        for definition in layer
        if uses[definition.name] > 1 and definition.kind != "alive" and definition.expression.find(exp.Func)
    }


def named_in(expression: exp.Expr) -> list[str]:
    """The columns that an expression names, each as often as it does."""
    return [column.parts[0].name for column in expression.find_all(exp.Column)]


def inserted(expression: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """An expression with values in place of the columns that it names."""

    def insert(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.parts[0].name not in values:
            return node
        value: exp.Expr = exp.Paren(this=values[node.parts[0].name].copy())
        for part in node.parts[1:]:  # a field of a struct
            value = exp.Dot(this=value, expression=part.copy())
        return value

    return expression.transform(insert)


def struct_of(columns: Mapping[str, str], shown: Mapping[str, str]) -> str:
    """A struct of columns. columns: by the names of the struct's fields. shown: the SQL of columns."""
    return "{" + ", ".join(f"{lit(name)}: {shown[column]}" for name, column in columns.items()) + "}"


def with_own_variables(expression: exp.Expr) -> exp.Expr:
    """An expression whose lambdas have variables of their own, which no column of the caller's argument can be named like."""
    for function in list(expression.find_all(exp.Lambda)):
        variables = [one.name for one in function.expressions if not one.name.startswith("refinery_")]
        names = {name: f"refinery_{name}" for name in variables}
        for identifier in function.find_all(exp.Identifier):
            if identifier.name in names and not _is_field(identifier):
                identifier.set("this", names[identifier.name])
    return expression


def _is_field(identifier: exp.Expr) -> bool:
    """Return whether an identifier names a field of a struct or a new column, not a value."""
    parent = identifier.parent
    if isinstance(parent, exp.Column):
        return parent.parts[0] is not identifier
    return isinstance(parent, (exp.Alias, exp.PropertyEQ, exp.DataType, exp.ColumnDef)) or (
        isinstance(parent, exp.Dot) and identifier.arg_key == "expression"
    )


def struct_type(types: Mapping[str, str]) -> str:
    """The type of a struct."""
    return f"STRUCT({', '.join(f'{ident(name)} {kind}' for name, kind in types.items())})"
