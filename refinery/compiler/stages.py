"""Cuts a recipe's steps into stages: at deduplicators, which need all rows, and around steps that need a GPU."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.operators import Library
from refinery.operators.assets import by_contents
from refinery.operators.resources import needs_gpu

PER_SAMPLE = {"mapper", "filter", "stats"}


@dataclass(frozen=True)
class Stage:
    """One pass over the samples.

    steps: mappers, filters and statistics operators. before: the deduplicator whose findings the pass applies first,
    or None. after: the deduplicator that the pass computes match keys for, or None. fingerprint: of all steps up to the end
    of this stage, and of their order. since: number of the last deduplicator before the stage, 0 for none. order: numbers of the steps as they run; empty for the recipe's order. of_recipe:
    the fingerprint without the order.
    """

    number: int
    steps: tuple[Any, ...]
    before: Any | None
    after: Any | None
    fingerprint: str
    since: int = 0
    order: tuple[int, ...] = ()
    of_recipe: str = ""

    @property
    def first(self) -> bool:
        """True for the stage that reads the input."""
        return self.number == 1

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
    reordered: list[Stage] = []
    said = ""
    for stage, order in zip(stages, orders, strict=True):
        if list(order) == [step.index for step in stage.steps]:
            order = ()
        said += f" {stage.number}:{','.join(map(str, order))}" if order else ""
        digest = hashlib.sha256((stage.fingerprint + said).encode()).hexdigest()[:16] if said else stage.fingerprint
        reordered.append(replace(stage, order=tuple(order), fingerprint=digest, of_recipe=stage.fingerprint))
    return tuple(reordered)


def cut_at_barriers(steps: Sequence[Any], library: Library, measure_only: bool = False) -> tuple[Stage, ...]:
    """The stages of a recipe. Every deduplicator ends a stage; the stage after the last one is often empty.

    A step that needs a GPU is a stage of its own. Where the stages are cut changes no row, table or trace.

    measure_only: deduplicators are left out, so there is one stage; the steps keep their numbers.
    """
    if measure_only:
        steps = [step for step in steps if library.operators[step.name].kind != "deduplicator"]
    stages: list[Stage] = []
    done = since = 0
    parts = [_described(step, library) for step in steps]
    for number, (before, chain, after) in enumerate(_cut(steps, library), 1):
        done += len(chain) + (after is not None)
        since = before.index if before is not None else since
        stages.append(Stage(number, tuple(chain), before, after, _digest(parts[:done]), since))
    return tuple(stages)


def _cut(steps: Sequence[Any], library: Library) -> list[tuple[Any | None, list[Any], Any | None]]:
    """Each stage's deduplicator before it, its steps, and the deduplicator at its end.

    A step that needs a GPU is alone, so that the steps around it take none of its time on the GPU: neither do match keys
    of a deduplicator after it, nor the removal of units that one before it has found.
    """
    parts: list[tuple[Any | None, list[Any], Any | None]] = []
    before: Any | None = None
    chain: list[Any] = []

    def end(after: Any | None = None) -> None:
        nonlocal before, chain
        parts.append((before, chain, after))
        before, chain = after, []

    for step in steps:
        operator = library.operators[step.name]
        if operator.kind not in PER_SAMPLE:
            if needs_gpu(step, operator) and chain:
                end()
            end(step)
            continue
        alone = needs_gpu(step, operator)
        if alone and (chain or (before is not None and library.operators[before.name].apply)):
            end()
        chain.append(step)
        if alone:
            end()
    if chain or before is not None or not parts:
        end()
    return parts


def _described(step: Any, library: Library) -> list[Any]:
    """Inputs of a step's fingerprint: operator, version, source, all parameters, and contents of files they name."""
    operator = library.operators[step.name]
    source = hashlib.sha256(operator.path.read_bytes()).hexdigest()
    description = [step.name, operator.version, source, sorted(by_contents(step.params, operator.params).items())]
    if operator.matcher_path is not None:
        description.append(hashlib.sha256(operator.matcher_path.read_bytes()).hexdigest())
    return description


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()[:16]
