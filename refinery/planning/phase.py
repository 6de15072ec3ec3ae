"""Results of the phases in which a recipe is planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from refinery.errors import DataError, OutputError, Problem, RecipeError, problems_of

T = TypeVar("T")

# Errors that a user can mend; any other error ends the command at once.
MENDABLE = (RecipeError, DataError, OutputError)


@dataclass(frozen=True)
class Phase(Generic[T]):
    """Result of a phase: the value of what is sound, the problems of the rest, and notes."""

    value: T
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Findings:
    """Problems and notes of all phases so far."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def value_of(self, phase: Phase[T]) -> T:
        """The value of a phase, whose problems and notes are kept."""
        self.problems += phase.problems
        self.notes += phase.notes
        return phase.value


def attempt(make: Callable[[], T], otherwise: T, place: str = "") -> Phase[T]:
    """The value of `make()`, or `otherwise` with the problems of the mendable error that it raises.

    place: of problems that name none.
    """
    try:
        return Phase(make())
    except MENDABLE as error:
        return Phase(otherwise, tuple(problems_of(error, place)))
