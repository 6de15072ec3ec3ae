"""Rows that a change takes out of the input of a stage, and rows that it brings into it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from refinery.corpus.engine import KEPT, QUARANTINED, WITHDRAWN
from refinery.corpus.incremental.rows import NONE
from refinery.kernels.core.arrow import ints, numbers


@dataclass(frozen=True)
class RowDelta:
    """Rows that leave and rows that enter, ascending. A row in both has another text than before."""

    leave: np.ndarray = field(default_factory=lambda: NONE)
    enter: np.ndarray = field(default_factory=lambda: NONE)


class Outcomes:
    """Outcomes of rows whose outcome may change; of several of a row, the last one counts."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, rows: np.ndarray, step: np.ndarray | int, instead: np.ndarray | None = None) -> None:
        """Add outcomes. step: as in `corpus.engine`. instead: the rows that stay in their place."""
        steps = np.broadcast_to(np.asarray(step, np.int32), len(rows))
        self._parts.append((rows, steps, np.full(len(rows), -1, np.int64) if instead is None else instead))

    def table(self) -> pa.Table:
        """The outcomes, by `_row`: `step`, `instead` (NULL for none)."""
        rows, steps, instead = (np.concatenate([part[at] for part in self._parts] or [NONE]) for at in (0, 1, 2))
        row, last = np.unique(rows[::-1], return_index=True)
        steps, instead = steps[::-1][last].astype(np.int32), instead[::-1][last]
        return pa.table({"_row": ints(row), "step": ints(steps), "instead": ints(instead, instead >= 0)})


def tally(table: pa.Table) -> dict[str, int]:
    """Number of rows by kind of outcome."""
    step = numbers(table["step"]) if len(table) else NONE
    kinds = {
        "kept": step == KEPT,
        "removed": step > 0,
        "quarantined": step == QUARANTINED,
        "withdrawn": step == WITHDRAWN,
    }
    return {name: int(mask.sum()) for name, mask in kinds.items()}
