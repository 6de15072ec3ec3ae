"""Steps of `process:`: every item is one operator of the library, with known, typed parameters in range."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence as AnySequence
from importlib.util import find_spec
from typing import Any

from refinery.common.extras import install_command
from refinery.errors import RefineryError, suggestion
from refinery.operators.bounds import KeptRange, kept_range
from refinery.operators.resources import RESOURCE_ALIASES, RESOURCE_PARAMS, problem_with, without_effect
from refinery.recipe.absolute_paths import located_params
from refinery.recipe.assets import Assets
from refinery.recipe.by_column import by_text, is_by_column, take_by_column
from refinery.recipe.data_juicer import DATA_JUICER_OPERATORS
from refinery.recipe.key import RecipeKey
from refinery.recipe.keys import BASE_PARAMS, RANGE_PARAMS, TEXT_KEY
from refinery.recipe.lost import MissingStatistics
from refinery.recipe.model import Step
from refinery.recipe.peer_names import answer_to
from refinery.recipe.protocols import LibraryLike, OperatorLike
from refinery.recipe.shares import ALL_REMOVED, unreachable_bounds
from refinery.recipe.step_items import NAME, name_of, operator_of, read_names, without_name
from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, Sequence, SourcePlace, describe, order
from refinery.recipe.values import take

_TEXT_KEY = RecipeKey(TEXT_KEY, "str", None, nullable=True)
_RANGE_KEYS = {name: RecipeKey(name, "bool", default) for name, default in RANGE_PARAMS.items()}
_EXAMPLE = "Write - clean_email_mapper: or - text_length_filter: {min_len: 10}"

Notes = list[tuple[SourcePlace, str]]
Given = dict[str, Entry]


def read_steps(
    entry: Entry,
    library: LibraryLike,
    problems: Problems,
    notes: Notes,
    lost: MissingStatistics | None = None,
    assets: Assets | None = None,
) -> tuple[Step, ...]:
    """Read the valid steps of a recipe's `process:`. lost: collects the steps with problems. assets: finds their files."""
    node = entry.node
    if not isinstance(node, Sequence):
        problems.add(entry.place, *_not_a_list(node))
        return ()
    if not node.items:
        notes.append((entry.place, "process is empty: samples are exported as they are read"))
    names = read_names(node.items, problems)
    reader = _Reader(library, problems, notes, lost or MissingStatistics(), names, assets or Assets())
    steps = [reader.step(index, item) for index, item in enumerate(node.items, 1)]
    return tuple(step for step in steps if step is not None)


def normalize_process(root: Mapping) -> None:
    """Make `process:` a list of steps: an empty value is no step, one operator without a list is one step."""
    entry = root.entries.get("process")
    if entry is None:
        return
    node = entry.node
    if isinstance(node, Scalar) and node.collection is not None:
        node = node.collection
    if _is_nothing(node):
        node = Sequence([], node.place)
    elif _is_step(node):
        node = Sequence([node], node.place)
    root.entries["process"] = Entry(entry.place, node)


def _is_nothing(node: Node) -> bool:
    """Return whether a node that is not a list is empty: null, an empty text or mapping."""
    if isinstance(node, Mapping):
        return not node.entries
    return isinstance(node, Scalar) and not node.broken and (node.value is None or not str(node.text).strip())


def _is_step(node: Node) -> bool:
    """Return whether a node that is not a list is one operator."""
    if isinstance(node, Scalar):
        return isinstance(node.value, str) and bool(node.text) and not node.broken
    return isinstance(node, Mapping) and len(without_name(node)) == 1


def _not_a_list(node: Node) -> tuple[str, str]:
    if isinstance(node, Mapping) and node.entries:
        return "process must be a list when it has several operators, not a mapping", "Put '- ' before every operator."
    return f"process must be a list, not {describe(node)}", _EXAMPLE


