"""Trials of other bounds of a filter on the stored statistics of a run: rows and bytes kept; no text is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from refinery.compiler.model import Stat
from refinery.compiler.templates import ident, template
from refinery.errors import Problem, RecipeError, did_you_mean
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune_values import read_values
from refinery.inspect.tuned_filter import TunedFilter
from refinery.operators import RANGE_PARAMS, read_sql

# A grid of more combinations is a mistake.
_MOST = 1000


@dataclass(frozen=True)
class KeptAmount:
    """Samples and the UTF-8 bytes of their texts."""

    rows: int
    bytes: int


@dataclass(frozen=True)
class Trial:
    """Samples that one combination of values would keep.

    alone: kept by this filter, among the samples that it received; bytes of the text before the filter. together: kept
    by all steps; bytes of the exported text. unsure: samples that the filter removed and would keep now, whose
    statistics of later steps are not stored, or which a later deduplicator has not seen; not in `together`.
    """

    params: dict[str, Any]
    in_force: bool
    alone: KeptAmount
    together: KeptAmount
    unsure: KeptAmount


@dataclass(frozen=True)
class Tuning:
    """Trials of one step, in the order of their values.

    rows: samples read. stored: samples with stored statistics. removed_before, quarantined: the other samples. notes:
    limits of the figures.
    """

    run: str
    step: int
    operator: str
    name: str | None
    statistics: tuple[str, ...]
    rows: int
    stored: int
    removed_before: int
    quarantined: int
    trials: tuple[Trial, ...]
    notes: tuple[str, ...]


def tune(stored: FinishedRun, operator: str, texts: Sequence[str]) -> Tuning:
    """Try values for parameters of a filter.

    operator: the step's operator, its name or its number. texts: `min_num=10..200`; several make a grid. Raises RecipeError for a
    step or parameter that cannot be tried this way, with the command that can.
    """
    tuned = TunedFilter.of(stored, operator)
    tried = _values(tuned, texts)
    _require_one_bound(tuned, tried)
    combinations = _combinations(tuned, tried)
    trials = _counted_by_condition(tuned, combinations) if tuned.by_condition else _counted(tuned, combinations)
    return _tuning(tuned, trials)


def _values(tuned: TunedFilter, texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values to try for each parameter, in order, including the value in force."""
    stored, step, spec = tuned.stored, tuned.step, tuned.spec
    known = tuned.parameters if tuned.by_condition or not tuned.parameters else [*tuned.parameters, *RANGE_PARAMS]
    again = f"refinery run {stored.run_dir.recipe} --set process.{step.index}"
    values_by_param: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not values.strip():
            problem = Problem("--param", f"{text!r} is not name=values", "Write --param min_num=10..200.")
            raise RecipeError([problem])
        if name not in known:
            which = f"It has {', '.join(known)}" if known else "Its condition is SQL, or has no bounds"
            if name in spec.params:
                what, cure = (
                    f"{name} of {step.name} is no bound",
                    f"{which}; {again}.{name}=... runs again with another.",
                )
            else:
                what = f"{step.name} has no bound {name!r}{did_you_mean(name, known)}"
                cure = f"{which}."
            raise RecipeError([Problem("--param", what, cure)])
        values_here = values_by_param.setdefault(name, [])
        values_here += [value for value in read_values(spec.params[name], values) if value not in values_here]
    if not values_by_param:
        raise RecipeError([Problem("--param", "nothing to try", f"Write --param {known[0] if known else 'name'}=...")])
    for name, values_here in values_by_param.items():
        in_force = step.params.get(name)
        if in_force not in values_here and in_force is not None:
            values_here.append(in_force)
        values_here.sort(key=_order)
    return values_by_param


def _require_one_bound(tuned: TunedFilter, tried: Mapping[str, Any]) -> None:
    """Raise RecipeError if a bound of a tried statistic depends on a column: then there is no one bound to try."""
    for stat in tuned.stats:
        ends = {stat.low, stat.high} & tuned.by_column
        if ends and {stat.low, stat.high} & {*tried}:
            what = f"{min(map(str, ends))} of {tuned.step.name} depends on a column, so there is no one bound to try"
            raise RecipeError(
                [Problem("--param", what, "Change the values in the recipe, and run `refinery refilter`.")]
            )


