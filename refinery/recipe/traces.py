"""Examples of changed and removed samples that a recipe asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TraceSettings:
    """Settings of traces. operators: those that are traced; () for all. limit: most samples of each; None for all.

    fields: of the original sample, which its traces get.
    """

    are_on: bool
    operators: tuple[str, ...]
    limit: int | None
    fields: tuple[str, ...]
