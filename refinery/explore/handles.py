"""Handles: bounds to move that are no single parameter, but values by a column, or numbers in an SQL condition."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.compiler.model import Chain
from refinery.compiler.templates import ident, lit
from refinery.errors import Problem, RecipeError, RefineryError
from refinery.explore.comparisons import comparisons
from refinery.inspect.tune_values import read_values
from refinery.inspect.tuned_filter import TunedFilter
from refinery.operators.bounds import is_unlimited
from refinery.recipe.by_column import ByColumn

# Texts of a column that a handle's name lists, and most handles of a parameter.
_NAMED, _MOST = 3, 50
# Texts of a column that `refinery refilter --set` can name.
_PLAIN = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Handle:
    """One number of a parameter that has several.

    name: unique in the filter. statistics, side: what it bounds. value: in the run. texts: of a column, which get this value; None stands for
    all others. among: SQL for the samples to which it applies. start, end: place of the number in an SQL condition.
    """

    name: str
    parameter: str
    statistics: tuple[str, ...]
    side: str
    value: int | float
    texts: tuple[str | None, ...] = ()
    among: str = "TRUE"
    start: int = 0
    end: int = 0

    @property
    def is_whole(self) -> bool:
        """True if the number in the run is a whole one."""
        return isinstance(self.value, int)


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
    places = _numbers(text)
    marks = {1_000_003 + 17 * at: place for at, place in enumerate(places)}
    marked = _with_numbers(text, dict(zip(places, map(str, marks), strict=True)))
    try:
        chains = tuned.stored.compiled({tuned.step.index: {**tuned.step.params, predicate.parameter: marked}})
    except RefineryError:
        return []
    return _named_apart(tuned, predicate.parameter, text, _of_step(chains, tuned), marks)


def _of_step(chains: Sequence[Chain], tuned: TunedFilter) -> Chain:
    return next(chain for chain in chains if tuned.step.index in chain.alive)


def _named_apart(
    tuned: TunedFilter, parameter: str, text: str, chain: Chain, marks: Mapping[int, tuple[int, int]]
) -> list[Handle]:
    handles: dict[str, Handle] = {}
    for column, side, number in comparisons(chain, tuned):
        if number not in marks or column not in tuned.stored.columns["stats"]:
            continue
        start, end = marks[int(number)]
        name = f"{column} {'from' if side == 'low' else 'to'}"
        name = name if name not in handles else f"{name} ({len(handles) + 1})"
        handles[name] = Handle(name, parameter, (column,), side, _number(text[start:end]), start=start, end=end)
    return list(handles.values()) if len(handles) <= _MOST else []


def _numbers(text: str) -> list[tuple[int, int]]:
    """Places of the numbers in an SQL condition, in order."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return []
    places = [(token.start, token.end + 1) for token in tokens if token.token_type.name == "NUMBER"]
    return [(start, end) for start, end in places if _is_number(text[start:end])]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def _with_numbers(text: str, numbers: Mapping[tuple[int, int], str]) -> str:
    """An SQL condition with other numbers at some places."""
    for (start, end), number in sorted(numbers.items(), reverse=True):
        text = f"{text[:start]}{number}{text[end:]}"
    return text


def combined(tuned: TunedFilter, handles: Mapping[str, Handle], moved: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters for moved handles, by name. Raises RecipeError for a value that the recipe would refuse."""
    values: dict[str, Any] = {}
    numbers: dict[str, dict[tuple[int, int], str]] = {}
    for name, value in moved.items():
        handle = handles[name]
        if handle.texts:
            known = values.get(handle.parameter, tuned.step.params[handle.parameter])
            values[handle.parameter] = _with_value(known, handle.texts, _read(tuned, handle, value))
        else:
            numbers.setdefault(handle.parameter, {})[handle.start, handle.end] = _written(name, value)
    texts = {name: _with_numbers(tuned.step.params[name], places) for name, places in numbers.items()}
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


def _written(name: str, value: Any) -> str:
    """A number as SQL; in brackets below 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number:
        raise RecipeError([Problem(name, f"{value!r} is no number")])
    return f"({value!r})" if value < 0 else repr(value)
