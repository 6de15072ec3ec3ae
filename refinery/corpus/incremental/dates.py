"""Dates by which `keep: newest` prefers samples of a corpus: a change after which no sample has one fails, as a run does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from refinery.compiler.kept_order import NEWEST
from refinery.dedup.kept_dates import notes_on_dates

# Numbers of compared samples, and of those without a date, by stage.
Counts = dict[str, list[int]]


@dataclass(frozen=True)
class Dates:
    """Dates of the samples that the deduplicator at the end of a stage compares. counts: of all stages before the change."""

    step: Any
    stage: int
    counts: Counts

    def change(self, left: pa.Table | None, entered: pa.Table | None) -> list[str]:
        """Count the samples after a change; returns the note on those without a date. left, entered: match keys.

        Raises OperatorError if no sample has a date.
        """
        if self.step.params.get("keep") != NEWEST:
            return []
        rows, missing = self.counts.get(str(self.stage), [0, 0])
        for table, sign in ((left, -1), (entered, 1)):
            if table is not None and len(table):
                rows += sign * len(table)
                missing += sign * table["order_0"].null_count
        self.counts[str(self.stage)] = [rows, missing]
        return notes_on_dates(self.step, {"rows": rows, "counts": [missing]})
