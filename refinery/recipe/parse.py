"""Parser from YAML text to a tree: keeps lines, refuses duplicate keys, fills in variables, builds no objects."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from refinery.recipe.syntax import YamlError, bad_character, explain
from refinery.recipe.template import Template, TemplateValues, Variable
from refinery.recipe.tree import (
    MAX_DEPTH,
    MAX_NODES,
    Entry,
    Mapping,
    Node,
    Problems,
    Scalar,
    Sequence,
    SourcePlace,
    from_python,
    plain_value,
)

_TAG = "tag:yaml.org,2002:"
_CONTAINERS = {_TAG + "map", _TAG + "seq"}
_SCALARS = {_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")}
_RESOLVER = Resolver()
_CONSTRUCTOR = SafeConstructor()


def parse(text: str, name: str, values: TemplateValues, problems: Problems) -> Node | None:
    """Parse a recipe's text to a tree; `name` stands for the file in messages.

    Returns None for an empty document, or a text that is not YAML. Errors are added to `problems`. The recipe's own
    `vars:` are added to `values`, unless the command line sets them.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.lstrip()[:1] in ("{", "["):
        text = text.replace("\t", " ")  # JSON may be indented with tabs; its texts cannot hold any
    if sum(map(text.count, ",\n")) > MAX_NODES:  # reading it would take a minute
        problems.add(SourcePlace(name), "holds too many values", "Is it the data set?")
        return None
    template = Template(text, name)
    try:
        root = yaml.compose(template.masked, yaml.SafeLoader)
        if root is None:
            return None
        builder = _Builder(template, name, values, problems)
        builder.variables(root)
        return builder.build(root)
    except yaml.YAMLError as error:
        reader = isinstance(error, yaml.reader.ReaderError)
        yaml_error = bad_character(error, template.masked) if reader else explain(error)
        _complain(yaml_error, template, name, problems)
    except RecursionError:
        problems.add(SourcePlace(name), f"is nested deeper than {MAX_DEPTH} levels")
    return None


def _complain(error: YamlError, template: Template, name: str, problems: Problems) -> None:
    what, hint = template.restore(error.what), error.hint
    problems.add(SourcePlace(name, error.line), what, hint and template.restore(hint))


def parse_python(recipe: AnyMapping[str, Any], values: TemplateValues, problems: Problems) -> Mapping:
    """Make the tree of a dict recipe, with the variables in its texts filled in."""
    root = from_python(recipe, "recipe", problems)
    assert isinstance(root, Mapping)
    variables = root.entries.get("vars")
    if variables and isinstance(variables.node, Mapping):
        for key, entry in variables.node.entries.items():
            _fill(entry.node, values, problems)
            values.variables.setdefault(key, Variable.of(plain_value(entry.node)))
    _fill(root, values, problems)
    return root


def _fill(node: Node, values: TemplateValues, problems: Problems) -> None:
    if isinstance(node, Mapping):
        for entry in node.entries.values():
            _fill(entry.node, values, problems)
    elif isinstance(node, Sequence):
        for item in node.items:
            _fill(item, values, problems)
    elif node.text is not None:
        template = Template(node.text, node.place.source)
        if template.is_masked(template.masked):
            filled = template.fill(template.masked, '"', values, node.place, problems)
            node.value = node.text = filled or ""
            node.broken = filled is None


def parse_option(text: str, place: SourcePlace) -> Scalar:
    """Parse a value from the command line: a YAML scalar, which may also stand for a list or mapping."""
    collection: Node | None = None
    value: Any = text
    try:
        node = yaml.compose(text, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        node = None
    if isinstance(node, yaml.ScalarNode):
        if node.style is not None:
            return Scalar(node.value, node.value, place, plain=False, option=True)
        value = plain_scalar(text.strip())
    elif node is not None and text.lstrip()[:1] in ("[", "{"):
        built = _Builder(Template("", ""), str(place), TemplateValues({}), Problems()).build(node)
        collection = _at(built, place)
    elif not text.strip():
        value = None
    return Scalar(value, text.strip(), place, option=True, collection=collection)


def _at(node: Node, place: SourcePlace) -> Node:
    """The same tree with one place for all nodes."""
    node.place = place
    if isinstance(node, Sequence):
        node.items = [_at(item, place) for item in node.items]
    elif isinstance(node, Mapping):
        node.entries = {key: Entry(place, _at(entry.node, place)) for key, entry in node.entries.items()}
    return node


def plain_scalar(text: str) -> Any:
    """The YAML 1.1 value of a text without quotes."""
    return _construct(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)), text)


def _construct(tag: str, text: str) -> Any:
    if tag == _TAG + "str":
        return text
    node = yaml.ScalarNode(tag, text)
    try:
        if tag == _TAG + "null":
            return None
        if tag == _TAG + "bool":
            return _CONSTRUCTOR.construct_yaml_bool(node)
        if tag == _TAG + "int":
            return _CONSTRUCTOR.construct_yaml_int(node)
        if tag == _TAG + "float":
            return _CONSTRUCTOR.construct_yaml_float(node)
    except (ValueError, LookupError, OverflowError):  # `!!int abc`, a number of 5,000 digits
        return text
    return text


