"""A chain of named expressions as nested SELECTs: each is computed once and can use earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from refinery.common.lazy import exp
from refinery.compiler.column_names import LIGHT
from refinery.compiler.templates import ident
from refinery.recipe.sql import parse


@dataclass(frozen=True)
class Definition:
    """Column `name` with its expression, as text and as a tree; `step` needs it first, `note` describes it.

    kind: "alive" or "pass" (the sample is still there, or would be), "delta", "text" and "changed" (a mapper's result
    for a text), "feature", "inner" (a value that an operator computes for its own columns), "stat", "mark", "key" or
    "chars".
    """

    name: str
    sql: str
    step: int
    note: str
    kind: str

    @cached_property
    def expression(self) -> exp.Expr:
        """The tree of the expression, made for those who ask for it."""
        return parse(self.sql)


class Layers:
    """Collects definitions and prints them as common table expressions.

    A definition goes to the first layer above all columns that it names that no other step computes anything in: DuckDB's
    profile has one time for each layer, which is then that of a step. DuckDB computes a column of a layer once for all
    layers above it; so steps share features.
    """

    def __init__(self, available: Iterable[str], layers: Iterable[Sequence[Definition]] = ()) -> None:
        """available: columns of the relation below. layers: definitions that are known already, lowest layer first."""
        self._level = dict.fromkeys(available, 0)
        self._layers = [list(layer) for layer in layers]
        for level, layer in enumerate(self._layers, 1):
            self._level.update({definition.name: level for definition in layer})

    def __contains__(self, name: str) -> bool:
        return name in self._level

    def provide(self, name: str) -> str:
        """Declare that the relation below the first layer has a column `name`; return the name."""
        self._level.setdefault(name, 0)
        return name

    def add(self, name: str, expression: exp.Expr, step: int, note: str, kind: str) -> str:
        """Define a column; return its name. Raises ValueError if there is a column of that name."""
        if name in self._level:
            raise ValueError(f"two columns are named {name!r}")
        used = {column.parts[0].name for column in expression.find_all(exp.Column)}
        level = 1 + max((self._level[other] for other in used if other in self._level), default=0)
        while kind not in LIGHT and self._has_others(level, step):
            level += 1
        while len(self._layers) < level:
            self._layers.append([])
        self._layers[level - 1].append(Definition(name, expression.sql("duckdb"), step, note, kind))
        self._level[name] = level
        return name

    def _has_others(self, level: int, step: int) -> bool:
        """Return whether a layer has a column of another step that takes time."""
        there = self._layers[level - 1] if level <= len(self._layers) else ()
        return any(definition.step != step and definition.kind not in LIGHT for definition in there)

    @property
    def available(self) -> list[str]:
        """Columns of the relation below the first layer."""
        return [name for name, level in self._level.items() if not level]

    def layers(self) -> list[list[Definition]]:
        """The definitions of each layer, lowest first."""
        return self._layers

    def definitions(self) -> list[Definition]:
        """All definitions, lowest layer first."""
        return [definition for layer in self._layers for definition in layer]

    def ctes(self, base: str) -> tuple[list[str], str]:
        """The layers as `name AS NOT MATERIALIZED (...)` texts over relation `base`, and the last layer's name."""
        texts, below = [], base
        for number, layer in enumerate(self._layers, 1):
            columns = ",\n".join(f"  {_commented(d)}" for d in layer)
            texts.append(f"_s{number} AS NOT MATERIALIZED (\nSELECT *,\n{columns}\nFROM {below})")
            below = f"_s{number}"
        return texts, below


def _commented(definition: Definition) -> str:
    note = definition.note.replace("*/", "* /").replace("/*", "/ *")
    return f"{definition.sql} AS {ident(definition.name)} /* {note} */"
