"""Where Ray should run a task: on a machine that holds its bytes, if that machine has room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def near(nodes: Sequence[str]) -> dict[str, Any]:
    """Options of a task that prefers the first of these nodes of the cluster, and runs elsewhere if it is busy or gone."""
    if not nodes:
        return {}
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(nodes[0], soft=True, _spill_on_unavailable=True)}
