"""Fact sources: where a worker gets the facts of a shard's rows. Facts are computed, or stored by an earlier run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery.io.batch import Batch
from refinery.io.model import Shard
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
