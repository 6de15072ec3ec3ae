"""Statistics of steps that have problems: a later step that names one of these is not wrong for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class MissingStatistics:
    """Statistics of steps with problems, which are left out of what is compiled.

    stats: name -> number of the first step that computes it, and its type. since: number of the first step whose
    statistics are not known; any name in a later step may be one of them.
    """

    stats: dict[str, tuple[int, str]] = field(default_factory=dict)
    since: int | None = None

    def add(self, step: int, stats: Mapping[str, Mapping[str, Any]]) -> None:
        """Note the statistics of a step: later steps name them with its number or without."""
        for name, spec in stats.items():
            for column in (name, f"{name}_{step}"):
                first, kind = self.stats.get(column, (step, str(spec.get("type", "DOUBLE"))))
                self.stats[column] = min(first, step), kind

    def add_unknown(self, step: int) -> None:
        """Note a step that may compute anything."""
        self.since = step if self.since is None else min(self.since, step)

    def type_of(self, name: str, step: int) -> str | None:
        """The type of a name in a step if an earlier step may have computed it: NULL when that is not known."""
        first, kind = self.stats.get(name, (step, ""))
        if first < step:
            return kind
        return "NULL" if self.since is not None and self.since < step else None

    def may_be(self, name: str) -> bool:
        """Return whether a step may compute a statistic of this name."""
        return self.since is not None or name in self.stats

    def copy(self) -> MissingStatistics:
        """A copy that can be added to."""
        return MissingStatistics(dict(self.stats), self.since)
