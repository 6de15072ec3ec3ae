"""The whole way of one sample: every step with its effect, and the texts before and after as a word difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.common.fields import field_name, keys_of
from refinery.inspect.browse.input_rows import member
from refinery.inspect.browse.word_diff import Piece, word_diff
from refinery.inspect.why.query import Event, RowHistories, RowHistory


@dataclass(frozen=True)
class EventDiff:
    """One step's event, and the difference of its texts if it changed the sample."""

    event: Event
    diff: tuple[Piece, ...] | None


@dataclass(frozen=True)
class FieldDiff:
    """A text field from the input to the end of the sample's way. changed_by: steps that changed it."""

    field: str
    diff: tuple[Piece, ...]
    changed_by: tuple[int, ...]


@dataclass(frozen=True)
class SampleWay:
    """A sample's history, the difference that each step made, and the difference of each whole text."""

    history: RowHistory
    events: tuple[EventDiff, ...]
    fields: tuple[FieldDiff, ...]


def sample_way(histories: RowHistories, row: int) -> SampleWay:
    """Recompute the way of a row. Raises DataError when the run had no such row."""
    history = histories.of(row)
    events = tuple(EventDiff(event, _diff(event)) for event in history.events)
    return SampleWay(history, events, tuple(_fields(histories, history)))


def _diff(event: Event) -> tuple[Piece, ...] | None:
    if event.before is None and event.after is None:
        return None
    return tuple(word_diff(event.before or "", event.after or ""))


def _fields(histories: RowHistories, history: RowHistory) -> list[FieldDiff]:
    """The text field of the recipe, and fields that steps with a field of their own changed."""
    recipe = histories.prepared.recipe
    own = {step.index: step.params.get("text_key") for step in recipe.steps}
    main = keys_of(recipe.text_key)
    ends: dict[tuple[str, ...], list[Event]] = {main: []}
    for event in history.events:
        if event.before is not None or event.after is not None:
            key = own[event.step]
            ends.setdefault(keys_of(key) if key else main, []).append(event)
    return [diff for keys, events in ends.items() if (diff := _field(history.sample, keys, events)) is not None]


def _field(sample: Any, keys: tuple[str, ...], events: list[Event]) -> FieldDiff | None:
    before = events[0].before if events else member(sample, keys)
    after = events[-1].after if events else before
    if not isinstance(before, str) and not isinstance(after, str):
        return None
    diff = word_diff(_text(before), _text(after))
    return FieldDiff(field_name(keys), tuple(diff), tuple(event.step for event in events))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
