"""The profile of a statement, as `get_profiling_information("json")` gives it with `settings.PROFILING`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def operators(profile: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The operators at the root of a plan."""
    return profile.get("operator") or []


def children(operator: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The operators whose rows an operator reads."""
    return operator.get("children") or []


def seconds(operator: dict[str, Any]) -> float:
    """Seconds of an operator alone, summed over threads."""
    return float(operator.get("timing") or 0.0)


def columns(operator: dict[str, Any]) -> set[str]:
    """The columns that a projection gives; none for another operator."""
    names = (operator.get("extra_info") or {}).get("Projections") or []
    return set(names if isinstance(names, list) else [names])
