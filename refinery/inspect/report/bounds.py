"""Statistics with the steps that measured them, and the bounds between which filters kept samples."""

from __future__ import annotations

from pathlib import Path

from refinery.common.fields import keys_of
from refinery.compiler.model import Schema, Stat
from refinery.compiler.program import build
from refinery.errors import RefineryError
from refinery.execution.open import open_recipe
from refinery.inspect.report.facts import ReportStep
from refinery.operators.bounds import KeptRange


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
    return stat.range_by(step.parameters).shown()
