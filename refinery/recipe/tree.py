"""A recipe as a tree in which every key, item and value has its place in the source."""

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
class SourcePlace:
    """Place in the source: a line of a file, an option, or a path into a recipe given as a dict."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass
class Scalar:
    """One value.

    value: the YAML value. text: the source text, without quotes; None for a Python value. plain: written without
    quotes. option: from the command line, where a comma list stands for a list; `collection` is then the list or
    mapping that the text stands for. broken: a problem of the value has been reported already.
    """

    value: Any
    text: str | None
    place: SourcePlace
    plain: bool = True
    option: bool = False
    collection: Node | None = None
    broken: bool = False


@dataclass
class Sequence:
    """A list."""

    items: list[Node]
    place: SourcePlace


class Entry(NamedTuple):
    """A key's place and its value."""

    place: SourcePlace
    node: Node


@dataclass
class Mapping:
    """A mapping with text keys, in source order."""

    entries: dict[str, Entry]
    place: SourcePlace


Node = Scalar | Sequence | Mapping


@dataclass
class Problems:
    """Collected problems, reported together: by line of the recipe, then those without a line."""

    found: list[tuple[SourcePlace, Problem]] = field(default_factory=list)

    def add(self, place: SourcePlace, what: str, hint: str | None = None) -> None:
        """Add a problem; the same problem at the same place counts once."""
        problem = Problem(str(place), what, hint)
        if all(problem != other for _, other in self.found):
            self.found.append((place, problem))

    def sorted(self) -> list[Problem]:
        """The problems in reading order: by line of the recipe, then those without a line."""
        return [problem for _, problem in sorted(self.found, key=lambda item: order(item[0]))]


def order(place: SourcePlace) -> tuple[int, int]:
    """Sort key: lines of the file by number, all other places after them in their order."""
    return (1, 0) if place.line is None else (0, place.line)


def plain_value(node: Node) -> Any:
    """The node as ordinary Python values."""
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    if isinstance(node, Mapping):
        return {key: plain_value(entry.node) for key, entry in node.entries.items()}
    return plain_value(node.collection) if node.collection is not None else node.value


def describe(node: Node) -> str:
    """The node's name in a message: `'abc'`, `null`, `a list`."""
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
    """Make the tree of a Python value; `path` names the place in messages (`process.3.max_num`)."""
    place = SourcePlace(path)
    if depth > MAX_DEPTH:
        problems.add(SourcePlace(".".join(path.split(".")[:3])), f"is nested deeper than {MAX_DEPTH} levels")
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
            problems.add(SourcePlace(path), f"has the key {key!r}, which is not text")
            continue
        where = f"{path}.{key}" if path and path != "recipe" else key
        entries[key] = Entry(SourcePlace(where), from_python(item, where, problems, depth + 1))
    return Mapping(entries, SourcePlace(path))


def _from_number(value: Any, place: SourcePlace, problems: Problems) -> Scalar:
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
