"""Parameters whose value depends on a column: `max_ratio: {language: {fra: 0.2, deu: 0.25, default: 0.3}}`.

A sample gets the value that stands under the text of its column, and `default` if there is none, or the column is NULL.
The values are in the recipe, in a YAML or JSON file, or in a folder with a file for each text of the column, such as
FineWeb-2's. They become part of the recipe when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping as AnyMapping
from pathlib import Path
from typing import Any

from refinery.common.paths import absolute
from refinery.errors import suggestion
from refinery.recipe.parse import parse
from refinery.recipe.template import TemplateValues
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, SourcePlace, describe
from refinery.recipe.values import Spec, take

COLUMN, VALUES, FILE, FOLDER, KEY, DEFAULT = "by", "values", "file", "folder", "key", "default"
LONG = {COLUMN, VALUES, FILE, FOLDER, KEY, DEFAULT}
# Types of parameters that may depend on a column: neither paths nor SQL, which are checked before any sample is read.
TYPES = frozenset(("int", "float", "bool", "str", "list[str]", "list[int]", "str_or_list", "any"))
_SUFFIXES = (".yaml", ".yml", ".json")
_HOW = "Write {column: {value: ..., default: ...}}, or {column: file, default: ...}."


class ByColumn(dict[str, Any]):
    """Values of a parameter by the text of a column, as the plain mapping that a recipe can hold.

    `by`: SQL of the column. `values`: value by text, sorted. `default`: of all other samples.
    """

    def __init__(self, column: str, values: AnyMapping[str, Any], default: Any) -> None:
        super().__init__({COLUMN: column, VALUES: dict(sorted(values.items())), DEFAULT: default})

    @property
    def column(self) -> str:
        """SQL of the column."""
        return str(self[COLUMN])

    @property
    def all_values(self) -> list[Any]:
        """The default, then the value of each text in order."""
        return [self[DEFAULT], *self[VALUES].values()]

    def of(self, text: str | None) -> Any:
        """The value for a sample with this text in the column; None: the default."""
        return self[DEFAULT] if text is None else self[VALUES].get(text, self[DEFAULT])


def by_text(params: AnyMapping[str, Any]) -> list[dict[str, Any]]:
    """Different sets of parameters that samples may get, one for each text of a column; the first has all defaults."""
    plain = {name: value.of(None) if isinstance(value, ByColumn) else value for name, value in params.items()}
    sets = [plain]
    for column in dict.fromkeys(value.column for value in params.values() if isinstance(value, ByColumn)):
        named = {n: v for n, v in params.items() if isinstance(v, ByColumn) and v.column == column}
        for text in dict.fromkeys(text for value in named.values() for text in value[VALUES]):
            own = {**plain, **{name: value.of(text) for name, value in named.items()}}
            if own not in sets:
                sets.append(own)
    return sets


def is_by_column(node: Node, spec: Any) -> bool:
    """Return whether a parameter's node is a mapping by column, and not the parameter's own mapping."""
    if not isinstance(node, Mapping) or not node.entries or spec.type == "files":
        return False
    return spec.type != "any" or (COLUMN in node.entries and bool({VALUES, FILE, FOLDER} & node.entries.keys()))


def take_by_column(node: Mapping, spec: Spec, label: str, name: str, problems: Problems) -> Any:
    """Read a parameter that depends on a column. name: of the parameter. Problems are added, and the default returned."""
    if spec.type not in TYPES:
        problems.add(node.place, f"{label} cannot depend on a column: it is a {spec.type}", None)
        return spec.default
    reader = _Reader(spec, label, name, problems)
    return reader.read(node)


class _Reader:
    def __init__(self, spec: Spec, label: str, name: str, problems: Problems) -> None:
        self.spec, self.label, self.name, self.problems = spec, label, name, problems

    def read(self, node: Mapping) -> Any:
        before = len(self.problems.found)
        column, source, options = self._parts(node)
        if DEFAULT not in options:
            if len(self.problems.found) == before:
                what = f"{self.label} has no default for samples whose {column or 'column'} has no value here"
                self.problems.add(node.place, what, "Add default: ... to the mapping.")
            return self.spec.default
        default = self._value(options[DEFAULT].node)
        values = {text: self._value(entry.node) for text, entry in self._entries(source, options).items()}
        if not values and len(self.problems.found) == before:
            self.problems.add(node.place, f"{self.label} has no values by {column}", _HOW)
        return self.spec.default if len(self.problems.found) > before else ByColumn(column, values, default)

    def _parts(self, node: Mapping) -> tuple[str, Node | None, dict[str, Entry]]:
        """The column, the node of the values, and the other entries."""
        entries = dict(node.entries)
        if COLUMN in entries:
            return self._long(entries)
        options = {key: entries.pop(key) for key in (DEFAULT, KEY) if key in entries and len(entries) > 1}
        if len(entries) != 1:
            self.problems.add(node.place, f"{self.label} is a mapping of {len(entries)} keys, not of one column", _HOW)
            return "", None, {}
        [(column, entry)] = entries.items()
        if isinstance(entry.node, Mapping) and DEFAULT not in options and DEFAULT in entry.node.entries:
            inner = dict(entry.node.entries)
            options[DEFAULT] = inner.pop(DEFAULT)
            return column, Mapping(inner, entry.node.place), options
        return column, entry.node, options

    def _long(self, entries: dict[str, Entry]) -> tuple[str, Node | None, dict[str, Entry]]:
        for key in entries.keys() - LONG:
            what = f"{self.label} has no key {key!r}"
            self.problems.add(
                entries[key].place, what, suggestion(key, sorted(LONG)) or f"It has {', '.join(sorted(LONG))}."
            )
        sources = [entries[key].node for key in (VALUES, FILE, FOLDER) if key in entries]
        if len(sources) != 1:
            what = f"{self.label} needs one of values, file and folder"
            self.problems.add(entries[COLUMN].place, what, _HOW)
        column = entries[COLUMN].node
        text = str(column.value) if isinstance(column, Scalar) else ""
        return text, sources[0] if sources else None, {k: e for k, e in entries.items() if k in (DEFAULT, KEY)}

    def _entries(self, source: Node | None, options: AnyMapping[str, Entry]) -> dict[str, Entry]:
        """Nodes of the values by text, from the recipe, a file or a folder."""
        if isinstance(source, Mapping):
            return self._picked(source.entries, options, own=True)
        if not isinstance(source, Scalar) or not isinstance(source.value, str):
            if source is not None:
                self.problems.add(source.place, f"{self.label} has {describe(source)} for its values", _HOW)
            return {}
        path = Path(absolute(source.value))
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
            for stem in {file.stem for file in files if sum(file.stem == other.stem for other in files) > 1}:
                self.problems.add(source.place, f"{self.label}: {os.fspath(path)} has several files for {stem}", None)
            nodes = {file.stem: Entry(source.place, node) for file in files if (node := self._parsed(file, source))}
        else:
            tree = self._parsed(path, source)
            nodes = tree.entries if isinstance(tree, Mapping) else {}
        return self._picked(nodes, options, own=False)

    def _picked(self, nodes: AnyMapping[str, Entry], options: AnyMapping[str, Entry], own: bool) -> dict[str, Entry]:
        """The value of each text: the node, or what stands in it under `key`, by default the parameter's name."""
        given = options.get(KEY)
        key = str(given.node.value) if given is not None and isinstance(given.node, Scalar) else self.name
        picked = {}
        for text, entry in nodes.items():
            if isinstance(entry.node, Mapping) and not (own and given is None):
                inner = entry.node.entries.get(key)
                if inner is None:
                    near = suggestion(key, entry.node.entries) or "Name the key of the file with key: ..."
                    self.problems.add(entry.place, f"{self.label}: {text} has no key {key!r}", near)
                    continue
                entry = inner
            picked[text] = entry
        return picked

    def _parsed(self, path: Path, source: Scalar) -> Node | None:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "is not UTF-8"
            self.problems.add(source.place, f"{self.label}: {os.fspath(path)}: {reason}", None)
            return None
        node = parse(text, os.fspath(path), TemplateValues({}, {}, closed=True), self.problems)
        if not isinstance(node, Mapping):
            self.problems.add(SourcePlace(os.fspath(path)), "is no mapping of values", _HOW)
            return None
        return node

    def _value(self, node: Node) -> Any:
        return take(node, self.spec, self.label, self.problems, self.spec.default)
