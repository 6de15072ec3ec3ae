"""Recomputes single samples of a run as `refinery why` does, where the input is still what it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from refinery.engine.replay import versions_before
from refinery.errors import RefineryError
from refinery.history import Histories
from refinery.retelling import Seen


@dataclass
class Told:
    """A sample's way. text: as the step that was asked for was given it. kept: that of the sample that stays instead.

    changes: by step the text before and after.
    """

    text: str = ""
    kept: str | None = None
    changes: dict[int, tuple[str, str]] = field(default_factory=dict)


class Again:
    """Samples of one run, recomputed. why_not: why they cannot be, in a sentence; empty where they can."""

    def __init__(self, work_dir: Path) -> None:
        self.why_not = ""
        self.histories: Histories | None = None
        try:
            self.histories = Histories(work_dir)
        except (RefineryError, duckdb.Error) as error:
            self.why_not = str(error).splitlines()[0].removeprefix(f"{work_dir}: ")

    def __enter__(self) -> Again:
        return self

    def __exit__(self, *_: object) -> None:
        if self.histories is not None:
            self.histories.__exit__()

    @property
    def possible(self) -> bool:
        """Whether samples can be recomputed."""
        return self.histories is not None

    def tell(self, row: int, step: int | None = None, kept: int | None = None) -> Told:
        """What became of a row up to `step`; kept: the row that a deduplicator kept instead."""
        told = Told()
        if self.histories is None:
            return told
        retelling = self.histories.retelling
        for seen in retelling.walk(retelling.place(row)):
            told.changes |= _changes(seen)
            if step is not None and _is_in(seen, step):
                told.text = self._text(seen, step)
                if kept is not None:
                    told.kept = self.text_at(kept, step)
                break
        return told

    def text_at(self, row: int, step: int) -> str | None:
        """The text of a row as `step` was given it."""
        if self.histories is None:
            return None
        retelling = self.histories.retelling
        for seen in retelling.walk(retelling.place(row)):
            if _is_in(seen, step):
                return self._text(seen, step)
        return None

    def _text(self, seen: Seen, step: int) -> str:
        assert self.histories is not None
        [known] = [known for known in self.histories.prepared.recipe.steps if known.index == step]
        return seen.text_given_to(known) or ""


def _is_in(seen: Seen, step: int) -> bool:
    """Whether a step belongs to a stage, or is the deduplicator at its end."""
    after = seen.planned.stage.after
    return any(info.index == step for info in seen.program.steps) or (after is not None and after.index == step)


def _changes(seen: Seen) -> dict[int, tuple[str, str]]:
    """The texts that the steps of a stage changed."""
    found: dict[int, tuple[str, str]] = {}
    values: dict[str, Any] = seen.row.values
    for change in seen.program.changes:
        before = values[versions_before(seen.program, change.step)[change.field]]
        if values[change.changed] and before is not None and values[change.after] is not None:
            found[change.step] = (str(before), str(values[change.after]))
    return found