def _order(value: Any) -> tuple[bool, float]:
    return (value is None, 0.0 if value is None else float(value))


def _combinations(tuned: TunedFilter, tried: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of values, except those whose lower bound is above the upper bound."""
    names = list(tried)
    combinations = [dict(zip(names, values, strict=True)) for values in product(*tried.values())]
    combinations = [
        values
        for values in combinations
        if not any(stat.range_by({**tuned.step.params, **values}).crossed for stat in tuned.stats)
    ]
    if len(combinations) > _MOST:
        raise RecipeError(
            [Problem("--param", f"that is {len(combinations):,} combinations", f"At most {_MOST:,} are tried.")]
        )
    if not combinations:
        raise RecipeError([Problem("--param", "every lower bound is above its upper bound")])
    return combinations


def _counted(tuned: TunedFilter, combinations: Sequence[dict[str, Any]]) -> list[Trial]:
    """Count the samples that each combination keeps."""
    names = set(combinations[0])
    moving = [s for s in tuned.stats if s.low or s.high if names & {s.low, s.high, *RANGE_PARAMS}]
    fixed = [tuned.bounds_of(s, {}) for s in tuned.stats if (s.low or s.high) and s not in moving]
    classes = template(read_sql("analysis/tune_classes.sql")).render(
        stats=[{"column": ident(s.column), "bounds": _bounds(s, tuned.step, combinations)} for s in moving],
        rest=" AND ".join(f"coalesce({condition}, FALSE)" for condition in fixed) or "TRUE",
        step=tuned.step.index,
        **asdict(tuned.fates),
    )
    tuned.stored.con.execute(classes).fetchall()
    conditions = [" AND ".join(f"({tuned.bounds_of(stat, values)})" for stat in moving) for values in combinations]
    return _trials(tuned, combinations, conditions)


def _counted_by_condition(tuned: TunedFilter, combinations: Sequence[dict[str, Any]]) -> list[Trial]:
    """Count the samples that each combination keeps, by the conditions that the filter's body makes of it."""
    conditions = [tuned.condition(values) for values in combinations]
    rows = template(read_sql("analysis/tune_rows.sql")).render(step=tuned.step.index, **asdict(tuned.fates))
    tuned.stored.con.execute(rows).fetchall()
    return _trials(tuned, combinations, conditions)


def _trials(tuned: TunedFilter, combinations: Sequence[dict[str, Any]], conditions: Sequence[str]) -> list[Trial]:
    query = template(read_sql("analysis/tune.sql")).render(conditions=conditions)
    rows = tuned.stored.con.execute(query).fetchall()
    rows = rows or [(number, 0, 0, 0, 0, 0, 0) for number in range(len(conditions))]  # no sample came to the step
    return [
        Trial(
            params=values,
            in_force=all(tuned.step.params.get(name) == value for name, value in values.items()),
            alone=KeptAmount(int(row[1]), int(row[2])),
            together=KeptAmount(int(row[3]), int(row[4])),
            unsure=KeptAmount(int(row[5]), int(row[6])),
        )
        for values, row in zip(combinations, rows, strict=True)
    ]


def _bounds(stat: Stat, step: Any, combinations: Sequence[Mapping[str, Any]]) -> list[float]:
    """Every bound to which the statistic is compared."""
    ranges = [stat.range_by({**step.params, **values}) for values in combinations]
    return sorted({float(end.value) for kept in ranges for end in kept.ends})


def _tuning(tuned: TunedFilter, trials: list[Trial]) -> Tuning:
    stored, step = tuned.stored, tuned.step
    rows = stored.manifest["rows"]
    before = stored.count("SELECT count(*) FROM row_outcomes WHERE _dropped < ?", [step.index])
    reached = stored.count("SELECT count(*) FROM row_outcomes") - before
    return Tuning(
        run=str(stored.run_dir.root),
        step=step.index,
        operator=step.name,
        name=step.title,
        statistics=tuple(stat.column for stat in tuned.stats),
        rows=rows["read"],
        stored=reached,
        removed_before=before,
        quarantined=rows["quarantined"],
        trials=tuple(trials),
        notes=tuple(tuned.notes),
    )
