"""Items of `process:`: an operator with its parameters, and beside it the name of the step."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence as AnySequence

from refinery.recipe.tree import Entry, Mapping, Node, Problems, Scalar, SourcePlace, describe

# The key of an item that is no operator.
NAME = "name"
# Kinds of characters that no name holds: controls with line breaks and NUL, halves of characters, line separators.
_REFUSED = {"Cc", "Cs", "Zl", "Zp"}
_EXAMPLE = "Write a text such as name: too short, or leave it out."

# An operator and the name of its step, if any; None for an item that is not one operator.
Called = tuple[str | None, str | None]


def operator_of(item: Node) -> tuple[str, Entry] | None:
    """Operator name and parameters of an item of `process:`; None if the item is not one operator."""
    if isinstance(item, Scalar) and item.value is not None and item.text:
        return item.text, Entry(item.place, Scalar(None, None, item.place))
    if isinstance(item, Mapping) and len(without_name(item)) == 1:
        return next(iter(without_name(item).items()))
    return None


def without_name(item: Mapping) -> dict[str, Entry]:
    """The keys of an item but the name of the step. A key that stands alone is an operator, whatever it is called."""
    return {key: entry for key, entry in item.entries.items() if key != NAME or len(item.entries) == 1}


def name_of(item: Node) -> Entry | None:
    """The name of a step, which stands beside its operator; None for a step without one."""
    return item.entries.get(NAME) if isinstance(item, Mapping) and len(item.entries) > 1 else None


def called(item: Node) -> Called:
    """The operator of an item, and the name of the step as it is written."""
    operator, entry = operator_of(item), name_of(item)
    text = entry.node.value if entry is not None and isinstance(entry.node, Scalar) else None
    return operator[0] if operator else None, text.strip() if isinstance(text, str) else None


def read_names(items: AnySequence[Node], problems: Problems) -> dict[int, str]:
    """Read the valid names of the steps, by number. Each is the only one of a step, and no other step's operator."""
    operators = [operator_item[0] if (operator_item := operator_of(item)) else None for item in items]
    names, places = dict[int, str](), dict[str, tuple[int, SourcePlace]]()
    for number, item in enumerate(items, 1):
        entry = name_of(item)
        name = _text(entry, problems) if entry is not None else None
        if entry is None or name is None:
            continue
        place, key = entry.node.place, folded(name)
        others = [n for n, operator in enumerate(operators, 1) if n != number and operator and folded(operator) == key]
        if key in places:
            first, where = places[key]
            problems.add(place, f"{name!r} is also the name of step {first} ({where})", "Give every step another name.")
        elif others:
            what = f"step {number} has the name {name!r}, which is the operator of step {others[0]}"
            problems.add(place, what, "A name must not be taken for another step: choose another.")
        else:
            names[number] = name
        places.setdefault(key, (number, place))
    return names


def _text(entry: Entry, problems: Problems) -> str | None:
    """A name as text without blanks around it; None, with a problem, for what is no name."""
    node, place = entry.node, entry.node.place
    if (isinstance(node, Scalar) and node.broken) or any(place == reported for reported, _ in problems.found):
        return None  # reported already
    wrong = _wrong(node)
    if wrong is not None:
        problems.add(place, *wrong)
        return None
    assert isinstance(node, Scalar)
    return str(node.value).strip()


def _wrong(node: Node) -> tuple[str, str] | None:
    """The problem of a value as a name, and the cure; None for a name."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str | None):
        hint = "Put it in quotes." if isinstance(node, Scalar) and node.text is not None else _EXAMPLE
        return f"the name of a step must be a text, not {describe(node)}", hint
    name = node.value or ""
    odd = next((character for character in name if unicodedata.category(character) in _REFUSED), None)
    if odd is not None:
        what = f"the name of a step holds U+{ord(odd):04X}, a line break or control character"
        return what, "Write it on one line, without control characters."
    if not name.strip():
        return "the name of a step is empty", _EXAMPLE
    if name.strip().isdecimal():
        return f"the name of a step is a number, {name.strip()}", "Add a word: a number means the step at that place."
    return None


def folded(text: str) -> str:
    """A name as paths of options have it: dashes are underscores, and blanks around dots do not count."""
    return ".".join(part.strip().replace("-", "_") for part in text.split("."))


def steps_called(text: str, steps: AnySequence[Called]) -> list[int]:
    """The numbers of the steps that have this operator or name."""
    key = folded(text)
    return [number for number, names in enumerate(steps, 1) if key in {folded(name) for name in names if name}]


def begin_of(path: AnySequence[str], steps: AnySequence[Called]) -> tuple[list[int], list[str]]:
    """The steps that a path such as `3.max_num` or `too short.max_num` begins with, and the rest of the path.

    A name may hold dots, so the longest beginning that is one counts. A number stands for a step even if there is none.
    """
    if path[0].isdecimal():
        return [int(path[0][:9])], list(path[1:])
    for length in range(len(path), 0, -1):
        numbers = steps_called(".".join(path[:length]), steps)
        if numbers:
            return numbers, list(path[length:])
    return [], list(path[1:])
