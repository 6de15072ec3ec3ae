"""Seconds of a statement by step, from DuckDB's profile."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from refinery.common.duckdb_facts import profile as profiles
from refinery.compiler.program import Program


def seconds_by_step(profile: str, program: Program, elapsed: float) -> dict[int, float]:
    """Divide a statement's seconds among the program's steps; time of no step counts as step 0."""
    try:
        tree = json.loads(profile)
    except ValueError:
        return {0: elapsed}
    return by_step(tree, dict(program.probes), program.light, elapsed)


def by_step(profile: dict[str, Any], steps: dict[str, int], light: frozenset[str], elapsed: float) -> dict[int, float]:
    """Divide a statement's seconds among steps: a projection's time belongs to the columns that it adds.

    profile: DuckDB's profile as JSON. steps: column -> step. light: columns that count only where there are no others.
    Reading and all other time counts as step 0.
    """
    spent: dict[int, float] = defaultdict(float)

    def walk(node: dict[str, Any]) -> set[str]:
        below: set[str] = set()
        for child in profiles.children(node):
            below |= walk(child)
        listed = profiles.columns(node)
        new = [name for name in listed - below if name in steps]
        heavy = [name for name in new if name not in light] or new
        owners = {steps[name] for name in heavy} or {0}
        for owner in owners:
            spent[owner] += profiles.seconds(node) / len(owners)
        return below | listed

    for root in profiles.operators(profile):
        walk(root)
    spent[0] += max(0.0, elapsed - sum(spent.values()))
    return spent
