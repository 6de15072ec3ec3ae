"""A translated configuration: keys of a recipe, and steps with their lines in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Source:
    """A configuration file: its path, its content as plain values, and the line of each list item.

    lines: line by path of keys and numbers, such as ("pipeline", 3).
    """

    path: str
    content: Any
    lines: Mapping[tuple[Any, ...], int]

    def line(self, *keys: Any) -> int:
        """The line of an item, or of what holds it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 1)


@dataclass(frozen=True)
class Item:
    """The outcome of one step of a configuration.

    name: of the step there. steps: of the recipe, `{operator: parameters}`; none if it needs no step. missing: the reason
    why it has no translation; empty if it has one. notes: differences that a reader must know.
    """

    name: str
    line: int
    steps: Sequence[dict[str, Any]] = ()
    missing: str = ""
    notes: Sequence[str] = ()


@dataclass
class Translation:
    """A configuration as a recipe. peer: the tool's name. keys: of the recipe, besides `process`. notes: on the whole."""

    peer: str
    keys: dict[str, Any] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[Item]:
        """Steps without a translation."""
        return [item for item in self.items if item.missing]


# Finds a file that a configuration names: its path, or the name as it is if there is none.
FindFile = Callable[[str], str]
