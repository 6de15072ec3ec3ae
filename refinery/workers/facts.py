"""Fact sources: where a worker gets the facts of a shard's rows. Facts are computed, or stored by an earlier run.

To compute them, the program's statement runs over each batch, and rows that it raises on are isolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.errors import ConservationError
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.kernels.core.arrow import numbers
from refinery.workers import quarantined_rows
from refinery.workers.program_connection import ProgramConnection
from refinery.workers.row_errors import Failure, RowIsolation
from refinery.workers.tasks import Task


@dataclass(frozen=True)
class BatchFacts:
    """Facts of a batch. rows: the statement's result, `_i` in order. bad: quarantined rows. profile: DuckDB's, as JSON."""

    rows: pa.Table
    bad: list[dict[str, Any]]
    profile: str = "{}"


@dataclass(frozen=True)
class WholeShardFacts:
    """Facts of all of a shard's rows, known without reading it.

    numbers: of its samples. rows: the statement's result for them, with `_i` from 0. bad: quarantined rows. lines:
    physical lines.
    """

    numbers: np.ndarray
    rows: pa.Table
    bad: list[dict[str, Any]]
    lines: int


class FactSource(Protocol):
    """Facts of the rows of one shard after another, for one worker."""

    def begin(self, shard: Shard, task: Task) -> None:
        """Begin a shard."""

    def whole(self, shard: Shard, task: Task) -> WholeShardFacts | None:
        """Facts of the whole shard, if it need not be read; else None."""

    def of(self, shard: Shard, batch: Batch, first_row: int) -> BatchFacts:
        """Facts of a batch of the shard. Raises ConservationError if not every row is accounted for once."""


class ComputedFacts:
    """Facts computed on a connection; see FactSource."""

    def __init__(self, connection: ProgramConnection) -> None:
        self.connection, self.program = connection, connection.program
        self._attempts = RowIsolation(self.program, connection.query)
        self._blamed: dict[int, tuple[int, str]] = {}

    def begin(self, shard: Shard, task: Task) -> None:
        """Begin a shard: rows that the task blames are left out."""
        self._blamed = {row: (step, error) for row, step, error in task.blamed}

    def whole(self, shard: Shard, task: Task) -> WholeShardFacts | None:
        """None: the shard must be read."""
        return None

    def of(self, shard: Shard, batch: Batch, first_row: int) -> BatchFacts:
        """Run the statement over a batch."""
        bad = list(quarantined_rows.unreadable(shard, batch))
        done, failures = self.attempt(batch, first_row)
        _see_that_all_are_there(shard, batch, done, failures)
        bad += quarantined_rows.failed(self.program, shard, batch, failures)
        reasons = done["_bad"]
        if reasons.null_count < len(reasons):
            bad += quarantined_rows.no_samples(self.program, shard, batch, done)
            done = done.filter(pc.is_null(reasons))
        return BatchFacts(done, bad, self.connection.profile())

    def attempt(self, batch: Batch, first_row: int = 0) -> tuple[pa.Table, list[Failure]]:
        """Run the statement over a batch, without blamed rows and rows that it raises on; see RowIsolation.run."""
        if not self._blamed:
            return self._attempts.run(batch, first_row)
        blamed = np.isin(batch.rows, np.fromiter(self._blamed, np.int64))
        known = [Failure(int(at), *self._blamed[int(batch.rows[at])]) for at in np.flatnonzero(blamed)]
        done, failed = self._attempts.run(batch, first_row, np.flatnonzero(~blamed))
        return done, [*known, *failed]

    def error_of(self, probe: int, batch: Batch, first_row: int) -> str | None:
        """Error message of a probe's expression over a batch; None when it does not raise."""
        return self._attempts.error_of(probe, batch, first_row)


def _see_that_all_are_there(shard: Shard, batch: Batch, done: pa.Table, failed: Sequence[Failure]) -> None:
    """Check that each sample left the statement once or failed: a sum hides a lost sample beside a doubled one.

    Raises ConservationError.
    """
    at = np.sort(np.concatenate((numbers(done["_i"]), np.fromiter((one.at for one in failed), np.int64))))
    if not np.array_equal(at, np.arange(len(batch.rows))):
        lost = len(batch.rows) - len(np.unique(at))
        twice = len(at) - len(np.unique(at))
        raise ConservationError(
            f"rows do not add up: {shard.source.path}: of {len(batch.rows)} rows from {int(batch.rows[0])} on "
            f"{lost} were lost, {twice} are there twice"
        )
