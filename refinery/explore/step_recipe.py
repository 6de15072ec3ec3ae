"""Values that were tried, as a recipe and as the command that applies them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from refinery.common.paths import shorter
from refinery.inspect.tuned_filter import TunedFilter
from refinery.recipe.dump import dump


def sets_of(tuned: TunedFilter, values: Mapping[str, Any]) -> list[str]:
    """The values as `PATH=VALUE` of `refinery refilter --set`, without those that are in force."""
    changed = {name: value for name, value in values.items() if tuned.step.params.get(name) != value}
    return [f"process.{tuned.step.index}.{name}={json.dumps(value)}" for name, value in changed.items()]


def recipe_of(tuned: TunedFilter, values: Mapping[str, Any]) -> dict[str, Any]:
    """The changed step and the whole changed recipe as YAML, and the command; empty without a change."""
    recipe = tuned.stored.recipe
    changed = replace(tuned.step, params={**tuned.step.params, **values})
    steps = tuple(changed if step.index == changed.index else step for step in recipe.steps)
    sets = sets_of(tuned, values)
    options = " ".join(f"--set {shlex.quote(text)}" for text in sets)
    folder = shlex.quote(shorter(str(tuned.stored.run_dir.root)))
    return {
        "step": dump(replace(recipe, steps=(changed,))).partition("\nprocess:\n")[2],
        "recipe": dump(replace(recipe, steps=steps)),
        "command": f"refinery refilter {folder} {options}" if sets else "",
        "sets": sets,
    }
