"""Statistics with the steps that measured them, and the bounds between which filters kept samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.common.fields import keys_of
from refinery.compiler.model import UNBOUNDED, Schema, Stat
from refinery.compiler.program import build
from refinery.errors import RefineryError
from refinery.execution.open import open_recipe
from refinery.inspect.report.facts import ReportStep


@dataclass(frozen=True)
class FilterBound:
    """One end of a filter's range. name: the parameter."""

    name: str
    value: float


@dataclass(frozen=True)
class KeptRange:
    """Range that a filter kept: from `low` to `high`; with `reversed` outside of it. None: no bound on that side."""

    low: FilterBound | None
    high: FilterBound | None
    reversed: bool = False

    @property
    def ends(self) -> list[FilterBound]:
        """The existing bounds."""
        return [bound for bound in (self.low, self.high) if bound is not None]


NO_RANGE = KeptRange(None, None)


def measured(recipe: Path) -> list[Stat]:
    """Statistics of a run's recipe, from its operators' headers; none if the operators no longer exist.

    The recipe is compiled without its input, which may be gone.
    """
    try:
        opened, library = open_recipe(recipe)
        steps = [step for step in opened.steps if library.operators[step.name].kind != "deduplicator"]
        program, _ = build(steps, library, Schema(True, {}, unknown=True), keys_of(opened.text_key))
    except RefineryError:
        return []
    return list(program.stats)


def range_of(stat: Stat, step: ReportStep) -> KeptRange:
    """The range within which `step` kept samples, by the parameters that it ran with."""
    parameters = step.parameters
    low, high = (_bound(name, parameters) for name in (stat.low, stat.high))
    return KeptRange(low, high, bool(parameters.get("reversed_range"))) if low or high else NO_RANGE


def _bound(name: str | None, parameters: dict[str, Any]) -> FilterBound | None:
    value = parameters.get(name) if name else None
    if name is None or isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) >= UNBOUNDED:
        return None
    return FilterBound(name, float(value))
