"""Output of a shard besides samples: facts, quarantined rows, match keys and numbers of kept rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
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
from refinery.kernels.core.arrow import ints, numbers, of_records, present, rows_at, whole
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.export_repeats import further
from refinery.workers.fact_source import WholeShardFacts
from refinery.workers.line_offsets import LineOffsets
from refinery.workers.match_keys import SHARD_BITS, keys_table, write_keys
from refinery.workers.quarantined_rows import QUARANTINE
from refinery.workers.tasks import ShardResult, Task


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
