"""The removed samples of a shard, for the recipe's `removed_path`: written beside the facts, in the same pass."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pyarrow as pa

from refinery.common.arrays import write_arrays
from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import numbers, present, rows_at, whole
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.new_values import new_values
from refinery.workers.tasks import ShardResult

# Compression of JSON lines, which are read once more at the end of the run.
_COMPRESSION = "lz4"


class RemovedSamples:
    """Writer of removed samples, with their texts as they reached the step that has removed them.

    First those of the shard's own steps, then those that the deduplicator before the stage has removed. stem: name of the
    shard's files. active: False if the recipe does not ask for them; nothing is written then.
    """

    def __init__(self, program: Program, leaving: ShardPublisher, stem: str, active: bool) -> None:
        self._program, self._leaving, self._stem, self.active = program, leaving, stem, active
        self._rows: list[np.ndarray] = []
        name = leaving.scratch(f"{stem}.removed") if active else ""
        self.writer = PartWriter(name, program.lines, _COMPRESSION if program.lines else None)

    def writing(self) -> AbstractContextManager[object]:
        """The context in which samples are added."""
        return self.writer if self.active else nullcontext()

    def add(self, batch: Batch, done: pa.Table | None) -> None:
        """Add the samples that the steps remove. done: the facts of the batch; None for a plain copy."""
        if not self.active or done is None:
            return
        at = np.flatnonzero(present(whole(done["_dropped"])))
        if not len(at):
            return
        gone = rows_at(done, at)
        keep = numbers(gone["_i"])
        self._rows.append(batch.rows[keep])
        self.writer.write(batch, keep, *new_values(self._program, gone))

    def add_all(self, batch: Batch) -> None:
        """Add all samples of a batch, which a deduplicator has removed."""
        if len(batch):
            self._rows.append(batch.rows)
            self.writer.write(batch, np.arange(len(batch)))

    def leave(self, result: ShardResult) -> None:
        """Publish the files, if there are samples."""
        if not self._rows or self.writer.path is None:
            return
        name, rows = f"{self._stem}.removed{self.writer.suffix}", f"{self._stem}.removed_rows.arrow"
        result.removed, result.removed_bytes = self._leaving.publish(self.writer.path, name), self.writer.bytes
        aside = self._leaving.scratch(rows)
        write_arrays(aside, np.concatenate(self._rows))
        result.removed_rows = self._leaving.publish(aside, rows)
