"""Handles: bounds to move that are no single parameter, but values by a column, or numbers and texts in an SQL condition."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.compiler.model import Chain
from refinery.compiler.templates import ident, lit
from refinery.errors import Problem, RecipeError, RefineryError
from refinery.explore.comparisons import comparisons, equalities, memberships
from refinery.explore.places import Place, Value, values_of, with_values
from refinery.inspect.tune_values import read_values
from refinery.inspect.tuned_filter import TunedFilter
from refinery.operators.bounds import is_unlimited
from refinery.recipe.by_column import ByColumn

# Texts of a column that a handle's name lists, and most handles of a parameter.
_NAMED, _MOST = 3, 50
# Statistics that a list of numbers is for.
_WHOLE = ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "SMALLINT", "TINYINT")
# Texts of a column that `refinery refilter --set` can name.
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Handle:
    """One number of a parameter that has several, or a value that an SQL condition compares a statistic with.

    name: unique in the filter. statistics, side: what it bounds; none for `=`, `<>` and `IN`. value: in the run. texts: of a column, which get
    this value; None stands for all others. among: SQL for the samples to which it applies. start, end: place in an SQL condition.
    column: the statistic of a list.
    """

    name: str
    parameter: str
    statistics: tuple[str, ...]
    side: str | None
    value: Value
    texts: tuple[str | None, ...] = ()
    among: str = "TRUE"
    start: int = 0
    end: int = 0
    column: str = ""

    @property
    def kind(self) -> str:
        """Type of the value in the run: int, float, str, or set for a list."""
        return "set" if isinstance(self.value, tuple) else type(self.value).__name__


def handles_of(tuned: TunedFilter) -> list[Handle]:
    """The handles of a filter; none where stored statistics cannot tell samples apart."""
    return [*_by_column(tuned), *_in_condition(tuned)]


def _by_column(tuned: TunedFilter) -> list[Handle]:
    """A handle for each different value: the run has stored the value of each sample, not the text that it stands under."""
    handles = list[Handle]()
    for name, column in tuned.chain.bounds.get(tuned.step.index, {}).items() if not tuned.by_condition else ():
        ends = [(stat.column, side) for stat in tuned.stats for end, side in ((stat.low, "low"), (stat.high, "high")) if end == name]  # fmt: skip
        by_text = tuned.step.params[name]
        if not ends or not all(map(_PLAIN.fullmatch, by_text["values"])):
            continue
        for value, texts in _groups(by_text).items():
            statistics, among = tuple(column for column, _ in ends), f"{ident(column)} = {lit(value)}"
            handles.append(Handle(f"{name} of {_named(texts)}", name, statistics, ends[0][1], value, texts, among))
    return handles if len(handles) <= _MOST else []


def _groups(value: ByColumn) -> dict[int | float, tuple[str | None, ...]]:
    """Texts by their value, without "no bound"; None is the text of the default."""
    groups: dict[int | float, tuple[str | None, ...]] = {}
    for text in (*value["values"], None):
        if not is_unlimited(number := value.of(text)) and isinstance(number, int | float):
            groups[number] = (*groups.get(number, ()), text)
    return groups


def _named(texts: Sequence[str | None]) -> str:
    names = ["others" if text is None else text for text in texts]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _in_condition(tuned: TunedFilter) -> list[Handle]:
    """A handle for each number of an SQL condition that a stored statistic is compared with."""
    predicate = tuned.chain.predicates.get(tuned.step.index)
    text = tuned.step.params.get(predicate.parameter) if predicate is not None else None
    if predicate is None or not isinstance(text, str):
        return []
    values = values_of(text)
    marks = {_mark(at, value): place for at, (place, value) in enumerate(values.items())}
    marked = with_values(text, {place: mark for mark, place in marks.items()})
    try:
        chains = tuned.stored.compiled({tuned.step.index: {**tuned.step.params, predicate.parameter: marked}})
    except RefineryError:
        return []
    chain = _of_step(chains, tuned)
    return _named_apart(
        tuned, predicate.parameter, values, [*_at_ends(chain, tuned, marks), *_compared(chain, tuned, marks)]
    )


def _mark(at: int, value: Value) -> Value:
    """A value of the same type that occurs nowhere else."""
    if isinstance(value, tuple):
        return tuple(_single_mark(at, one) for one in value[:1])
    return _single_mark(at, value)


def _single_mark(at: int, value: int | float | str) -> int | str:
    return f"mark {at}" if isinstance(value, str) else 1_000_003 + 17 * at


def _of_step(chains: Sequence[Chain], tuned: TunedFilter) -> Chain:
    return next(chain for chain in chains if tuned.step.index in chain.alive)


def _at_ends(
    chain: Chain, tuned: TunedFilter, marks: Mapping[Any, Place]
) -> Iterator[tuple[str, str, str | None, Place]]:
    """Column, name and side of each number that is an end of a range, with its place."""
    for column, side, number in comparisons(chain, tuned):
        if number in marks:
            yield column, f"{column} {'from' if side == 'low' else 'to'}", side, marks[number]


def _compared(
    chain: Chain, tuned: TunedFilter, marks: Mapping[Any, Place]
) -> Iterator[tuple[str, str, str | None, Place]]:
    """Column and name of each value behind `=` or `<>`, and of each list behind `IN`, with its place."""
    for column, sign, value in (*equalities(chain, tuned), *memberships(chain, tuned)):
        if value in marks:
            yield column, f"{column} {sign}", None, marks[value]


def _named_apart(
    tuned: TunedFilter,
    parameter: str,
    values: Mapping[Place, Value],
    compared: Sequence[tuple[str, str, str | None, Place]],
) -> list[Handle]:
    handles: dict[str, Handle] = {}
    for column, name, side, place in compared:
        if column not in tuned.stored.columns["stats"]:
            continue
        name = name if name not in handles else f"{name} ({len(handles) + 1})"
        bounded, listed = (column,) if side is not None else (), isinstance(values[place], tuple)
        if listed and not _fits(values[place], tuned.stored.columns["stats"][column]):
            continue
        handles[name] = Handle(
            name, parameter, bounded, side, values[place], start=place[0], end=place[1], column=column if listed else ""
        )
    return list(handles.values()) if len(handles) <= _MOST else []


def _fits(values: Any, kind: str) -> bool:
    """True if values of a list are of the type of a statistic."""
    return kind in _WHOLE if isinstance(values[0], int) else kind == "VARCHAR"


def combined(tuned: TunedFilter, handles: Mapping[str, Handle], moved: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters for moved handles, by name. Raises RecipeError for a value that the recipe would refuse."""
    values: dict[str, Any] = {}
    in_conditions: dict[str, dict[Place, Value]] = {}
    for name, value in moved.items():
        handle = handles[name]
        if handle.texts:
            known = values.get(handle.parameter, tuned.step.params[handle.parameter])
            values[handle.parameter] = _with_value(known, handle.texts, _read(tuned, handle, value))
        else:
            in_conditions.setdefault(handle.parameter, {})[handle.start, handle.end] = _checked(handle, value)
    texts = {name: with_values(tuned.step.params[name], places) for name, places in in_conditions.items()}
    return values | texts


