"""A compiled step as one SQL expression over a text: the columns of its layers, each in place of its name."""

from __future__ import annotations

from collections.abc import Mapping

from refinery.common.lazy import exp
from refinery.compiler.model import Chain
from refinery.compiler.templates import ident, lit
from refinery.recipe.sql import parse
from refinery.sql_functions.model import TEXT

# Longer expressions, in characters, cost more to plan than a statement of layers.
MOST = 400_000


class NotOneText(ValueError):
    """A step reads more of a sample than one text, so no function of a text computes it."""


class InlinedChain:
    """The columns of a chain of one step as expressions over the macro's parameter `text`."""

    def __init__(self, chain: Chain, known: Mapping[str, str]) -> None:
        """known: SQL of the columns below the layers, by name."""
        self._values: dict[str, exp.Expr] = {name: parse(sql) for name, sql in known.items()}
        self._chain = chain
        for definition in chain.layers.definitions():
            self._values[definition.name] = self._inserted(definition.expression)

    def _inserted(self, expression: exp.Expr) -> exp.Expr:
        """An expression with those of other columns in place of their names. Raises NotOneText."""

        def insert(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or node.parts[0].name not in self._values:
                return node
            value: exp.Expr = exp.Paren(this=self._values[node.parts[0].name].copy())
            for part in node.parts[1:]:  # a field of a struct
                value = exp.Dot(this=value, expression=part.copy())
            return value

        return expression.transform(insert)

    def sql(self, column: str) -> str:
        """The expression of a column. Raises NotOneText if it is too long to be one."""
        text = str(self._values[column].sql("duckdb"))
        if len(text) > MOST:
            raise NotOneText("its SQL is too long for one expression")
        return text

    def guarded(self, sql: str) -> str:
        """An expression that is NULL for a text that is NULL, and an error for a sample that the step cannot process."""
        faults = "".join(
            f" WHEN ({self.sql(column)}) IS NOT NULL THEN error({self.sql(column)})"
            for column in self._chain.faults.values()
        )
        return f"CASE WHEN {TEXT} IS NULL THEN NULL{faults} ELSE {sql} END"

    def struct(self, columns: Mapping[str, str]) -> str:
        """A struct of columns. columns: by the names of the struct's fields."""
        return "{" + ", ".join(f"{lit(name)}: {self.sql(column)}" for name, column in columns.items()) + "}"


def with_own_variables(expression: exp.Expr) -> exp.Expr:
    """An expression whose lambdas have variables of their own, which no column of the caller's argument can be named like."""
    for function in list(expression.find_all(exp.Lambda)):
        names = {variable.name: f"refinery_{variable.name}" for variable in function.expressions}
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
