"""Runs one shard: reads batches, takes their facts from a source, writes kept samples and facts.

The same code serves threads, processes and clusters: its input is plain data, and workers share nothing.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.arrays import read_array
from refinery.common.lazy import duckdb, pc
from refinery.compiler.program import Program
from refinery.io.model import Part, Shard
from refinery.io.readers.passed_over import counted
from refinery.io.readers.read import Batch, read
from refinery.io.readers.shared_decompression import keep_in
from refinery.io.side_files import SideFiles
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import numbers, of_texts, whole
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers import joined_shards
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.export_repeats import repeated
from refinery.workers.facts import ComputedFacts, FactSource, WholeShardFacts
from refinery.workers.match_keys import removed_from, unwritable
from refinery.workers.new_values import new_values
from refinery.workers.observer import SilentObserver, WorkerObserver
from refinery.workers.program_connection import ProgramConnection
from refinery.workers.row_errors import Failure
from refinery.workers.shard_output import RemovedSamples, ShardOutput
from refinery.workers.step_seconds import seconds_by_step
from refinery.workers.tasks import ShardResult as ShardResult
from refinery.workers.tasks import Task as Task


def computed(facts: ComputedFacts) -> FactSource:
    """The fact source of workers that compute everything."""
    return facts


class Worker:
    """One thread with a connection, a source of facts and an observer.

    facts: makes the source; it is given the one that computes, for rows that it does not know.
    """

    def __init__(
        self,
        program: Program,
        memory_limit: str | None = None,
        temporary: str | None = None,
        threads: int = 1,
        facts: Callable[[ComputedFacts], FactSource] = computed,
        observer: WorkerObserver | None = None,
    ) -> None:
        self.program = program
        self._observer = observer or SilentObserver()
        self._beside = SideFiles(program.beside)
        keep_in(temporary)
        self.connection = ProgramConnection(program, memory_limit, temporary, threads, self._observer)
        self._computed = ComputedFacts(self.connection)
        self._facts = facts(self._computed)
        self._stopped = threading.Event()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def stop(self) -> None:
        """Interrupt the running query, start no other, and mark no shard as done; called from another thread."""
        self._stopped.set()
        self.connection.stop()

    # The statement by itself

    def bind(self, shards: Sequence[Shard]) -> None:
        """Run the statement over no rows. Raises DuckDB's error if it does not bind, or keys cannot be written."""
        done = self.connection.query(self.program.pass_sql, self._sample(shards), 0)
        if kind := unwritable(done, self.program.match_keys):
            raise duckdb.NotSupportedError(f"values of type {kind} cannot be compared; CAST them to VARCHAR")

    def _sample(self, shards: Sequence[Shard]) -> Batch:
        for shard in shards:
            for batch in read(shard, 1 << 16):
                return batch.take(np.array([], np.int64))
        return self.connection.no_samples()

    def explain(self, shards: Sequence[Shard]) -> str:
        """DuckDB's plan of the statement."""
        return self.connection.explain(self._sample(shards))

    def measure(self, batch: Batch, first_row: int = 0) -> pa.Table:
        """Run the statement over one batch and return its rows; `profile` then gives its cost."""
        return self.connection.query(self.program.pass_sql, batch, first_row)

    def profile(self) -> str:
        """DuckDB's profile of the last query, as JSON."""
        return self.connection.profile()

    def attempt(self, batch: Batch, first_row: int = 0) -> tuple[pa.Table, list[Failure]]:
        """Run the statement over a batch without the rows that it raises on; see ComputedFacts.attempt."""
        return self._computed.attempt(batch, first_row)

    def error_of(self, probe: int, batch: Batch, first_row: int) -> str | None:
        """Error message of a probe's expression over a batch; None when it does not raise."""
        return self._computed.error_of(probe, batch, first_row)

    # A shard

    def run(self, shard: Shard, task: Task) -> ShardResult:
        """Run one shard; its files are left in `task.folder` of the store, each complete or absent.

        The done mark is written last; for a shard that writes a piece of the export, when the piece has its place.
        """
        self._facts.begin(shard, task)
        output = ShardOutput(self.program, shard, task, self._of_no_samples)
        whole = self._facts.whole(shard, task)
        return self._read_and_leave(output) if whole is None else self._leave_whole(output, whole)

    def _leave_whole(self, output: ShardOutput, known: WholeShardFacts) -> ShardResult:
        """Leave known facts; they are not stored for later runs."""
        output.add_whole(known)
        leaving = ShardPublisher(output.shard, replace(output.task, key=""), self._stopped.is_set)
        output.leave(leaving)
        leaving.mark(output.result)
        return output.result

    def _read_and_leave(self, output: ShardOutput) -> ShardResult:
        shard, task, result = output.shard, output.task, output.result
        leaving = ShardPublisher(shard, task, self._stopped.is_set)
        self._beside.require()
        stem = f"{task.folder}/{shard.index:05d}"
        piece = task.output.piece(shard.index, partial(leaving.mark, result)) if task.output is not None else None
        base = leaving.scratch(stem) if piece is None and task.write else ""
        writer = PartWriter(base, self.program.lines, task.compression, piece, task.fields)
        removed = RemovedSamples(self.program, leaving, stem, task.removed)
        with writer if task.write else nullcontext():
            with removed.writing():
                with leaving.reading(), counted() as beside:
                    for batch in self.batches(shard, task):
                        self._pass(batch, output, writer, removed)
                for batch in self._removed_before(shard, task):
                    removed.add_all(batch)
            removed.leave(result)
            result.seconds, result.rows_of = dict(output.seconds), output.rows_of()
            result.passed_over = tuple(sorted(beside.items()))
            self._beside.require()  # before the key of the result is recorded
            for reader in {source.reader for source in shard.sources if source.reader}:
                self.connection.undeclared.follow(Path(reader))
            result.undeclared = self.connection.undeclared.notes()
            if result.undeclared:
                leaving.key = uuid.uuid4().hex  # the inputs of the result are unknown: a key that never matches
            output.leave(leaving)
        if writer.path is not None:
            result.part, result.part_bytes = f"{stem}{writer.suffix}", writer.bytes
            leaving.publish(writer.path, result.part)
        if piece is None or not task.write:
            leaving.mark(result)
        return result

    def _pass(self, batch: Batch, output: ShardOutput, writer: PartWriter, removed: RemovedSamples) -> None:
        """Take the facts of a batch, and write the samples that stay."""
        started, done = time.perf_counter(), None
        if not self.program.copies:
            facts = self._facts.of(output.shard, batch, output.task.first_row)
            elapsed = time.perf_counter() - started
            for step, spent in seconds_by_step(facts.profile, self.program, elapsed).items():
                output.seconds[step] += spent
            output.bad += facts.bad
            done = facts.rows
            removed.add(batch, done)
        keep, alive = output.add(batch, done)
        self._observer.passed(len(batch), batch.table.nbytes)
        if output.task.write:
            for rows, known in repeated(self.program, batch, keep, alive):
                self._write(writer, batch, rows, known, output.task.add_suffix)

    def _write(
        self, writer: PartWriter, batch: Batch, keep: np.ndarray, alive: pa.Table | None, add_suffix: bool
    ) -> None:
        replaced: dict[Any, pa.Array] = {}
        extra: dict[str, pa.Array] = {}
        if alive is not None:
            replaced, extra = new_values(self.program, alive)
            extra |= {"__dj__stats__": whole(alive["_stats"])} if self.program.stats_json else {}
        if add_suffix:
            suffixes = batch.suffixes()
            extra["__dj__suffix__"] = of_texts([json.dumps(suffixes[i]) for i in keep.tolist()])
        writer.write(batch, keep, replaced, extra)

    def _of_no_samples(self) -> pa.Table:
        return self.connection.query(self.program.pass_sql, self.connection.no_samples(), 0)

    # Rows of a shard

    def batches(self, shard: Shard, task: Task) -> Iterator[Batch]:
        """The batches of a shard, with the columns that earlier stages have left."""
        whole = self.program.copies and task.last
        shard = fetched(shard, task.store)
        batches = read(shard, task.batch_bytes, task.batch_rows, carry=carried(self.program), whole=whole)
        return self._reported(batches)

    def _removed_before(self, shard: Shard, task: Task) -> Iterator[Batch]:
        """The samples that the deduplicator before the stage has removed, if they are to be written."""
        part = shard.part
        if not task.removed or part is None or (part.removed is None and part.removed_in is None):
            return
        gone = _removed(part, open_store(task.store))
        if len(gone):
            only = replace(shard, part=replace(part, only=gone, only_in="", picked=None))
            yield from read(fetched(only, task.store), task.batch_bytes, task.batch_rows)

    def _reported(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Batches, of which the observer knows the row that is read next."""
        self._observer.reads(0)
        for batch in batches:
            yield batch
            last = max(
                (int(rows[-1]) for rows in (batch.rows, [bad.row for bad in batch.bad]) if len(rows)), default=-1
            )
            self._observer.reads(last + 1)
        self._observer.reads(None)

    def matching(self, shard: Shard, task: Task) -> list[int]:
        """Numbers, within the shard, of the rows that every step keeps."""
        places: list[int] = []
        for batch in self.batches(shard, task):
            done, _ = self.attempt(batch, task.first_row)
            kept = done.filter(pc.and_(pc.is_null(done["_dropped"]), pc.is_null(done["_bad"])))
            places += batch.rows[numbers(kept["_i"])].tolist()
        return places

    def replay(self, shard: Shard, rows: Sequence[int], task: Task) -> Iterator[tuple[Batch, pa.Table]]:
        """Recompute chosen rows (numbers within the shard): samples as read, with every version of their texts."""
        for _, part, done in self.replay_all([(shard, rows, task)]):
            yield part, done

    def replay_all(self, places: Iterable[tuple[Shard, Sequence[int], Task]]) -> Iterator[tuple[int, Batch, pa.Table]]:
        """Recompute chosen rows of several shards in few statements; each part with the position of its shard."""
        parts = (part for at, place in enumerate(places) for part in self._chosen(at, *place))
        for group in joined_shards.groups(parts):
            done = self.connection.over(self.program.replay_sql, joined_shards.joined(group))
            for part, own in joined_shards.apart(group, done):
                yield part.of, part.batch, own

    def _chosen(self, at: int, shard: Shard, rows: Sequence[int], task: Task) -> Iterator[joined_shards.ChosenRows]:
        wanted, count = np.array(sorted(set(rows)), np.int64), 0
        for batch in self.batches(shard, task):
            index = np.flatnonzero(np.isin(batch.rows, wanted))
            if len(index):
                part = batch.take(index)
                yield joined_shards.ChosenRows(at, part, self.connection.relation(part, task.first_row))
                count += len(index)
            if count == len(wanted):
                break


def carried(program: Program) -> tuple[str, ...]:
    """Columns of earlier stages that a program reads."""
    return (*program.carried, *([program.removed] if program.removed else []))


def fetched(shard: Shard, url: str) -> Shard:
    """The shard with the files that earlier stages left of it fetched to this machine."""
    part = shard.part
    if part is None or not url:
        return shard
    store = open_store(url)
    part = _with_picked(part, store)
    source = part.source and replace(part.source, path=str(store.fetch(part.source.path)))
    return replace(
        shard, part=replace(part, source=source, tables=tuple(str(store.fetch(name)) for name in part.tables))
    )


def _removed(part: Part, store: Store) -> np.ndarray:
    """Numbers in the shard of the samples that the last deduplicator has removed."""
    if part.removed_in is None:
        assert part.removed is not None
        return part.removed
    return removed_from(store, part.removed_in)


def _with_picked(part: Part, store: Store) -> Part:
    """The part with the samples that stages have left; see Part."""
    if part.picked is not None:
        return part
    if part.only_in:
        stays = read_array(store.fetch(part.only_in))
    elif part.only is None:
        left, _ = read_array(store.fetch(part.rows))
        stays = left[~np.isin(left, _removed(part, store), assume_unique=True)]
    else:
        stays = part.only
    if part.source is None:
        return replace(part, picked=stays)
    there, lines = (
        (part.numbers, part.line_numbers) if part.numbers is not None else read_array(store.fetch(part.of_file))
    )
    picked = np.flatnonzero(np.isin(there, stays, assume_unique=True))
    return replace(part, picked=picked, numbers=there, line_numbers=lines)
