"""Differences of two recipes: steps added, removed, moved, changed; keys and versions with other values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import yaml

from refinery.common.step_label import step_label
from refinery.recipe.keys import KEYS

# Keys that are compared elsewhere, or do not affect the fate of a sample.
_ELSEWHERE = {"process", "dataset_path", "work_dir", "export_path", "temp_dir", "digests", "audit"}
_ELSEWHERE |= {"np", "shard_size", "override_num_blocks", "memory_limit", "project_name"}


@dataclass(frozen=True)
class StepRow:
    """A row of the table `steps`."""

    step: int
    operator: str
    parameters: Mapping[str, Any]
    name: str | None = None


@dataclass(frozen=True)
class StepChange:
    """A step of the first run, of the second, or of both.

    change: "same", "changed", "moved", "removed" or "added"; a moved step may be changed as well. step_a, step_b: the
    step's number in each run, None where it is missing. parameters: both values of each parameter that differs. name_a, name_b:
    the step's name in each run, if any.
    """

    change: str
    operator: str
    step_a: int | None
    step_b: int | None
    parameters: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    name_a: str | None = None
    name_b: str | None = None

    @property
    def renamed(self) -> bool:
        """True if both runs have the step, under different names."""
        return self.step_a is not None and self.step_b is not None and self.name_a != self.name_b

    @property
    def label(self) -> str:
        """The operator, with the name; with both names if they differ."""
        if self.renamed:
            return f"{self.operator}: {self.name_a or '–'} → {self.name_b or '–'}"
        return step_label(self.operator, self.name_a or self.name_b)


@dataclass(frozen=True)
class KeyChange:
    """A key of the recipes, or a version, that differs."""

    key: str
    a: Any
    b: Any


def steps_of(rows: Sequence[tuple[Any, ...]]) -> list[StepRow]:
    """Steps from (step, operator, parameters, name) of the table."""
    return [StepRow(step, operator, json.loads(text), name) for step, operator, text, name in rows]


def compare_steps(a: Sequence[StepRow], b: Sequence[StepRow]) -> list[StepChange]:
    """Align the steps of both recipes by operator, in the order of the first, with added steps in their places."""
    changes: list[StepChange] = []
    matcher = SequenceMatcher(None, [s.operator for s in a], [s.operator for s in b], autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            changes += [_both(one, other, "changed") for one, other in zip(a[a0:a1], b[b0:b1], strict=True)]
            continue
        changes += [StepChange("removed", one.operator, one.step, None, name_a=one.name) for one in a[a0:a1]]
        changes += [StepChange("added", other.operator, None, other.step, name_b=other.name) for other in b[b0:b1]]
    return _moved(changes, {s.step: s for s in a}, {s.step: s for s in b})


def _both(one: StepRow, other: StepRow, change: str) -> StepChange:
    names = [*one.parameters, *(name for name in other.parameters if name not in one.parameters)]
    differing = {
        name: (one.parameters.get(name), other.parameters.get(name))
        for name in names
        if one.parameters.get(name) != other.parameters.get(name)
    }
    kind = "same" if change == "changed" and not differing else change
    return StepChange(kind, one.operator, one.step, other.step, differing, one.name, other.name)


def _moved(changes: list[StepChange], a: Mapping[int, StepRow], b: Mapping[int, StepRow]) -> list[StepChange]:
    """Turn a removal and an addition of the same operator into one move, reported at the place of the addition."""
    gone = [change for change in changes if change.change == "removed"]
    for place, change in enumerate(changes):
        if change.change != "added":
            continue
        before = next((other for other in gone if other.operator == change.operator), None)
        if before is not None and before.step_a is not None and change.step_b is not None:
            gone.remove(before)
            changes[place] = _both(a[before.step_a], b[change.step_b], "moved")
    taken = {change.step_a for change in changes if change.change == "moved"}
    return [change for change in changes if not (change.change == "removed" and change.step_a in taken)]


def compare_keys(a: str, b: str) -> list[KeyChange]:
    """Keys of two effective recipes that differ, without steps, inputs and output paths."""
    one, other = (yaml.safe_load(text) or {} for text in (a, b))
    names = [name for name in KEYS if name not in _ELSEWHERE and (name in one or name in other)]
    values = [(name, *(recipe.get(name, KEYS[name].default) for recipe in (one, other))) for name in names]
    return [KeyChange(name, before, after) for name, before, after in values if before != after]


def compare_versions(a: str, b: str) -> list[KeyChange]:
    """Versions that differ, from the JSON objects of the table `runs`."""
    one, other = json.loads(a), json.loads(b)
    names = [*one, *(name for name in other if name not in one)]
    changed = [name for name in names if one.get(name) != other.get(name)]
    return [KeyChange(f"version of {name}", one.get(name), other.get(name)) for name in changed]
