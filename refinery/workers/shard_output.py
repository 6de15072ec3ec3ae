"""Output of a shard besides kept samples: facts, quarantined rows, match keys, numbers and lines of rows, removed samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.arrays import write_arrays
from refinery.common.lazy import pc, pq
from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.io.readers.registry import reader_of
from refinery.io.text_columns import is_plain_text
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import ints, numbers, of_records, present, rows_at, whole
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.export_repeats import further
from refinery.workers.facts import WholeShardFacts
from refinery.workers.match_keys import SHARD_BITS, keys_table, write_keys
from refinery.workers.new_values import new_values
from refinery.workers.quarantined_rows import QUARANTINE
from refinery.workers.tasks import ShardResult, Task

# First row, and the number to add to a row's number for its line; None where it is not known.
LineOffset = tuple[int, int | None]
# Most distances of a shard: a file of many blank lines, or a choice of many samples, does not make a table of them.
MOST = 10_000


class LineOffsets:
    """Collects the lines of a shard's samples, good and bad, batch by batch.

    The distance from a sample's number to its line changes at blank lines alone, so that few pairs have all lines.
    """

    def __init__(self) -> None:
        self._pairs: list[LineOffset] = []
        self._first: int | None = None
        self._last: tuple[int, int] | None = None  # file and distance of the last row

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch, which come after those of the batches before."""
        rows = np.concatenate((batch.rows, np.array([bad.row for bad in batch.bad], np.int64)))
        if not len(rows) or len(self._pairs) > MOST:
            return
        lines = np.concatenate((batch.line_numbers, np.array([bad.line for bad in batch.bad], np.int64)))
        order = np.argsort(rows, kind="stable")
        rows, distances = rows[order], (lines - rows)[order]
        files = self._files(batch)[order]
        starts = np.flatnonzero((np.diff(files, prepend=-1) != 0) | (np.diff(distances, prepend=distances[0]) != 0))
        if self._last == (int(files[0]), int(distances[0])):
            starts = starts[1:]
        self._first = int(rows[0]) if self._first is None else self._first
        self._pairs += [(int(rows[at]), int(distances[at])) for at in starts[: MOST + 1]]
        self._last = int(files[-1]), int(distances[-1])

    @staticmethod
    def _files(batch: Batch) -> np.ndarray:
        """Number of the file of each row of a batch, good and bad."""
        good = np.zeros(len(batch.rows), np.int64) if batch.files is None else batch.files
        return np.concatenate((good, np.array([bad.file for bad in batch.bad], np.int64)))

    def pairs(self) -> tuple[LineOffset, ...]:
        """The distances, each from its row on; one that is unknown where there are too many."""
        if len(self._pairs) > MOST and self._first is not None:
            return ((self._first, None),)
        return tuple(self._pairs)


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