def _with_value(known: ByColumn, texts: Sequence[str | None], value: Any) -> ByColumn:
    own = {text: value if text in texts else number for text, number in known["values"].items()}
    return ByColumn(known.column, own, value if None in texts else known["default"])


def _read(tuned: TunedFilter, handle: Handle, value: Any) -> Any:
    text = repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    if "," in text or ".." in text or value is None:
        raise RecipeError([Problem(handle.name, f"{text!r} is not one value")])
    [read] = read_values(tuned.spec.params[handle.parameter], text)
    return read


def _checked(handle: Handle, value: Any) -> Value:
    """A value for a place in an SQL condition, of the kind that is there. Raises RecipeError."""
    if not isinstance(handle.value, tuple):
        return _single(handle, value, handle.value)
    if not isinstance(value, list) or not value:
        raise RecipeError([Problem(handle.name, "needs at least one value")])
    members = tuple(_single(handle, one, handle.value[0]) for one in value)
    if not all(type(one) is type(handle.value[0]) for one in members):
        raise RecipeError([Problem(handle.name, "has whole numbers only")])
    return members


def _single(handle: Handle, value: Any, old: int | float | str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if isinstance(old, str) and not isinstance(value, str):
        raise RecipeError([Problem(handle.name, f"{value!r} is no text")])
    if not isinstance(old, str) and not is_number:
        raise RecipeError([Problem(handle.name, f"{value!r} is no number")])
    return value
