"""Trials of other bounds of a filter on the stored statistics of a run: rows and bytes kept; no text is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from refinery.compiler.bounds import in_range
from refinery.compiler.model import Chain, Stat
from refinery.compiler.templates import ident, template
from refinery.errors import Problem, RecipeError, did_you_mean, suggestion
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.predicates import verdicts
from refinery.inspect.tune_values import read_values
from refinery.operators import RANGE_PARAMS, read_sql
from refinery.recipe.step_items import steps_called

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
    stored.require_recipe_order()
    stored.require_side_files()
    step = find_step(stored, operator)
    spec = stored.operator_of(step)
    if spec.kind != "filter":
        raise RecipeError([Problem(f"step {step.index}", f"{step.name} is no filter, so it has no bounds to tune")])
    chains = stored.compiled()
    chain = next(chain for chain in chains if step.index in chain.alive)
    stats = [stat for stat in chain.stats if stat.step == step.index]
    by_condition = step.index in chain.conditions
    tried = _values(stored, step, spec, by_condition, texts)
    _require_one_bound(chain, step, stats, tried)
    combinations = _combinations(step, tried, stats)
    others = _others(stored, chains, step)
    if by_condition:
        counts = _counted_by_condition(stored, step, combinations, others)
    else:
        counts = _counted(stored, step, chain, stats, combinations, others)
    return _tuning(stored, step, stats, counts, _notes(stored, chains, step))


def find_step(stored: FinishedRun, text: str) -> Any:
    """Find a step by its number, its name, or an operator used once. Raises RecipeError that names the choices."""
    steps = stored.recipe.steps
    if text.isdecimal():
        matches = [step for step in steps if step.index == int(text)]
        if not matches:
            raise RecipeError([Problem("", f"there is no step {text}: the recipe has {len(steps)}")])
        return matches[0]
    numbered = steps_called(text, [(step.name, step.title) for step in steps])
    matches = [steps[number - 1] for number in numbered]
    if len(matches) > 1:
        numbers = " and ".join(str(step.index) for step in matches)
        what = f"{text} occurs {len(matches)} times, as steps {numbers}"
        raise RecipeError([Problem("", what, "Name the step by its number.")])
    if not matches:
        near = suggestion(text, [name for step in steps for name in (step.name, step.title) if name])
        raise RecipeError([Problem("", f"the recipe has no step {text!r}", near)])
    return matches[0]


def _values(stored: FinishedRun, step: Any, spec: Any, conditional: bool, texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values to try for each parameter, in order, including the value in force.

    conditional: the filter has a condition besides its bounds.
    """
    bounds = [name for ends in spec.bounds.values() for name in ends if name in spec.params and not conditional]
    numbers = [name for name, param in spec.params.items() if param.type in ("int", "float")] if conditional else []
    known = [*bounds, *RANGE_PARAMS] if bounds else numbers
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


def _require_one_bound(chain: Chain, step: Any, stats: Sequence[Stat], tried: Mapping[str, Any]) -> None:
    """Raise RecipeError if a bound of a tried statistic depends on a column: then there is no one bound to try."""
    for stat in stats:
        ends = {stat.low, stat.high} & chain.bounds[step.index].keys()
        if ends and {stat.low, stat.high} & {*tried}:
            what = f"{min(map(str, ends))} of {step.name} depends on a column, so there is no one bound to try"
            raise RecipeError(
                [Problem("--param", what, "Change the values in the recipe, and run `refinery refilter`.")]
            )


def _order(value: Any) -> tuple[bool, float]:
    return (value is None, 0.0 if value is None else float(value))


