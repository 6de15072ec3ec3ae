"""Changes to a recipe by the command line.

`--trace_num 50` and `--words_num_filter.max_num 500` as Data-Juicer has it (dashes in names of keys, operators and parameters
are underscores, but not in what a parameter maps, as `zh-cn`; a comma list or a JSON list is a list, no value is `true`), and `--set process.3.max_num=500` for any place: steps by number from 1, by
their name, or by an operator that stands once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import Problem, RecipeError, did_you_mean, suggestion
from refinery.recipe.keys import ALIASES, KEYS
from refinery.recipe.parse import parse_option, plain_scalar
from refinery.recipe.step_items import Called, begin_of, called
from refinery.recipe.steps import normalize_process
from refinery.recipe.template import Variable
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence, SourcePlace, from_python

# The option that leaves steps out; no key, as a recipe can leave them out by itself.
SKIP = "skip"

_SAME = {name: alias for pair in ALIASES.items() for name, alias in (pair, pair[::-1])}


@dataclass(frozen=True)
class Override:
    """One change. path: keys, step numbers, names of steps or operators. value: text of an option, or any Python value.

    option: its name in messages. is_text: the value is an option's text, to be read as YAML. every: the path starts
    with the name of an operator or step and means all such steps.
    """

    path: tuple[str, ...]
    value: Any
    option: str
    is_text: bool = True
    every: bool = False


def parse_overrides(arguments: AnySequence[str]) -> list[Override]:
    """Parse options that a command does not define: `--key value`, `--key=value`, `--flag`, `--set path=value`.

    Raises RecipeError for arguments that match no key of a recipe.
    """
    overrides: list[Override] = []
    problems: list[Problem] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("--") or argument == "--":
            hint = f"For a list write {overrides[-1].option} a,b." if overrides else "Options start with --."
            problems.append(Problem("", f"unexpected argument {argument!r}", hint))
            continue
        name, equals, value = argument[2:].partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else "true"
        try:
            overrides.append(parse_set(value) if name == "set" else _option(name, value))
        except RecipeError as error:
            problems += error.problems
    problems += _repeated_lists(overrides)
    if problems:
        raise RecipeError(problems)
    return overrides


def _repeated_lists(overrides: AnySequence[Override]) -> list[Problem]:
    """Problems of options for lists that are given several times: only the last one would count."""
    heads = [
        one.path[0] for one in overrides if len(one.path) == 1 and one.option.startswith("--") and one.path[0] in KEYS
    ]
    several = {name for name, key in KEYS.items() if key.type in ("paths", "strings") or key.type.startswith("list[")}
    lists = dict.fromkeys(head for head in heads if head in several and heads.count(head) > 1)
    return [Problem(f"--{head}", "is given twice", f"For a list write --{head} a,b.") for head in lists]


def _option(name: str, value: str) -> Override:
    head, *others = name.split(".")
    head = head.replace("-", "_")
    if head not in KEYS and not others and head != SKIP:
        near = suggestion(head, [*KEYS, SKIP])
        raise RecipeError([Problem(f"--{name}", "there is no such option or key of a recipe", near)])
    path = (head, *others)
    if path == (SKIP,):
        return Override(path, value, f"--{name}", is_text=False)
    return Override(path, value, f"--{name}", every=head not in KEYS)


def parse_set(text: str) -> Override:
    """Parse a `--set` value: `process.3.max_num=500`. Raises RecipeError if it is not `path=value`."""
    path, equals, value = text.partition("=")
    parts = tuple(part.strip() for part in path.split("."))
    parts = (_name(parts[0]), *parts[1:])
    if not equals or not all(parts):
        raise RecipeError([Problem("--set", f"{text!r} is not path=value", "Write --set process.3.max_num=500.")])
    if parts[0] not in KEYS:
        near = suggestion(parts[0], KEYS)
        raise RecipeError([Problem(f"--set {path}", f"there is no key {parts[0]!r}", near)])
    return Override(parts, value, f"--set {path}")


def _name(part: str) -> str:
    """A part of a path that names a key, an operator or a parameter."""
    return part.replace("-", "_")


def _begin_of(path: AnySequence[str], steps: AnySequence[Called]) -> tuple[list[int], list[str]]:
    """The steps that a path begins with, and the rest of the path; dashes in the name of a step may stand for underscores."""
    numbers, rest = begin_of(path, steps)
    if not numbers:
        numbers, rest = begin_of([_name(part) for part in path], steps)
        rest = list(path[len(path) - len(rest) :])
    return numbers, rest


def parse_variables(texts: AnySequence[str]) -> dict[str, Variable]:
    """Parse `--var` values, `name=value`. Raises RecipeError for others."""
    variables: dict[str, Variable] = {}
    problems: list[Problem] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            problems.append(Problem("--var", f"{text!r} is not name=value", "Write --var lang=en."))
        variables[name] = Variable(value, plain_scalar(value))
    if problems:
        raise RecipeError(problems)
    return variables


def overrides_of(values: AnyMapping[str, Any]) -> list[Override]:
    """Make overrides from Python values: `{"trace_num": 50, "process.3.max_num": 500}`."""
    return [Override(tuple(name.split(".")), value, name, is_text=False) for name, value in values.items()]


def apply(root: Mapping, overrides: AnySequence[Override], problems: Problems) -> None:
    """Apply overrides to the tree; the last override of a place wins."""
    for override in overrides:
        if override.path == (SKIP,):
            continue  # see `skipping`
        normalize_process(root)
        place = SourcePlace(override.option)
        value = parse_option(str(override.value), place) if override.is_text else _python(override, problems)
        if override.every:
            _apply_to_all(root, override, value, problems)
        else:
            _Setter(override, place, value, problems).set(root)


def _python(override: Override, problems: Problems) -> Node:
    return from_python(override.value, override.option, problems)


def _apply_to_all(root: Mapping, override: Override, value: Node, problems: Problems) -> None:
    name, place, steps = override.path[0], SourcePlace(override.option), _called(root)
    numbers, rest = _begin_of(override.path, steps)
    if not numbers:
        problems.add(place, f"the recipe has no step {name!r}{did_you_mean(name, [*_names(steps), *KEYS])}")
    for number in numbers:
        path = ("process", str(number), *rest)
        _Setter(Override(path, override.value, override.option), place, value, problems).set(root)


def step_names(root: Mapping) -> list[str | None]:
    """The operators of `process:` in order; None for an item that is not one operator."""
    return [operator for operator, _ in _called(root)]


def _called(root: Mapping) -> list[Called]:
    """The operators and names of the steps."""
    return [called(item) for item in _steps(root)]


def _names(steps: AnySequence[Called]) -> list[str]:
    """All that steps are called."""
    return [name for names in steps for name in names if name]


def _steps(root: Mapping) -> list[Node]:
    node = root.entries["process"].node if "process" in root.entries else None
    if isinstance(node, Scalar):
        node = node.collection
    return node.items if isinstance(node, Sequence) else []


class _Setter:
    def __init__(self, override: Override, place: SourcePlace, value: Node, problems: Problems) -> None:
        self.override, self.place, self.value, self.problems = override, place, value, problems

    def set(self, root: Mapping) -> None:
        head, *rest = self.override.path
        root.entries.pop(_SAME.get(head, ""), None)
        if head == "process" and rest:
            self._set_step(root, rest)
        else:
            self._set_in(root, [head, *map(_name, rest[:1]), *rest[1:]])

    def _set_step(self, root: Mapping, path: list[str]) -> None:
        steps, named = _steps(root), _called(root)
        numbers, rest = _begin_of(path, named)
        number = self._number(path[0], numbers, named)
        if number is None:
            return
        item, name = steps[number - 1], named[number - 1][0]
        if name is None:
            return  # the item itself is reported
        rest = rest[1:] if rest and _name(rest[0]) == name else rest
        if not rest:
            return self._fail(f"step {number} is not one value", f"Name a parameter: process.{number}.max_num=500.")
        if isinstance(item, Scalar):
            item = steps[number - 1] = Mapping({name: Entry(item.place, Scalar(None, None, item.place))}, item.place)
        self._set_in(item, [name, _name(rest[0]), *rest[1:]])

    def _number(self, text: str, matches: list[int], steps: AnySequence[Called]) -> int | None:
        """The one step that is meant. matches: the steps that are called so, or the number itself."""
        if text.isdecimal():
            if 1 <= matches[0] <= len(steps):
                return matches[0]
            self._fail(f"there is no step {text}: process has {len(steps)}")
        elif len(matches) == 1:
            return matches[0]
        elif matches:
            numbers = " and ".join(str(number) for number in matches)
            self._fail(f"{text} occurs {len(matches)} times, as steps {numbers}", "Name the step by its number.")
        else:
            self._fail(f"the recipe has no step {text!r}", suggestion(text, _names(steps)))
        return None

    def _set_in(self, node: Node, path: list[str]) -> None:
        """Set the value at the end of the path, and create missing mappings on the way."""
        head, *rest = path
        if isinstance(node, Sequence):
            if not head.isdecimal() or not 1 <= int(head[:9]) <= len(node.items):
                return self._fail(f"{head!r} is not one of the {len(node.items)} items of a list", "Count from 1.")
            at = int(head[:9]) - 1
            node.items[at] = self._below(node.items[at], rest)
        elif isinstance(node, Mapping):
            old = node.entries.get(head)
            below = self._below(old.node if old else Scalar(None, None, self.place), rest)
            node.entries[head] = Entry(old.place if old and rest else self.place, below)
        else:
            self._fail(f"there is nothing below {head!r}")

    def _below(self, node: Node, path: list[str]) -> Node:
        if not path:
            return self.value
        if isinstance(node, Scalar) and node.collection is not None:
            node = node.collection
        if isinstance(node, Scalar) and node.value is None:
            node = Mapping({}, self.place)
        if isinstance(node, Scalar):
            self._fail(f"there is nothing below it named {path[0]!r}")
            return node
        self._set_in(node, path)
        return node

    def _fail(self, what: str, hint: str | None = None) -> None:
        self.problems.add(self.place, what, hint)
