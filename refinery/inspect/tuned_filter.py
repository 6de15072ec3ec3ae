"""A filter of a finished run, with the SQL that decides over stored statistics as the filter does with other parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from refinery.compiler.bounds import in_range
from refinery.compiler.ledger import ledger_columns
from refinery.compiler.model import Chain, Stat
from refinery.compiler.stored_predicates import verdicts
from refinery.compiler.templates import ColumnValue, ident, lit
from refinery.errors import Problem, RecipeError, suggestion
from refinery.inspect.finished_run import FinishedRun
from refinery.recipe.by_column import ByColumn
from refinery.recipe.step_items import steps_called


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


@dataclass(frozen=True)
class StoredFates:
    """SQL over `stats JOIN row_outcomes`: the fate of a sample that reached the step, and bytes of its text.

    here: the step removed it, and what later steps would do is unknown; FALSE for the last step that removes samples.
    kept: all other steps keep it. bytes_here, bytes_end: bytes of the text before the step, and of the exported text.
    """

    here: str
    kept: str
    bytes_here: str
    bytes_end: str


@dataclass(frozen=True)
class Decision:
    """SQL over stored statistics: the filter keeps the sample (may be NULL); else the reason that the ledger would have."""

    condition: str
    reason: str


@dataclass(frozen=True)
class TunedFilter:
    """One filter step. chains: the recipe's stages, compiled with all conditions.

    changed: conditions of other filters with other values than in the run, by step; of a run whose filters only measured.
    """

    stored: FinishedRun
    step: Any
    spec: Any
    chains: Sequence[Chain]
    changed: Mapping[int, str] = field(default_factory=dict)

    @staticmethod
    def of(stored: FinishedRun, operator: str) -> TunedFilter:
        """The step by its operator, name or number. Raises RecipeError if it is no filter."""
        stored.require_recipe_order()
        stored.require_side_files()
        step = find_step(stored, operator)
        spec = stored.operator_of(step)
        if spec.kind != "filter":
            raise RecipeError([Problem(f"step {step.index}", f"{step.name} is no filter, so it has no bounds to tune")])
        return TunedFilter(stored, step, spec, stored.compiled())

    @cached_property
    def chain(self) -> Chain:
        """The stage of the step."""
        return _stage_of(self.chains, self.step)

    @cached_property
    def stats(self) -> list[Stat]:
        """The step's statistics."""
        return [stat for stat in self.chain.stats if stat.step == self.step.index]

    @property
    def by_condition(self) -> bool:
        """True if the filter has a condition besides its bounds."""
        return self.step.index in self.chain.conditions

    @cached_property
    def parameters(self) -> list[str]:
        """Parameters of which other values can be tried, besides RANGE_PARAMS."""
        params = self.spec.params
        if self.by_condition:
            return [name for name, param in params.items() if param.type in ("int", "float")]
        return [name for ends in self.spec.bounds.values() for name in ends if name in params]

    @cached_property
    def by_column(self) -> set[str]:
        """Parameters that depend on a column, so that there is no one bound to try."""
        return set(self.chain.bounds.get(self.step.index, {}))

    def bounds_of(self, stat: Stat, values: Mapping[str, Any]) -> str:
        """SQL for "the bounds of a statistic keep the sample", with other values; NULL where the statistic is NULL."""
        return in_range(ident(stat.column), stat.range_by({**self.chain.params_of(self.step), **values}))

    def condition(self, values: Mapping[str, Any]) -> str:
        """SQL for "the filter keeps the sample", with other values of parameters; it may be NULL.

        Raises RecipeError where the stored statistics are not enough.
        """
        return self.decision(values).condition

    def decision(self, values: Mapping[str, Any]) -> Decision:
        """SQL for what the filter decides with other values, and why. Raises RecipeError as `condition` does."""
        if not self.by_condition and (moved := {n: v for n, v in values.items() if isinstance(v, ByColumn)}):
            own = {name: self._moved(name, value) for name, value in moved.items()}
            return Decision(self._in_bounds({**values, **own}), "'outside of the bounds, which depend on a column'")
        changed = replace(self.step, params={**self.step.params, **values})
        chain, condition = self.chain, self._in_bounds(values)
        if self.by_condition:
            chains = self.stored.compiled({self.step.index: changed.params})
            chain = _stage_of(chains, self.step)
            condition = self._verdict(chains, values)
        return Decision(condition, ledger_columns(chain, [changed])["reason"][self.step.index])

    def _moved(self, name: str, value: ByColumn) -> ColumnValue:
        """Other values by a column: the run has stored each sample's value. Raises RecipeError if that does not tell samples apart."""
        column, old = ident(self.chain.bounds[self.step.index][name]), self.step.params[name]
        new: dict[Any, Any] = {}
        for text in (None, *old["values"]):
            if new.setdefault(old.of(text), value.of(text)) != value.of(text):
                what = f"samples of several values of {old.column} have {old.of(text)} in the run, which has stored no more of them"
                raise RecipeError([Problem(name, what, "Move their values together, or run `refinery refilter`.")])
        whens = [f"WHEN {column} = {lit(one)} THEN {lit(other)}" for one, other in new.items() if one != other]
        sql = f"CASE {' '.join(whens)} ELSE {column} END" if whens else column
        return ColumnValue(f"({sql})", name, value.all_values)

    def _in_bounds(self, values: Mapping[str, Any]) -> str:
        kept = [self.bounds_of(stat, values) for stat in self.stats if stat.low or stat.high]
        return " AND ".join(f"({condition})" for condition in kept) or "TRUE"

    def _verdict(self, chains: Sequence[Chain], values: Mapping[str, Any]) -> str:
        """SQL for "the filter keeps the sample", by its own condition. Raises RecipeError."""
        condition = verdicts(chains)[self.step.index]
        old, new = (_definitions(of, self.step) for of in (self.chains, chains))
        if condition is None or any(old.get(name) != sql for name, sql in new.items()):
            names = ", ".join(values)
            what = f"{self.step.name} measures something else with another {names}, which the run has not stored"
            again = f"refinery run {self.stored.run_dir.recipe} --set process.{self.step.index}"
            raise RecipeError([Problem("--param", what, f"{again}.{min(values, default='NAME')}=... runs again.")])
        return condition

    @cached_property
    def others(self) -> dict[int, str | None]:
        """Conditions of all other filters of a run whose filters only measured, by step; None where unknown."""
        if not self.stored.recipe.measure_only:
            return {}
        known = verdicts(self.chains) | dict(self.changed)
        return {index: sql for index, sql in known.items() if index != self.step.index}

    @property
    def is_last(self) -> bool:
        """True if no later step removes samples."""
        return not any(removes(self.stored, step) for step in self.stored.recipe.steps if step.index > self.step.index)

    @cached_property
    def fates(self) -> StoredFates:
        """The fates of samples that reached the step."""
        stored = self.stored.columns["row_outcomes"]
        versions = sorted(int(n) for column in stored for n in re.findall(r"^_bytes_(\d+)$", column))
        version = max((version for version in versions if version <= self.step.index), default=versions[0])
        here = f"coalesce(_dropped = {self.step.index}, FALSE)"
        others = " AND ".join(f"({condition})" for condition in self.others.values() if condition is not None) or "TRUE"
        kept = f"(_dropped IS NULL OR {here}) AND {others}" if self.is_last else f"_dropped IS NULL AND {others}"
        return StoredFates("FALSE" if self.is_last else here, kept, f"_bytes_{version}", f"_bytes_{versions[-1]}")

    @property
    def notes(self) -> list[str]:
        """Notes on samples and steps that figures leave out."""
        notes = []
        steps = {other.index: other for other in self.stored.recipe.steps}
        deduplicators = [i for i, other in steps.items() if self.stored.operator_of(other).kind == "deduplicator"]
        if self.stored.recipe.measure_only:
            unknown = [i for i, condition in self.others.items() if condition is None]
            for index in sorted({*unknown, *deduplicators}):
                why = (
                    "removed nothing in this run"
                    if index in deduplicators
                    else "asks for more than the stored statistics"
                )
                notes.append(f"step {index}, {steps[index].name}, {why}: together is without it")
            return notes
        for index in (index for index in deduplicators if index > self.step.index):
            what = f"step {index}, {steps[index].name}, is counted with its decisions in the run"
            notes.append(f"{what}: with other samples before it, it may keep others")
        return notes


def _stage_of(chains: Sequence[Chain], step: Any) -> Chain:
    return next(chain for chain in chains if step.index in chain.alive)


def removes(stored: FinishedRun, step: Any) -> bool:
    """Return whether a step can remove samples."""
    operator = stored.operator_of(step)
    return operator.kind in ("filter", "deduplicator") or operator.removes_samples


def _definitions(chains: Sequence[Chain], step: Any) -> dict[str, str]:
    """Columns that are computed up to a step, besides the kept rows: SQL by column."""
    chain = _stage_of(chains, step)
    flags = chain.columns_of("alive")
    return {d.name: d.sql for d in chain.layers.definitions() if d.step <= step.index and d.name not in flags}
