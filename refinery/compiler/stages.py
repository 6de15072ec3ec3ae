"""Cuts a recipe's steps into stages: steps that run shard by shard, up to a deduplicator, which needs all rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.operators import Library
from refinery.operators.assets import by_contents

PER_SAMPLE = {"mapper", "filter", "stats"}


@dataclass(frozen=True)
class Stage:
    """One pass over the samples.

    steps: mappers, filters and statistics operators. before: the deduplicator whose findings the pass applies first,
    or None. after: the deduplicator that the pass computes match keys for, or None. fingerprint: of all steps up to the end
    of this stage, and of their order. order: numbers of the steps as they run; empty for the recipe's order. of_recipe:
    the fingerprint without the order.
    """

    number: int
    steps: tuple[Any, ...]
    before: Any | None
    after: Any | None
    fingerprint: str
    order: tuple[int, ...] = ()
    of_recipe: str = ""

    @property
    def running(self) -> tuple[Any, ...]:
        """The steps in the order in which they run."""
        by_number = {step.index: step for step in self.steps}
        return tuple(by_number[number] for number in self.order) if self.order else self.steps

    def numbers(self) -> list[int]:
        """Numbers of all steps in the order in which they run, with the deduplicator at the end."""
        return [step.index for step in (*self.running, self.after) if step is not None]


def ordered(stages: Sequence[Stage], orders: Sequence[Sequence[int]]) -> tuple[Stage, ...]:
    """The stages with an order of steps each; fingerprints cover the orders from the first that differs."""
    found: list[Stage] = []
    said = ""
    for stage, order in zip(stages, orders, strict=True):
        if list(order) == [step.index for step in stage.steps]:
            order = ()
        said += f" {stage.number}:{','.join(map(str, order))}" if order else ""
        digest = hashlib.sha256((stage.fingerprint + said).encode()).hexdigest()[:16] if said else stage.fingerprint
        found.append(replace(stage, order=tuple(order), fingerprint=digest, of_recipe=stage.fingerprint))
    return tuple(found)


def cut_at_barriers(steps: Sequence[Any], library: Library, measure_only: bool = False) -> tuple[Stage, ...]:
    """The stages of a recipe. Every deduplicator ends a stage; the stage after the last one is often empty.

    measure_only: deduplicators are left out, so there is one stage; the steps keep their numbers.
    """
    if measure_only:
        steps = [step for step in steps if library.operators[step.name].kind != "deduplicator"]
    chains: list[list[Any]] = [[]]
    barriers: list[Any] = []
    for step in steps:
        if library.operators[step.name].kind in PER_SAMPLE:
            chains[-1].append(step)
        else:
            barriers.append(step)
            chains.append([])
    stages, done = [], 0
    parts = [_described(step, library) for step in steps]
    for number, chain in enumerate(chains):
        after = barriers[number] if number < len(barriers) else None
        done += len(chain) + (after is not None)
        before = barriers[number - 1] if number else None
        stages.append(Stage(number + 1, tuple(chain), before, after, _digest(parts[:done])))
    return tuple(stages)


def _described(step: Any, library: Library) -> list[Any]:
    """Inputs of a step's fingerprint: operator, version, source, all parameters, and contents of files they name."""
    operator = library.operators[step.name]
    source = hashlib.sha256(operator.path.read_bytes()).hexdigest()
    found = [step.name, operator.version, source, sorted(by_contents(step.params, operator.params).items())]
    if operator.matcher_path is not None:
        found.append(hashlib.sha256(operator.matcher_path.read_bytes()).hexdigest())
    return found


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()[:16]