def _combinations(step: Any, tried: Mapping[str, Sequence[Any]], stats: Sequence[Stat]) -> list[dict[str, Any]]:
    """All combinations of values, except those whose lower bound is above the upper bound."""
    names = list(tried)
    combinations = [dict(zip(names, values, strict=True)) for values in product(*tried.values())]
    combinations = [
        values for values in combinations if not any(stat.range_by({**step.params, **values}).crossed for stat in stats)
    ]
    if len(combinations) > _MOST:
        raise RecipeError(
            [Problem("--param", f"that is {len(combinations):,} combinations", f"At most {_MOST:,} are tried.")]
        )
    if not combinations:
        raise RecipeError([Problem("--param", "every lower bound is above its upper bound")])
    return combinations


def _condition(stat: Stat, params: Mapping[str, Any]) -> str:
    return in_range(ident(stat.column), stat.range_by(params))


def _counted(
    stored: FinishedRun,
    step: Any,
    chain: Chain,
    stats: Sequence[Stat],
    combinations: Sequence[dict[str, Any]],
    others: str,
) -> list[Trial]:
    """Count the samples that each combination keeps."""
    names, own = set(combinations[0]), chain.params_of(step)
    moving = [s for s in stats if s.low or s.high if names & {s.low, s.high, *RANGE_PARAMS}]
    fixed = [_condition(s, own) for s in stats if (s.low or s.high) and s not in moving]
    versions, text_version, is_last, here = _texts_around(stored, step)
    classes = template(read_sql("analysis/tune_classes.sql")).render(
        stats=[{"column": ident(s.column), "bounds": _bounds(s, step, combinations)} for s in moving],
        step=step.index,
        here="FALSE" if is_last else here,
        kept=f"(_dropped IS NULL OR {here}) AND {others}" if is_last else f"_dropped IS NULL AND {others}",
        bytes_here=f"_bytes_{text_version}",
        bytes_end=f"_bytes_{versions[-1]}",
        rest=" AND ".join(f"coalesce({condition}, FALSE)" for condition in fixed) or "TRUE",
    )
    stored.con.execute(classes).fetchall()
    conditions = [
        " AND ".join(f"({_condition(stat, {**own, **values})})" for stat in moving) for values in combinations
    ]
    return _trials(stored, step, combinations, conditions)


def _counted_by_condition(
    stored: FinishedRun, step: Any, combinations: Sequence[dict[str, Any]], others: str
) -> list[Trial]:
    """Count the samples that each combination keeps, by the conditions that the filter's body makes of it."""
    old = _definitions(stored.compiled(), step)
    conditions = []
    for values in combinations:
        chains = stored.compiled({step.index: {**step.params, **values}})
        condition = verdicts(chains)[step.index]
        changed = {name for name, sql in _definitions(chains, step).items() if old.get(name) != sql}
        if condition is None or changed:
            names = ", ".join(values)
            what = f"{step.name} measures something else with another {names}, which the run has not stored"
            again = f"refinery run {stored.run_dir.recipe} --set process.{step.index}.{min(values)}=... runs again."
            raise RecipeError([Problem("--param", what, again)])
        conditions.append(condition)
    versions, text_version, is_last, here = _texts_around(stored, step)
    rows = template(read_sql("analysis/tune_rows.sql")).render(
        step=step.index,
        here="FALSE" if is_last else here,
        kept=f"(_dropped IS NULL OR {here}) AND {others}" if is_last else f"_dropped IS NULL AND {others}",
        bytes_here=f"_bytes_{text_version}",
        bytes_end=f"_bytes_{versions[-1]}",
    )
    stored.con.execute(rows).fetchall()
    return _trials(stored, step, combinations, conditions)


def _definitions(chains: Sequence[Chain], step: Any) -> dict[str, str]:
    """What is computed up to a step, besides what it keeps: SQL by column."""
    chain = next(chain for chain in chains if step.index in chain.alive)
    flags = chain.columns_of("alive")
    return {d.name: d.sql for d in chain.layers.definitions() if d.step <= step.index and d.name not in flags}


