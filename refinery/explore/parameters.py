"""Parameters of a filter that can be moved: their values, and the statistic that each of them bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refinery.errors import Problem, RecipeError, RefineryError
from refinery.explore.comparisons import comparisons
from refinery.explore.handles import Handle, combined
from refinery.inspect.tune_values import read_values
from refinery.inspect.tuned_filter import TunedFilter
from refinery.operators import RANGE_PARAMS
from refinery.operators.bounds import UNBOUNDED, FilterBound, is_unlimited
from refinery.recipe.by_column import ByColumn


def parameters_of(tuned: TunedFilter, handles: Sequence[Handle] = ()) -> list[dict[str, Any]]:
    """The parameters as plain data, in the order of the operator's header.

    statistics, side: what it bounds, as far as known. value: null without a bound; unlimited: no value reaches it. by_column:
    values by text of a column, which cannot be moved. handles: follow, in place of their parameters.
    """
    bounded = _bounded_in_conditions(tuned) if tuned.by_condition else _bounded(tuned)
    names = [name for name in tuned.spec.params if name in tuned.parameters]
    apart = {handle.parameter for handle in handles}
    whole = [_parameter(tuned, name, bounded.get(name, [])) for name in names if name not in apart]
    return [*whole, *(_of_handle(tuned, handle) for handle in handles)]


def _of_handle(tuned: TunedFilter, handle: Handle) -> dict[str, Any]:
    """A handle as the parameter that it looks like on the page."""
    spec = tuned.spec.params[handle.parameter]
    by_text = bool(handle.texts)
    return {
        "name": handle.name,
        "type": spec.type if by_text else handle.kind,
        "doc": spec.doc,
        "value": handle.value,
        "column": handle.column,
        "statistics": list(handle.statistics),
        "side": handle.side,
        "min": spec.min if by_text else None,
        "max": spec.max if by_text else None,
        "can_be_off": False,
        "by_column": None,
        "among": handle.among,
    }


def switches_of(tuned: TunedFilter) -> list[dict[str, Any]]:
    """The switches of a range, `reversed_range` and its like."""
    if tuned.by_condition or not tuned.parameters:
        return []
    return [
        {"name": name, "value": bool(tuned.step.params.get(name, spec["default"])), "doc": spec["doc"]}
        for name, spec in RANGE_PARAMS.items()
    ]


def _parameter(tuned: TunedFilter, name: str, ends: Sequence[tuple[str, str]]) -> dict[str, Any]:
    spec, value = tuned.spec.params[name], tuned.step.params.get(name)
    by_column = None
    if isinstance(value, ByColumn):
        by_column = {"column": value.column, "values": dict(value["values"]), "default": value["default"]}
        value = None
    unlimited = value is None or is_unlimited(value)
    side = ends[0][1] if ends else None
    return {
        "name": name,
        "type": spec.type,
        "doc": spec.doc,
        "value": None if unlimited else value,
        "statistics": list(dict.fromkeys(column for column, _ in ends)),
        "side": side,
        "min": spec.min,
        "max": spec.max,
        "can_be_off": spec.nullable or side == "high" or unlimited,
        "by_column": by_column,
        "among": "TRUE",
    }


# The statistics that a parameter bounds, each with the side.
Bounded = dict[str, list[tuple[str, str]]]


def _bounded(tuned: TunedFilter) -> Bounded:
    bounded: Bounded = {}
    for stat in tuned.stats:
        for name, side in ((stat.low, "low"), (stat.high, "high")):
            if name:
                bounded.setdefault(name, []).append((stat.column, side))
    return bounded


def _bounded_in_conditions(tuned: TunedFilter) -> Bounded:
    """The expression that each parameter of a condition is compared with: seen when all of them have values that occur nowhere else."""
    moved = {name: 1_000_003 + 17 * at for at, name in enumerate(tuned.parameters) if name not in tuned.by_column}
    try:
        chains = tuned.stored.compiled({tuned.step.index: {**tuned.step.params, **moved}})
    except RefineryError:
        return {}
    names = {float(value): name for name, value in moved.items()}
    chain = next(chain for chain in chains if tuned.step.index in chain.alive)
    stats = {stat.column for stat in tuned.stats}
    bounded: Bounded = {}
    for column, side, number in comparisons(chain, tuned):
        if number in names and column in stats:
            bounded.setdefault(names[number], []).append((column, side))
    return bounded


def ends_of(parameters: list[dict[str, Any]], column: str) -> list[FilterBound]:
    """The bounds in force of one statistic."""
    return [
        FilterBound(known["name"], float(known["value"]))
        for known in parameters
        if column in known["statistics"] and known["value"] is not None
    ]


def read_moved(tuned: TunedFilter, moved: Mapping[str, Any], handles: Sequence[Handle] = ()) -> dict[str, Any]:
    """Values from the page, as the recipe would have them. Raises RecipeError for names or values that it would refuse.

    null is "no bound": null where the parameter may be null, else no limit. handles: of the filter.
    """
    ranged = {} if tuned.by_condition else RANGE_PARAMS
    known = {handle.name: handle for handle in handles}
    values = combined(tuned, known, {name: value for name, value in moved.items() if name in known})
    for name, value in moved.items():
        if name in known:
            continue
        if name not in tuned.parameters and not (tuned.parameters and name in ranged):
            raise RecipeError([Problem(name, f"is no bound of {tuned.step.name}")])
        if name in tuned.by_column:
            raise RecipeError([Problem(name, "depends on a column, so there is no one value to try")])
        values[name] = _read(tuned, name, value)
    _require_order(tuned, values)
    return values


def _read(tuned: TunedFilter, name: str, value: Any) -> Any:
    spec = tuned.spec.params[name]
    if value is None:
        return None if spec.nullable else _no_limit(tuned, name)
    text = (
        str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, int | float) else str(value)
    )
    if "," in text or ".." in text:
        raise RecipeError([Problem(name, f"{text!r} is not one value")])
    [read] = read_values(spec, text)
    return read


def _no_limit(tuned: TunedFilter, name: str) -> Any:
    in_force = tuned.step.params.get(name)
    if is_unlimited(in_force):
        return in_force
    sides = {low: "low" for low in (stat.low for stat in tuned.stats) if low}
    if sides.get(name) == "low":
        raise RecipeError([Problem(name, "cannot be switched off; give it a value below all others")])
    spec = tuned.spec.params[name]
    return spec.default if is_unlimited(spec.default) else UNBOUNDED


def _require_order(tuned: TunedFilter, values: Mapping[str, Any]) -> None:
    for stat in tuned.stats:
        if stat.range_by({**tuned.step.params, **values}).crossed:
            raise RecipeError([Problem(str(stat.low), f"is above {stat.high}")])
