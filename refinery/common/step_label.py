"""The way in which tables, reports and messages show a step."""

from __future__ import annotations


def step_label(operator: str, name: str | None) -> str:
    """A step's operator, with the name that the recipe gives the step: `words_num_filter: too short`."""
    return operator if name is None or name == operator else f"{operator}: {name}"