class _Reader:
    def __init__(
        self,
        library: LibraryLike,
        problems: Problems,
        notes: Notes,
        lost: MissingStatistics,
        names: dict[int, str],
        assets: Assets,
    ) -> None:
        self.library, self.problems, self.notes, self.lost = library, problems, notes, lost
        self.names, self.assets = names, assets
        self.noted: set[str] = set()

    def step(self, index: int, item: Node) -> Step | None:
        before = len(self.problems.found)
        operator_item = operator_of(item)
        if operator_item is None:
            self._not_one(item)
        name, entry = operator_item or ("", None)
        operator = self._operator(name, entry.place) if entry is not None else None
        entries = self._given(name, entry.node) if entry is not None and operator is not None else None
        if entry is None or operator is None or entries is None:
            self._lose(operator, index)
            return None
        resources = self._resources(operator, entries)
        params = self._params(operator, entries, entry.place)
        is_complete = not any(isinstance(entry.node, Scalar) and entry.node.broken for entry in entries.values())
        if len(self.problems.found) == before and is_complete:
            self._check(operator, params, entries, entry.place)
        if len(self.problems.found) > before or not is_complete:
            self._lose(operator, index)
            return None
        self._note_name(item, operator, entries)
        line, file = entry.place.line or 0, entry.place.source if entry.place.line else "recipe"
        own = frozenset(entries) & frozenset(params)
        return Step(index, name, params, own, line, file, self.names.get(index), resources)

    def _note_name(self, item: Node, operator: OperatorLike, entries: Given) -> None:
        """Add a note where a name beside the operator may be meant as the operator's parameter of that name."""
        entry = name_of(item)
        if entry is not None and NAME in operator.params and NAME not in entries:
            text = f"{NAME} names the step; the parameter {NAME} of {operator.name} stands below {operator.name}"
            self.notes.append((entry.place, text))

    def _lose(self, operator: OperatorLike | None, index: int) -> None:
        """Note which statistics the step would have computed: later steps may name them."""
        named = getattr(operator, "stats", None)
        if operator is None or any("{" in pattern for pattern in named or {}):
            self.lost.add_unknown(index)  # the parameters that name them may be those that are wrong
        elif named:
            self.lost.add(index, named)

    def _not_one(self, item: Node) -> None:
        if not isinstance(item, Mapping) or not item.entries:
            what = "an item of process names no operator" if _is_empty(item) else f"{describe(item)} is not an operator"
            self.problems.add(item.place, what, _EXAMPLE)
            return
        (name, first), *others = without_name(item).items()
        strays = [other for other, _ in others if other not in self.library.operators]
        if isinstance(first.node, Scalar) and first.node.value is None and len(strays) == len(others):
            hint = f"Indent the parameters of {name} further than its name."
            self.problems.add(others[0][1].place, f"{strays[0]!r} is beside {name}, not below it", hint)
        else:
            hint = "Start every operator with '- ' on a line of its own."
            what = f"one item of process holds {len(others) + 1} keys, {name} and {others[0][0]}"
            self.problems.add(others[0][1].place, what, hint)

    def _operator(self, name: str, place: SourcePlace) -> OperatorLike | None:
        known = self.library.operators
        if name in known:
            try:
                return known[name]
            except RefineryError as error:
                self.problems.add(place, f"{name} cannot be used: {error}")
                return None
        if (answer := answer_to(name, self.library)) is not None:
            self.problems.add(place, f"there is no operator {name!r}", answer)
        elif name in DATA_JUICER_OPERATORS:
            what = f"{name} is an operator of Data-Juicer that refinery does not have"
            self.problems.add(place, what, "Remove the step; `refinery ops` lists the operators.")
        elif name == NAME:
            self.problems.add(place, "an item of process has a name, but no operator", _EXAMPLE)
        else:
            near = suggestion(name, known)
            self.problems.add(place, f"there is no operator {name!r}", near or "`refinery ops` lists the operators.")
        return None

    def _given(self, name: str, node: Node) -> Given | None:
        if isinstance(node, Scalar) and node.collection is not None:
            node = node.collection
        if isinstance(node, Mapping):
            return node.entries
        if isinstance(node, Scalar) and node.value is None:
            return {}
        what = f"{name} takes parameters by name, not {describe(node)}"
        self.problems.add(node.place, what, "Write name: value below it.")
        return None

    def _params(self, operator: OperatorLike, entries: Given, place: SourcePlace) -> dict[str, Any]:
        ranges = {n: k for n, k in _RANGE_KEYS.items() if operator.kind == "filter" and n not in operator.params}
        specs: dict[str, Any] = {TEXT_KEY: _TEXT_KEY, **ranges, **operator.params}
        params = {name: _default(spec) for name, spec in {**operator.params, **ranges}.items()}
        for name, entry in entries.items():
            label = f"{operator.name}.{name}"
            if _is_resource(operator, name):
                continue
            if name in specs:
                value = self._value(operator, name, entry.node, specs[name], label)
                if value in getattr(specs[name], "default_for", ()):
                    value = _default_with(specs[name], params)
                if name in params or value is not None:
                    params[name] = value
            else:
                self._unknown(operator, name, entry.place, specs)
        for name, spec in operator.params.items():
            if name not in entries:
                params[name] = _default_with(spec, params)
        self.assets.fill(operator.name, params, operator.params, place, self.problems)
        for name, param in operator.params.items():
            if getattr(param, "required", False) and name not in entries and params[name] is None:
                self.problems.add(place, f"{operator.name} needs {name}", f"Write {name}: ... below it.")
        return located_params(params, operator.params)

    def _value(self, operator: OperatorLike, name: str, node: Node, spec: Any, label: str) -> Any:
        """The value of a parameter, or its values by a column."""
        if operator.kind == "deduplicator" or name not in operator.params or not is_by_column(node, spec):
            return take(node, spec, label, self.problems)
        assert isinstance(node, Mapping)
        return take_by_column(node, spec, label, name, self.problems)

    def _resources(self, operator: OperatorLike, entries: Given) -> dict[str, Any]:
        """Resources that the recipe gives the step, by their newer names."""
        resources: dict[str, Any] = {}
        for name, entry in entries.items():
            if not _is_resource(operator, name):
                continue
            label, key = f"{operator.name}.{name}", RESOURCE_ALIASES.get(name, name)
            value = take(entry.node, RESOURCE_PARAMS[key], label, self.problems)
            if wrong := problem_with(key, value):
                self.problems.add(entry.node.place, f"{label} {wrong}, not {value:g}")
            if key in resources and resources[key] != value:
                self.problems.add(
                    entry.place, f"{label} and {key} are one key, with different values", "Leave one out."
                )
            elif value is not None:
                resources[key] = value
            if value is not None and (reason := without_effect(operator, key)):
                self._note_once(operator, name, entry.place, reason)
        return resources

    def _note_once(self, operator: OperatorLike, name: str, place: SourcePlace, reason: str) -> None:
        if name not in self.noted:
            self.noted.add(name)
            self.notes.append((place, f"{operator.name}.{name} has no effect: {reason}"))

    def _unknown(self, operator: OperatorLike, name: str, place: SourcePlace, specs: AnyMapping[str, Any]) -> None:
        reason = BASE_PARAMS.get(name) or ("only filters have a range" if name in RANGE_PARAMS else None)
        if reason is None:
            own = ", ".join(operator.params)
            beside = f"A name of the step stands beside {operator.name}, not below it." if name == NAME else ""
            near = beside or suggestion(name, specs) or (f"It has {own}." if own else "It has none.")
            self.problems.add(place, f"{operator.name} has no parameter {name!r}", near)
        else:
            self._note_once(operator, name, place, reason)

    def _check(self, operator: OperatorLike, params: dict[str, Any], entries: Given, place: SourcePlace) -> None:
        for low, high in dict.fromkeys(map(tuple, operator.bounds.values())):  # statistics may share their bounds
            self._check_bounds(operator.name, low, high, params, entries)
        self.notes += [
            (entries[param].node.place, text) for param, text in unreachable_bounds(operator, params, entries)
        ]
        for module, extra in getattr(operator, "needs", {}).items():
            if find_spec(module.partition(".")[0]) is None:
                hint = f"Install it: {install_command(extra)}"
                self.problems.add(place, f"{operator.name} needs the Python package {module}", hint)
                return
        for sentence in dict.fromkeys(sentence for one in by_text(params) for sentence in operator.check(one)):
            self.problems.add(place, f"{operator.name}: {sentence}")

    def _check_bounds(
        self, name: str, low: str | None, high: str | None, params: dict[str, Any], entries: Given
    ) -> None:
        """Add a note if no value lies between two bounds: Data-Juicer runs such recipes, so refinery does too."""
        if low is None or high is None:
            return
        least, most = params.get(low), params.get(high)
        kept = kept_range(params, low, high)
        if not all(isinstance(end.value, (int, float)) for end in kept.ends) or not kept.empty:
            return
        places = [entries[param].node.place for param in (low, high) if param in entries]
        if places:
            ends = (f"{low} is {least}{_by_default(low, entries)}", f"{high} is {most}{_by_default(high, entries)}")
            text = f"{name}: {' and '.join(ends)}: no value lies between them, so {_of_no_range(kept)}"
            self.notes.append((max(places, key=order), text))


