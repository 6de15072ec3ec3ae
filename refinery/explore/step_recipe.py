"""Values that were tried, as a recipe and as the command that applies them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.common.paths import shorter
from refinery.inspect.tuned_filter import TunedFilter
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
    def sets(self) -> list[str]:
        """The values as `PATH=VALUE` of `refinery refilter --set`, without those that are in force."""
        changed = {name: value for name, value in self.values.items() if self.tuned.step.params.get(name) != value}
        return [f"process.{self.tuned.step.index}.{name}={json.dumps(value)}" for name, value in changed.items()]


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
