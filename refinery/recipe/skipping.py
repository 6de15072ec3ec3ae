"""`--skip`: steps that a command leaves out of its recipe, by number, name or operator."""

from __future__ import annotations

from collections.abc import Sequence as AnySequence
from typing import Any

from refinery.errors import suggestion
from refinery.recipe.model import Note
from refinery.recipe.override import SKIP, Override
from refinery.recipe.step_items import called, steps_called
from refinery.recipe.tree import Entry, Mapping, Problems, Sequence, SourcePlace


def skip_steps(
    root: Mapping, overrides: AnySequence[Override], problems: Problems
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Take steps out of `process:`, which is a list. Returns their labels, `3 fix_unicode_mapper`, and a note on each."""
    entry = root.entries.get("process")
    names = [name for override in overrides if override.path == (SKIP,) for name in _names(override.value)]
    if not names or entry is None or not isinstance(entry.node, Sequence):
        return (), ()
    steps = [called(item) for item in entry.node.items]
    numbers: dict[int, None] = {}
    for name in names:
        matches = [int(name[:9])] if name.isdecimal() else steps_called(name, steps)
        if not matches:
            known = [known for pair in steps for known in pair if known]
            problems.add(SourcePlace("--skip"), f"the recipe has no step {name!r}", suggestion(name, known))
        elif not 1 <= matches[0] <= len(steps):
            problems.add(SourcePlace("--skip"), f"there is no step {name}: process has {len(steps)}")
        else:
            numbers |= dict.fromkeys(matches)
    labels, notes = [], []
    for number in sorted(numbers):
        operator, title = steps[number - 1]
        labels.append(f"{number} {operator or ''}{f' ({title})' if title else ''}".rstrip())
        place = entry.node.items[number - 1].place
        notes.append(Note(str(place), f"step {labels[-1]} is skipped; the steps after it have lower numbers"))
    left = [item for number, item in enumerate(entry.node.items, 1) if number not in numbers]
    root.entries["process"] = Entry(entry.place, Sequence(left, entry.node.place))
    return tuple(labels), tuple(notes)


def _names(value: Any) -> list[str]:
    """The names of one option or argument: a text, a number, or a list of them."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [str(item).strip() for item in items]
