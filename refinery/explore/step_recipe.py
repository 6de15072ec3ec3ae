"""Values that were tried, as a recipe and as the command that applies them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.common.paths import shorter
from refinery.inspect.tuned_filter import TunedFilter
from refinery.recipe.by_column import ByColumn
from refinery.recipe.dump import dump


@dataclass(frozen=True)
class FilterChange:
    """Other values of one filter's parameters."""

    tuned: TunedFilter
    values: Mapping[str, Any]

    @property
    def step(self) -> Any:
        """The step with the values."""
        return replace(self.tuned.step, params={**self.tuned.step.params, **self.values})

    @property
    def condition(self) -> str:
        """SQL for "the filter keeps the sample", never NULL. Raises RecipeError where the stored statistics are not enough."""
        return f"coalesce({self.tuned.condition(self.values)}, FALSE)"

    @property
    def sets(self) -> list[str]:
        """The values as `PATH=VALUE` of `refinery refilter --set`, without those that are in force."""
        own = self.tuned.step.params
        changed = {name: value for name, value in self.values.items() if own.get(name) != value}
        numbers = [pair for name, value in changed.items() for pair in _numbers(name, own.get(name), value)]
        return [f"process.{self.tuned.step.index}.{path}={json.dumps(value)}" for path, value in numbers]


def _numbers(name: str, old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    """Paths below a step, and their new values; of a parameter by a column, those that differ."""
    if not isinstance(new, ByColumn) or not isinstance(old, ByColumn):
        yield name, new
        return
    for text, value in new["values"].items():
        if old["values"].get(text) != value:
            yield f"{name}.values.{text}", value
    if old["default"] != new["default"]:
        yield f"{name}.default", new["default"]


def sets_of(changes: Sequence[FilterChange]) -> list[str]:
    """The values of all changes, as `PATH=VALUE`."""
    return [text for change in changes for text in change.sets]


def recipe_of(changes: Sequence[FilterChange]) -> dict[str, Any]:
    """The changed steps and the whole changed recipe as YAML, and the command; that is empty without a change."""
    stored = changes[0].tuned.stored
    changed = {change.step.index: change.step for change in changes}
    steps = tuple(changed.get(step.index, step) for step in stored.recipe.steps)
    sets = sets_of(changes)
    options = " ".join(f"--set {shlex.quote(text)}" for text in sets)
    folder = shlex.quote(shorter(str(stored.run_dir.root)))
    return {
        "steps": dump(replace(stored.recipe, steps=tuple(changed.values()))).partition("\nprocess:\n")[2],
        "recipe": dump(replace(stored.recipe, steps=steps)),
        "command": f"refinery refilter {folder} {options}" if sets else "",
        "sets": sets,
    }