def _texts_around(stored: FinishedRun, step: Any) -> tuple[list[int], int, bool, str]:
    """Versions of the text, the one at the step, True if no later step removes samples, and SQL for "removed here"."""
    versions = sorted(int(n) for c in stored.columns["row_outcomes"] for n in re.findall(r"^_bytes_(\d+)$", c))
    text_version = max((version for version in versions if version <= step.index), default=versions[0])
    is_last = not any(_removes(stored, other) for other in stored.recipe.steps if other.index > step.index)
    return versions, text_version, is_last, f"coalesce(_dropped = {step.index}, FALSE)"


def _trials(
    stored: FinishedRun, step: Any, combinations: Sequence[dict[str, Any]], conditions: Sequence[str]
) -> list[Trial]:
    rows = stored.con.execute(template(read_sql("analysis/tune.sql")).render(conditions=conditions)).fetchall()
    rows = rows or [(number, 0, 0, 0, 0, 0, 0) for number in range(len(conditions))]  # no sample came to the step
    return [
        Trial(
            params=values,
            in_force=all(step.params.get(name) == value for name, value in values.items()),
            alone=KeptAmount(int(row[1]), int(row[2])),
            together=KeptAmount(int(row[3]), int(row[4])),
            unsure=KeptAmount(int(row[5]), int(row[6])),
        )
        for values, row in zip(combinations, rows, strict=True)
    ]


def _removes(stored: FinishedRun, step: Any) -> bool:
    """Return whether a step can remove samples."""
    operator = stored.operator_of(step)
    return operator.kind in ("filter", "deduplicator") or operator.removes_samples


def _bounds(stat: Stat, step: Any, combinations: Sequence[Mapping[str, Any]]) -> list[float]:
    """Every bound to which the statistic is compared."""
    ranges = [stat.range_by({**step.params, **values}) for values in combinations]
    return sorted({float(end.value) for kept in ranges for end in kept.ends})


def _others(stored: FinishedRun, chains: Sequence[Chain], step: Any) -> str:
    """SQL for "all other filters keep the sample"; TRUE unless the run's filters only measured."""
    if not stored.recipe.measure_only:
        return "TRUE"
    conditions = {index: condition for index, condition in verdicts(chains).items() if index != step.index}
    return " AND ".join(f"({condition})" for condition in conditions.values() if condition is not None) or "TRUE"


def _notes(stored: FinishedRun, chains: Sequence[Chain], step: Any) -> list[str]:
    """Notes on samples and steps that the figures leave out."""
    notes = []
    steps = {other.index: other for other in stored.recipe.steps}
    if stored.recipe.measure_only:
        unknown = [i for i, condition in verdicts(chains).items() if condition is None and i != step.index]
        left_out = [i for i, other in steps.items() if stored.operator_of(other).kind == "deduplicator"]
        for index in sorted({*unknown, *left_out}):
            why = "removed nothing in this run" if index in left_out else "asks for more than the stored statistics"
            notes.append(f"step {index}, {steps[index].name}, {why}: together is without it")
        return notes
    after = [i for i in steps if i > step.index and stored.operator_of(steps[i]).kind == "deduplicator"]
    for index in after:
        what = f"step {index}, {steps[index].name}, is counted with its decisions in the run"
        notes.append(f"{what}: with other samples before it, it may keep others")
    return notes


def _tuning(stored: FinishedRun, step: Any, stats: Sequence[Stat], trials: list[Trial], notes: list[str]) -> Tuning:
    rows = stored.manifest["rows"]
    before = stored.count("SELECT count(*) FROM row_outcomes WHERE _dropped < ?", [step.index])
    reached = stored.count("SELECT count(*) FROM row_outcomes") - before
    return Tuning(
        run=str(stored.run_dir.root),
        step=step.index,
        operator=step.name,
        name=step.title,
        statistics=tuple(stat.column for stat in stats),
        rows=rows["read"],
        stored=reached,
        removed_before=before,
        quarantined=rows["quarantined"],
        trials=tuple(trials),
        notes=tuple(notes),
    )