@dataclass
class ShardOutput:
    """Results of a shard's batches, collected until all batches are done.

    empty: the statement's result for no samples, where no batch has any.
    """

    program: Program
    shard: Shard
    task: Task
    empty: Callable[[], pa.Table]
    result: ShardResult = field(init=False)
    facts: list[pa.Table] = field(default_factory=list)
    bad: list[dict[str, Any]] = field(default_factory=list)
    match_keys: list[pa.Table] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    files: list[np.ndarray] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    batches: int = 0
    lines: LineOffsets = field(default_factory=LineOffsets)

    def __post_init__(self) -> None:
        self.result = ShardResult(self.shard.index)

    def add(self, batch: Batch, done: pa.Table | None) -> tuple[np.ndarray, pa.Table | None]:
        """Add a batch; returns its kept samples and their rows of `done`. done: the facts; None for a plain copy."""
        if done is None:
            keep = np.arange(len(batch)) if batch.chosen is None else batch.chosen
        else:
            self.facts.append(self._facts(batch.rows, done))
            done = _kept(done)
            keep = numbers(done["_i"])
        if not self.task.last:
            self.rows.append(np.stack((batch.rows[keep], batch.line_numbers[keep])))
        if self.program.match_keys and done is not None:
            numbered = batch.rows[keep] + (self.shard.index << SHARD_BITS)
            self.match_keys.append(keys_table(done, self.program.match_keys, self.program.key_columns, numbered))
        self._count(batch, len(keep))
        self.result.repeats += further(self.program, done)
        return keep, done

    def add_whole(self, known: WholeShardFacts) -> None:
        """Add the facts of all samples, which are not read; no match keys are left."""
        keep = numbers(known.rows.filter(pc.is_null(known.rows["_dropped"]))["_i"])
        self.facts, self.bad = [self._facts(known.numbers, known.rows)], known.bad
        if not self.task.last:  # lines are not needed where the next stage reads the input
            self.rows.append(np.stack((known.numbers[keep], np.zeros(len(keep), np.int64))))
        self.result.rows, self.result.kept = len(known.numbers) + len(known.bad), len(keep)
        self.result.lines = known.lines

    def _count(self, batch: Batch, kept: int) -> None:
        result = self.result
        result.verbatim = batch.verbatim and (result.verbatim or self.batches == 0)
        self.batches += 1
        result.kept += kept
        result.rows += (len(batch.rows) if batch.chosen is None else len(batch.chosen)) + len(batch.bad)
        result.lines = max(result.lines, batch.lines_seen)
        result.bytes += batch.table.nbytes
        if self.shard.part is None and not reader_of(self.shard.source).one_sample:
            self.lines.add(batch)
        if batch.files is not None:
            self.files += [batch.files, np.array([bad.file for bad in batch.bad], np.int32)]

    def rows_of(self) -> tuple[int, ...]:
        """Number of rows of each file, where batches name the files of their rows."""
        if not self.files or self.shard.part is not None:
            return ()
        return tuple(np.bincount(np.concatenate(self.files), minlength=len(self.shard.sources)).tolist())

    def leave(self, leaving: ShardPublisher) -> None:
        """Write facts, quarantine, match keys and row numbers of the shard."""
        result, stem = self.result, f"{self.task.folder}/{self.shard.index:05d}"
        result.key, result.quarantined = leaving.key, len(self.bad)
        result.line_offsets = self.lines.pairs()
        if not self.program.copies:
            result.facts = _publish(leaving, f"{stem}.facts.parquet", self.facts or [self._no_facts()])
        if self.bad:
            table = of_records(sorted(self.bad, key=lambda row: row["_row"]), QUARANTINE)
            result.quarantine = _publish(leaving, f"{stem}.quarantine.parquet", [table])
        if self.match_keys:
            name = f"{stem}.marks.parquet"
            result.match_keys = leaving.publish(write_keys(leaving.scratch(name), self.match_keys), name)
        if not self.task.last:
            result.rows_left = self._leave_rows(leaving, f"{stem}.rows.arrow")

    def _leave_rows(self, leaving: ShardPublisher, name: str) -> str:
        aside = leaving.scratch(name)
        write_arrays(aside, np.concatenate(self.rows, axis=1) if self.rows else np.zeros((2, 0), np.int64))
        return leaving.publish(aside, name)

    def _facts(self, rows: np.ndarray, done: pa.Table) -> pa.Table:
        kept = ints(rows[numbers(done["_i"])])
        return pa.table({"_row": kept, **{name: done[name] for name in self.program.facts}})

    def _no_facts(self) -> pa.Table:
        return self._facts(np.zeros(0, np.int64), self.empty())


def _kept(done: pa.Table) -> pa.Table:
    """The rows that no step has removed. Texts to write are NULL in all others, so they are not copied."""
    if done["_dropped"].null_count == len(done):
        return done
    return rows_at(done, np.flatnonzero(~present(whole(done["_dropped"]))))


def _publish(leaving: ShardPublisher, name: str, tables: list[pa.Table]) -> str:
    aside: Path = leaving.scratch(name)
    table = pa.concat_tables(tables)
    texts = [field.name for field in table.schema if is_plain_text(field.type)]
    pq.write_table(table, aside, compression="zstd", use_dictionary=texts or False)  # numbers seldom repeat
    return leaving.publish(aside, name)