def _is_resource(operator: OperatorLike, name: str) -> bool:
    """Return whether a parameter is a resource; an operator may have a parameter of its own with such a name."""
    return RESOURCE_ALIASES.get(name, name) in RESOURCE_PARAMS and name not in operator.params


def _by_default(param: str, entries: Given) -> str:
    return "" if param in entries else " by default"


def _of_no_range(kept: KeptRange) -> str:
    """The result of a filter whose range is empty."""
    return "reversed_range keeps every sample" if kept.reversed else ALL_REMOVED


def _default(spec: Any) -> Any:
    """A parameter's default in the type of a given value."""
    if spec.type == "float" and isinstance(spec.default, int):
        return float(spec.default)
    return tuple(spec.default) if isinstance(spec.default, list) else spec.default


def _default_with(spec: Any, params: AnyMapping[str, Any]) -> Any:
    """A parameter's default, which may depend on other parameters."""
    for rule in getattr(spec, "default_when", ()):
        if all(params.get(name) == value for name, value in rule["when"].items()):
            return rule["default"]
    return _default(spec)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Mapping) or (isinstance(node, Scalar) and node.value is None)


def check_names(
    label: str,
    names: AnySequence[str],
    place: SourcePlace,
    steps: AnySequence[str],
    library: LibraryLike,
    problems: Problems,
) -> list[str]:
    """Check a list of operators' names against the recipe's steps.

    An unknown name is a problem. Returns the names of operators that the recipe does not use.
    """
    unused = []
    for name in names:
        if name in steps:
            continue
        if name in library.operators or name in DATA_JUICER_OPERATORS:
            unused.append(name)
        else:
            near = suggestion(name, steps) or suggestion(name, library.operators)
            problems.add(place, f"{label} names {name!r}, which is no operator", near)
    return unused
