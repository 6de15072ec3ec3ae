"""Cuts a recipe's steps into stages: chains that run over shards one by one, and barriers that need all rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.library import Library

PER_SAMPLE = {"mapper", "filter"}


@dataclass(frozen=True)
class Stage:
    """Steps that run together. barrier: they need the rows of all shards."""

    number: int
    steps: tuple[Any, ...]
    barrier: bool
    fingerprint: str


def cut_at_barriers(steps: Sequence[Any], library: Library) -> tuple[Stage, ...]:
    """Neighbouring mappers and filters form one stage; every other operator is a stage of its own."""
    groups: list[tuple[bool, list[Any]]] = []
    for step in steps:
        barrier = library.operators[step.name].kind not in PER_SAMPLE
        if barrier or not groups or groups[-1][0]:
            groups.append((barrier, []))
        groups[-1][1].append(step)
    if not groups:
        groups = [(False, [])]
    return tuple(
        Stage(number, tuple(found), barrier, fingerprint(found, library))
        for number, (barrier, found) in enumerate(groups, 1)
    )


def fingerprint(steps: Sequence[Any], library: Library) -> str:
    """A digest of what decides the steps' results: operators, their versions and sources, complete parameters."""
    parts = []
    for step in steps:
        operator = library.operators[step.name]
        source = hashlib.sha256(operator.path.read_bytes()).hexdigest()
        parts.append([step.name, operator.version, source, sorted(step.params.items())])
    return hashlib.sha256(json.dumps(parts, default=list).encode()).hexdigest()[:16]
