"""Errors of refinery, with the exit code that a command ends with for each.

Messages name the place, the problem and the cure; an error with several problems lists all of them.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery.common.redaction import hide

# Names and values in messages may have any characters, which must not move a terminal's cursor.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Problem:
    """One problem.

    where: the place as a user finds it, `recipe.yaml:14`, `--trace_num` or `process.3`. what: half a sentence without
    its full stop. hint: the cure as a whole sentence, or None. kind: of the error that the problem alone would be:
    `recipe`, `data` or `output`.
    """

    where: str
    what: str
    hint: str | None = None
    kind: str = field(default="recipe", compare=False)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        if self.hint is not None:
            line += f"{' ' if line.endswith(('.', '?', '!')) else '. '}{self.hint}"
        return _CONTROL.sub(lambda match: repr(match[0])[1:-1], hide(line))


def by_place(problems: Iterable[Problem]) -> list[Problem]:
    """Distinct problems, ordered by line of the recipe; problems without a line last, in their order."""

    def line(problem: Problem) -> tuple[int, int]:
        number = re.search(r":(\d+)$", problem.where)
        return (0, int(number[1])) if number else (1, 0)

    return sorted(dict.fromkeys(problems), key=line)


class RefineryError(Exception):
    """Base of every error that refinery raises on purpose. exit_code: what a command ends with."""

    exit_code = 1
    problems: tuple[Problem, ...] = ()  # all problems, if there are several

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython and notebooks show in place of a traceback; REFINERY_TRACEBACK=1 brings that back."""
        if os.environ.get("REFINERY_TRACEBACK"):
            return traceback.format_exception(self)
        return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]


class RecipeError(RefineryError):
    """The recipe, or an option that changes it, is wrong; nothing was run. Holds every problem that was found."""

    exit_code = 2
    partial: Any = None  # the result of the rest of the recipe, so that it can be checked too

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[RecipeError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class DataError(RefineryError):
    """The input cannot be read: no such file, no such column."""

    exit_code = 3


class UnreadableError(DataError):
    """No row of the input could be read. The run has ended; its tables have the reason for every row."""


class OperatorError(RefineryError):
    """An operator or the run itself failed: a file that breaks the operator contract, memory that ran out."""

    exit_code = 4


class StatementTimeout(OperatorError):
    """SQL took longer than its limit."""


class ConservationError(RefineryError):
    """Rows in are not rows kept + removed + quarantined. The results must not be used."""

    exit_code = 5


class OutputError(RefineryError):
    """The results cannot be written: no permission, no space, a run folder that another run holds."""

    exit_code = 6


class QuarantineError(RefineryError):
    """More rows are in quarantine than `max_quarantined` allows; nothing of the run is published."""

    exit_code = 7


class MismatchError(RefineryError):
    """Files of a run are not those whose digests were recorded."""

    exit_code = 8


def problems_of(error: RefineryError, where: str = "") -> list[Problem]:
    """The problems of an error. where: the place for problems that name none."""
    if error.problems:
        return list(error.problems)
    kind = "data" if isinstance(error, DataError) else "output" if isinstance(error, OutputError) else "run"
    problems = []
    for line in str(error).splitlines():
        placed = re.match(r"(\S+\.\w+:\d+): (.+)$", line)
        at, what = (placed[1], placed[2]) if placed else (where, line)
        problems.append(Problem(at, what, None, kind))
    return problems


def error_of(problems: Iterable[Problem]) -> RefineryError:
    """One error with all problems, ordered by place, of the class with the least exit code."""
    ordered = by_place(problems)
    kinds = {problem.kind for problem in ordered}
    if "recipe" in kinds:
        return RecipeError(ordered)
    error = (DataError if "data" in kinds else OutputError)("\n".join(map(str, ordered)))
    error.problems = tuple(ordered)
    return error


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """The question `Did you mean 'min_num'?` with the one to three nearest known names, or None when none is near.

    Letter case and the difference between dash, underscore and space do not count; a part of a name that no other
    shares finds it too (`email` for `clean_email_mapper`).
    """
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(_fold(candidate), candidate)
    wanted = _fold(name)
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.7)
    if near:
        best = difflib.SequenceMatcher(None, wanted, near[0]).ratio()
        near = [n for n in near if difflib.SequenceMatcher(None, wanted, n).ratio() > best - 0.05]
    elif len(wanted) >= 3:
        near = [other for other in folded if wanted in other or (len(other) > 3 and other in wanted)]
        near = near if len(near) <= 3 else []
    if not near:
        return None
    return f"Did you mean {' or '.join(repr(folded[n]) for n in near)}?"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`suggestion` to be appended to a message: `. Did you mean 'min_num'?`, or nothing."""
    question = suggestion(name, known)
    return f". {question}" if question else ""


def _fold(name: str) -> str:
    return name[:100].strip().lower().replace("-", "_").replace(" ", "_")
