"""A recipe as a tree whose every key, item and value knows where the user wrote it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NamedTuple

from refinery.errors import Problem

MAX_DEPTH = 50
MAX_NODES = 200_000


@dataclass(frozen=True)
class Place:
    """Where something stands: a line of a file, or an option, or a path into a recipe given as a dict."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass
class Scalar:
    """One value.

    value: what YAML makes of it. text: how it was written, without quotes; None for a Python value. plain: written
    without quotes. option: came from the command line, where a comma list stands for a list; `collection` is then
    what the text means when a list or mapping is wanted. broken: a problem of it has been told already.
    """

    value: Any
    text: str | None
    place: Place
    plain: bool = True
    option: bool = False
    collection: Node | None = None
    broken: bool = False


@dataclass
class Sequence:
    """A list."""

    items: list[Node]
    place: Place


class Entry(NamedTuple):
    """A key's place and its value."""

    place: Place
    node: Node


@dataclass
class Mapping:
    """A mapping with text keys, in the order in which they were written."""

    entries: dict[str, Entry]
    place: Place


Node = Scalar | Sequence | Mapping


@dataclass
class Problems:
    """Collects what is wrong, so that all of it is told at once: by line of the recipe, then what has no line."""

    found: list[tuple[Place, Problem]] = field(default_factory=list)

    def add(self, place: Place, what: str, hint: str | None = None) -> None:
        """Note a problem; the same one at the same place counts once."""
        problem = Problem(str(place), what, hint)
        if all(problem != other for _, other in self.found):
            self.found.append((place, problem))

    def sorted(self) -> list[Problem]:
        """The problems as they should be read: lines of the recipe, then what has no line."""
        return [problem for _, problem in sorted(self.found, key=lambda item: order(item[0]))]


def order(place: Place) -> tuple[int, int]:
    """Sort key: lines of the file by number, everything else after them as it came."""
    return (1, 0) if place.line is None else (0, place.line)


def plain_value(node: Node) -> Any:
    """The node as ordinary Python values."""
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    if isinstance(node, Mapping):
        return {key: plain_value(entry.node) for key, entry in node.entries.items()}
    return plain_value(node.collection) if node.collection is not None else node.value


def describe(node: Node) -> str:
    """The node as it is named in a message: `'abc'`, `null`, `a list`."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.value is None:
        return "null"
    if node.text is None:
        return repr(node.value) if isinstance(node.value, str) else str(node.value).lower()
    text = node.text if len(node.text) <= 60 else node.text[:57] + "..."
    return text if node.plain and not isinstance(node.value, str) else repr(text)


def from_python(value: Any, path: str, problems: Problems, depth: int = 0) -> Node:
    """The tree of a Python value; `path` names the place in messages (`process.3.max_num`)."""
    place = Place(path)
    if depth > MAX_DEPTH:
        problems.add(Place(".".join(path.split(".")[:3])), f"is nested deeper than {MAX_DEPTH} levels")
        return Scalar(None, None, place)
    if isinstance(value, AnyMapping):
        return _from_mapping(value, path, problems, depth)
    if isinstance(value, (list, tuple)):
        prefix = f"{path}." if path else ""
        items = [from_python(item, f"{prefix}{n}", problems, depth + 1) for n, item in enumerate(value, 1)]
        return Sequence(items, place)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        if not _is_unicode(value):
            problems.add(place, "holds an unpaired surrogate, which is not text")
            value = ""
        return Scalar(value, value, place, plain=False)
    return _from_number(value, place, problems)


def _from_mapping(value: AnyMapping[Any, Any], path: str, problems: Problems, depth: int) -> Mapping:
    entries: dict[str, Entry] = {}
    for key, item in value.items():
        if not isinstance(key, str) or not _is_unicode(key):
            problems.add(Place(path), f"has the key {key!r}, which is not text")
            continue
        where = f"{path}.{key}" if path and path != "recipe" else key
        entries[key] = Entry(Place(where), from_python(item, where, problems, depth + 1))
    return Mapping(entries, Place(path))


def _from_number(value: Any, place: Place, problems: Problems) -> Scalar:
    if value is None or isinstance(value, bool):
        return Scalar(value, None, place)
    if isinstance(value, Integral):
        return Scalar(int(value), None, place)
    if isinstance(value, Real) and not math.isnan(value):
        return Scalar(float(value), None, place)
    problems.add(place, f"holds a value of type {type(value).__name__}, which a recipe cannot hold")
    return Scalar(None, None, place)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