class _Builder:
    def __init__(self, template: Template, name: str, values: TemplateValues, problems: Problems) -> None:
        self.template, self.name, self.values, self.problems = template, name, values, problems
        self.left = MAX_NODES
        self.open: list[yaml.Node] = []

    def variables(self, root: yaml.Node) -> None:
        """Read the recipe's `vars:` before filling in anything else."""
        if not isinstance(root, yaml.MappingNode):
            return
        for key, node in root.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "vars":
                built = self.build(node)
                entries = built.entries if isinstance(built, Mapping) else {}
                for name, entry in entries.items():
                    self.values.variables.setdefault(name, _variable(entry.node))

    def build(self, node: yaml.Node) -> Node:
        place = self._place(node)
        self.left -= 1
        single = isinstance(node, yaml.ScalarNode)
        within = not single and any(node is other for other in self.open)
        if len(self.open) > MAX_DEPTH or self.left < 0 or within:
            what = "refers to itself" if self.left >= 0 and len(self.open) <= MAX_DEPTH else "holds too many values"
            what = f"is nested deeper than {MAX_DEPTH} levels" if len(self.open) > MAX_DEPTH else what
            self.problems.add(place, what)
            return Scalar(None, None, place)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        if node.tag not in _CONTAINERS:
            self._unknown_tag(node, place)
        self.open.append(node)
        try:
            if isinstance(node, yaml.SequenceNode):
                return Sequence([self.build(item) for item in node.value], place)
            return Mapping(self._entries(node), place)
        finally:
            self.open.pop()

    def _scalar(self, node: yaml.ScalarNode, place: SourcePlace) -> Node:
        if node.tag not in _SCALARS:
            self._unknown_tag(node, place)
        text, tag = node.value, node.tag
        if self.template.is_masked(text):
            is_template = node.style is None and self.template.is_whole(text)
            filled = self._fill(node)
            if filled is None:
                return Scalar("", "", place, plain=False, broken=True)
            text = filled
            if is_template and text[:1] in ("[", "{"):
                return parse_option(text, place).collection or Scalar(text, text, place)
            tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) if node.style is None else tag
        text = self._unpaired(text, place)
        explicit = node.style is None and tag == _TAG + "str" != _RESOLVER.resolve(type(node), text, (True, False))
        return Scalar(_construct(tag, text), text, place, plain=node.style is None and not explicit)

    def _unpaired(self, text: str, place: SourcePlace) -> str:
        r"""Join the surrogate pairs that JSON writes as two `\u` escapes."""
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            if "\ufffd" in joined and "\ufffd" not in text:
                self.problems.add(place, "holds an unpaired surrogate, which is not text")
            return joined

    def _entries(self, node: yaml.MappingNode) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in node.value:
            place = self._place(key)
            if key.tag == _TAG + "merge":
                merged |= {name: entry for name, entry in self._merge(value).items() if name not in merged}
                continue
            name = self._key(key, place)
            if name is None:
                continue
            if name in entries:
                first = entries[name].place.line
                at = "in the same line" if first == place.line else f"first in line {first}"
                self.problems.add(place, f"{name!r} occurs twice, {at}", "Keep one of them.")
                continue
            entries[name] = Entry(place, self.build(value))
        return entries | {name: entry for name, entry in merged.items() if name not in entries}

    def _merge(self, node: yaml.Node) -> dict[str, Entry]:
        built = self.build(node)
        parts = built.items if isinstance(built, Sequence) else [built]
        entries: dict[str, Entry] = {}
        for part in parts:
            if not isinstance(part, Mapping):
                self.problems.add(part.place, "<< takes a mapping, or a list of them")
                continue
            entries |= {name: entry for name, entry in part.entries.items() if name not in entries}
        return entries

    def _key(self, node: yaml.Node, place: SourcePlace) -> str | None:
        if isinstance(node, yaml.ScalarNode) and (node.value or node.style):
            return self._unpaired(self._fill(node) or "", place)
        hint = "Put a value that holds braces or brackets in quotes, and a key before every colon."
        self.problems.add(place, "a key must be a word", hint)
        return None

    def _fill(self, node: yaml.ScalarNode) -> str | None:
        return self.template.fill(node.value, node.style, self.values, self._place(node), self.problems)

    def _unknown_tag(self, node: yaml.Node, place: SourcePlace) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self.problems.add(place, f"the YAML tag {tag} is not allowed in recipes", "Remove it, or quote the value.")

    def _place(self, node: yaml.Node) -> SourcePlace:
        return SourcePlace(self.name, node.start_mark.line + 1)


def _variable(node: Node) -> Variable:
    if isinstance(node, Scalar) and node.text is not None:
        return Variable(node.text, node.value)
    return Variable.of(plain_value(node))
