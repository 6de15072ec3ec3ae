"""Columns of views with the fields of the input that a run stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refinery.common.fields import keys_of
from refinery.compiler.model import KeptField
from refinery.compiler.templates import ident
from refinery.results.views.comments import texts

# Views with columns of fields.
WITH_FIELDS = ("fields", "samples", "removed", "cluster_members")


@dataclass(frozen=True)
class FieldColumn:
    """A column of these views. shown: its quoted name. value: SQL over `row_outcomes`. comment: what it holds."""

    name: str
    value: str
    type: str
    comment: str

    @property
    def shown(self) -> str:
        """The name in SQL."""
        return ident(self.name)


def field_columns(kept: Sequence[KeptField]) -> tuple[FieldColumn, ...]:
    """The columns of fields, named as these; where a view has a column of that name in any case, `input_` stands before it."""
    taken = {column.lower() for table in ("columns", *WITH_FIELDS) for column in texts()[table]}
    columns = []
    for field in kept:
        name = _plain(field.name)
        while name.lower() in taken:
            name = f"input_{name}"
        taken.add(name.lower())
        value = f"CAST({ident(field.column)} AS {field.type})"
        columns.append(FieldColumn(name, value, field.type, f"field {field.name} of the input"))
    return tuple(columns)


def _plain(name: str) -> str:
    """The name of a field without the quotes that a recipe needs around it."""
    keys = keys_of(name)
    return keys[0] if len(keys) == 1 else name


def field_comments(kept: Sequence[KeptField]) -> dict[tuple[str, str], str]:
    """Comments on the columns, by view and column."""
    return {(view, column.name): column.comment for view in WITH_FIELDS for column in field_columns(kept)}
