"""Fields of JSON lines in a chain: their columns, and what an expression over them compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from refinery.common.lazy import exp
from refinery.compiler.column_names import called
from refinery.compiler.json_fields import functions_of, json_column
from refinery.compiler.json_values import compared_by_value, has_json, is_json
from refinery.compiler.model import Schema
from refinery.recipe.sql import parse


class FieldValues:
    """Columns of a chain that are fields of JSON lines. functions: those that reading and comparing them call."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._kinds: dict[str, str] = {}  # column -> its type
        self.functions: set[str] = set()

    def column(self, column: str, field: str) -> Callable[[str], str]:
        """Note that a column is a field; return the function that makes SQL for it over a column of lines."""
        self._kinds[column] = self._schema.columns.get(field, "VARCHAR")
        self.functions |= functions_of(field, self._schema)
        return partial(json_column, field, self._schema)

    def by_value(self, expression: exp.Expr) -> exp.Expr:
        """The expression with comparisons of JSON by value."""
        if not self._kinds:
            return expression
        rewritten = compared_by_value(expression, self._kinds)
        self.functions |= called(rewritten) & {"json_by_value", "json_order"}
        return rewritten

    def lasting(self, keys: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
        """Keys in a form that a value has in every run, whatever type the other values of a run give it."""
        self.functions.add("json_key")
        sql = {name: key.sql("duckdb", normalize_functions=False) for name, key in keys.items()}
        return {name: parse(f"json_key(CAST(to_json({key}) AS VARCHAR))") for name, key in sql.items()}

    def is_json(self, sql: str) -> bool:
        """Return whether an expression has a JSON value."""
        return bool(self._kinds) and is_json(parse(sql), self._kinds)

    def require_order(self, terms: Sequence[str], written: Sequence[str]) -> None:
        """Raise ValueError for a term of `keep` whose values have no order. written: the terms as in the recipe."""
        for sql, term in zip(terms, written, strict=True):
            if self._kinds and has_json(parse(sql), self._kinds):
                raise ValueError(
                    f"keep: {term} has values of several types, which have no order; CAST it, or declare its type in `fields`"
                )
