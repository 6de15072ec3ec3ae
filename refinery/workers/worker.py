"""Runs one shard: reads batches, runs the program's SELECT over each, writes kept samples and facts.

The same code serves threads, processes and clusters: its input is plain data, and workers share nothing.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refinery.common.connections import connect, lock
from refinery.common.fields import field_name
from refinery.common.redaction import hide
from refinery.compiler.model import BatchColumn
from refinery.compiler.program import Program, pretty
from refinery.errors import ConservationError
from refinery.io.model import Shard
from refinery.io.readers.read import Batch, explain_json, read
from refinery.io.readers.shared_decompression import keep_in
from refinery.io.side_files import SideFiles
from refinery.io.writers.write import PartWriter
from refinery.kernels.core.arrow import from_zero, ints, numbers, of_records, of_texts
from refinery.operators import Function
from refinery.storage.open import open_store
from refinery.workers import joined_shards
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.functions import conduct, register
from refinery.workers.match_keys import SHARD_BITS, keys_table, unwritable, write_keys
from refinery.workers.row_errors import Failure, RowIsolation
from refinery.workers.statement_limits import StatementLimit
from refinery.workers.tasks import ShardResult as ShardResult
from refinery.workers.tasks import Task as Task
from refinery.workers.undeclared_files import Undeclared

# A vector of 2,048 texts may pass 2 GiB, which DuckDB refuses without `arrow_large_buffer_size`.
_SETTINGS = "SET arrow_large_buffer_size = true; SET preserve_insertion_order = true;"

QUARANTINE = pa.schema(
    [
        ("_row", pa.int64()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("step", pa.int32()),
        ("operator", pa.string()),
        ("error", pa.string()),
        ("raw", pa.large_binary()),
    ]
)


@dataclass
class _Left:
    """Results of a shard's batches, collected until all batches are done."""

    facts: list[pa.Table] = field(default_factory=list)
    bad: list[dict[str, Any]] = field(default_factory=list)
    match_keys: list[pa.Table] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    files: list[np.ndarray] = field(default_factory=list)

    def count(self, batch: Batch) -> None:
        """Note the file of each of the batch's rows, where the shard has several files."""
        if batch.files is not None:
            self.files += [batch.files, np.array([bad.file for bad in batch.bad], np.int32)]

    def rows_of(self, shard: Shard) -> tuple[int, ...]:
        """Number of rows of each file, where batches name the files of their rows."""
        if not self.files or shard.part is not None:
            return ()
        return tuple(np.bincount(np.concatenate(self.files), minlength=len(shard.sources)).tolist())


class Worker:
    """One DuckDB connection on one thread, with the program's functions registered."""

    def __init__(
        self, program: Program, memory_limit: str | None = None, temporary: str | None = None, threads: int = 1
    ) -> None:
        self.program = program
        self._blamed: dict[int, tuple[int, str]] = {}
        self._profile_text = "{}"
        self._stopped = False
        self._attempts = RowIsolation(program, self._query)
        self._beside = SideFiles(program.beside)
        self._undeclared = Undeclared(program.beside)
        keep_in(temporary)
        self.con = connect(program.folders, threads, memory=memory_limit, temporary=temporary)
        for statement in _SETTINGS.split(";"):
            if statement.strip():
                self.con.execute(statement).fetchall()
        self._limit = StatementLimit(self.con, program.seconds, program.label)
        self._contract = register(self.con, program.functions, self._callable, self._around)
        self.con.execute("PRAGMA enable_profiling = 'no_output'").fetchall()
        lock(self.con)

    def _callable(self, function: Function) -> Callable[..., Any]:
        """The guarded Python code of a function of the program."""
        return conduct(function, self._undeclared.watched(function, function.resolve()))

    def _around(self, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        """The function that DuckDB calls. run: the function with its results checked."""
        return self._limit.timed(run)

    def close(self) -> None:
        """Close the connection."""
        self.con.close()

    def stop(self) -> None:
        """Interrupt the running query, and start no other; called from another thread."""
        self._stopped = True
        self.con.interrupt()

    def bind(self, shards: Sequence[Shard]) -> None:
        """Run the statement over no rows. Raises DuckDB's error if it does not bind, or keys cannot be written."""
        done = self._query(self.program.pass_sql, self._sample(shards), 0)
        if kind := unwritable(done, self.program.match_keys):
            raise duckdb.NotSupportedError(f"values of type {kind} cannot be compared; CAST them to VARCHAR")

    def _sample(self, shards: Sequence[Shard]) -> Batch:
        for shard in shards:
            for batch in read(shard, 1 << 16):
                return batch.take(np.array([], np.int64))
        return self._no_samples()

    def _no_samples(self) -> Batch:
        return Batch.empty(self.program.lines, [given.name for given in self.program.given if given.kind == "input"])

    def explain(self, shards: Sequence[Shard]) -> str:
        """DuckDB's plan of the statement."""
        self.con.register("batch", self._relation(self._sample(shards), 0))
        with self._limit.kept():
            plan = self.con.execute("EXPLAIN " + self.program.pass_sql).fetchall()[0][1]
        self.con.unregister("batch")
        return str(plan)

    def measure(self, batch: Batch, first_row: int = 0) -> pa.Table:
        """Run the statement over one batch and return its rows; `profile` then gives its cost."""
        return self._query(self.program.pass_sql, batch, first_row)

    def profile(self) -> str:
        """DuckDB's profile of the last query, as JSON."""
        return self._profile_text

    def matching(self, shard: Shard, task: Task) -> list[int]:
        """Numbers, within the shard, of the rows that every step keeps."""
        found: list[int] = []
        for batch in self._read(shard, task):
            done, _ = self.attempt(batch, task.first_row)
            kept = done.filter(pc.and_(pc.is_null(done["_dropped"]), pc.is_null(done["_bad"])))
            found += batch.rows[numbers(kept["_i"])].tolist()
        return found

    def run(self, shard: Shard, task: Task) -> ShardResult:
        """Run one shard; its files are left in `task.folder` of the store, each complete or absent.

        The done mark is written last; for a shard that writes a piece of the export, when the piece has its place.
        """
        self._blamed = {row: (step, error) for row, step, error in task.blamed}
        result = ShardResult(shard.index)
        seconds: dict[int, float] = defaultdict(float)
        left = _Left()
        leaving = ShardPublisher(shard, task)
        self._beside.require()
        piece = task.output.piece(shard.index, partial(leaving.mark, result)) if task.output is not None else None
        base = leaving.scratch(f"{task.folder}/{shard.index:05d}") if piece is None and task.write else ""
        writer = PartWriter(base, self.program.lines, task.compression, piece)
        with writer if task.write else nullcontext():
            with leaving.reading():
                for batch in self._read(shard, task):
                    started = time.perf_counter()
                    if self.program.copies:
                        done = None
                        keep = np.arange(len(batch)) if batch.chosen is None else batch.chosen
                    else:
                        done = self._batch(shard, batch, task.first_row, left.bad)
                        for step, spent in self._profile(time.perf_counter() - started).items():
                            seconds[step] += spent
                        left.facts.append(self._facts(batch, done))
                        done = (
                            done.filter(pc.is_null(done["_dropped"]))
                            if done["_dropped"].null_count < len(done)
                            else done
                        )
                        keep = numbers(done["_i"])
                    if task.write:
                        self._write(writer, batch, keep, done, task.add_suffix)
                    if not task.last:
                        left.rows.append(np.stack((batch.rows[keep], batch.line_numbers[keep])))
                    if self.program.match_keys and done is not None:
                        numbered = batch.rows[keep] + (shard.index << SHARD_BITS)
                        left.match_keys.append(
                            keys_table(done, self.program.match_keys, self.program.key_columns, numbered)
                        )
                    result.kept += len(keep)
                    result.rows += (len(batch.rows) if batch.chosen is None else len(batch.chosen)) + len(batch.bad)
                    result.lines = max(result.lines, batch.lines_seen)
                    left.count(batch)
                    result.bytes += batch.table.nbytes
            result.seconds = dict(seconds)
            result.rows_of = left.rows_of(shard)
            self._beside.require()  # before the key of the result is recorded
            for reader in {source.reader for source in shard.sources if source.reader}:
                self._undeclared.follow(Path(reader))
            result.undeclared = self._undeclared.notes()
            if result.undeclared:
                leaving.key = uuid.uuid4().hex  # the inputs of the result are unknown: a key that never matches
            self._leave(result, left, leaving)
        if writer.path is not None:
            result.part, result.part_bytes = f"{task.folder}/{shard.index:05d}{writer.suffix}", writer.bytes
            leaving.publish(writer.path, result.part)
        if piece is None or not task.write:
            leaving.mark(result)
        return result

    def leave(
        self, shard: Shard, rows: np.ndarray, done: pa.Table, bad: list[dict[str, Any]], task: Task
    ) -> ShardResult:
        """Leave the result of a shard from known facts, without reading it; no samples or match keys are written.

        rows: numbers of its samples. done: the statement's result for them, with `_i` from 0. bad: quarantined rows.
        """
        batch = replace(Batch.empty(self.program.lines), rows=rows)
        keep = numbers(done.filter(pc.is_null(done["_dropped"]))["_i"])
        left = _Left(facts=[self._facts(batch, done)], bad=bad)
        if not task.last:  # lines are not needed where the next stage reads the input
            left.rows.append(np.stack((rows[keep], np.zeros(len(keep), np.int64))))
        result = ShardResult(shard.index, rows=len(rows) + len(bad), kept=len(keep))
        leaving = ShardPublisher(shard, replace(task, key=""))  # given facts are not stored for later runs
        self._leave(result, left, leaving)
        leaving.mark(result)
        return result

    def _read(self, shard: Shard, task: Task) -> Iterator[Batch]:
        program = self.program
        carry = (*program.carried, *([program.removed] if program.removed else []))
        shard = fetched(shard, task.store)
        return read(shard, task.batch_bytes, task.batch_rows, carry=carry, whole=program.copies and task.last)

    def _leave(self, result: ShardResult, left: _Left, leaving: ShardPublisher) -> None:
        """Write facts, quarantine, match keys and row numbers of the shard."""
        stem = f"{leaving.task.folder}/{result.shard:05d}"
        result.key = leaving.key
        result.quarantined = len(left.bad)
        if not self.program.copies:
            result.facts = self._publish(leaving, f"{stem}.facts.parquet", left.facts)
        if left.bad:
            table = of_records(sorted(left.bad, key=lambda row: row["_row"]), QUARANTINE)
            result.quarantine = self._publish(leaving, f"{stem}.quarantine.parquet", [table])
        if left.match_keys:
            name = f"{stem}.marks.parquet"
            result.match_keys = leaving.publish(write_keys(leaving.scratch(name), left.match_keys), name)
        if not leaving.task.last:
            name = f"{stem}.rows.npy"
            aside = leaving.scratch(name)
            np.save(aside, np.concatenate(left.rows, axis=1) if left.rows else np.zeros((2, 0), np.int64))
            result.rows_left = leaving.publish(aside, name)

    def replay(self, shard: Shard, rows: Sequence[int], task: Task) -> Iterator[tuple[Batch, pa.Table]]:
        """Recompute chosen rows (numbers within the shard): samples as read, with every version of their texts."""
        for _, part, done in self.replay_all([(shard, rows, task)]):
            yield part, done

    def replay_all(self, places: Iterable[tuple[Shard, Sequence[int], Task]]) -> Iterator[tuple[int, Batch, pa.Table]]:
        """Recompute chosen rows of several shards in few statements; each part with the position of its shard."""
        sql = pretty(self.program.replay_sql)
        parts = (part for at, place in enumerate(places) for part in self._chosen(at, *place))
        for group in joined_shards.groups(parts):
            for part, done in joined_shards.apart(group, self._over(sql, joined_shards.joined(group))):
                yield part.of, part.batch, done

    def _chosen(self, at: int, shard: Shard, rows: Sequence[int], task: Task) -> Iterator[joined_shards.ChosenRows]:
        wanted, found = np.array(sorted(set(rows)), np.int64), 0
        for batch in self._read(shard, task):
            index = np.flatnonzero(np.isin(batch.rows, wanted))
            if len(index):
                part = batch.take(index)
                yield joined_shards.ChosenRows(at, part, self._relation(part, task.first_row))
                found += len(index)
            if found == len(wanted):
                break

    # One batch

    def _batch(self, shard: Shard, batch: Batch, first_row: int, bad: list[dict[str, Any]]) -> pa.Table:
        self._unreadable(shard, batch, bad)
        done, failed = self.attempt(batch, first_row)
        _see_that_all_are_there(shard, batch, done, failed)
        for failure in failed:
            i, step = failure.at, failure.step
            operator = self.program.names.get(step, "")
            raw = batch.raw(i)
            bad.append(_quarantined(_place(shard, batch, i), step, operator, hide(failure.error), raw))
        reasons = done["_bad"]
        if reasons.null_count < len(reasons):
            for at in pc.indices_nonzero(reasons.is_valid()).to_pylist():  # numpy would import pandas
                i = int(done["_i"][int(at)].as_py())
                raw = batch.raw(i)
                reason = self._reason(reasons[int(at)].as_py(), raw)
                bad.append(_quarantined(_place(shard, batch, i), 0, "", reason, raw))
            done = done.filter(pc.is_null(reasons))
        return done

    def _unreadable(self, shard: Shard, batch: Batch, bad: list[dict[str, Any]]) -> None:
        packed = batch.files is not None
        for item in batch.bad:
            path = shard.sources[item.file].path if packed else shard.path_of(item.row)
            bad.append(_quarantined((item.row, path, item.line), 0, "", item.error, item.raw))

    def _reason(self, reason: str, raw: bytes) -> str:
        name = field_name(self.program.text_key)
        if reason == "no text":
            return _no_text(raw, self.program.text_key) if self.program.lines else f"{name!r} is null"
        return (
            f"{reason}: {explain_json(raw)}"
            if reason == "malformed JSON"
            else f"{reason}: the line is JSON, but no sample"
        )

    def attempt(self, batch: Batch, first_row: int = 0) -> tuple[pa.Table, list[Failure]]:
        """Run the statement over a batch, without blamed rows and rows that it raises on; see Attempts.run."""
        if not self._blamed:
            return self._attempts.run(batch, first_row)
        blamed = np.isin(batch.rows, np.fromiter(self._blamed, np.int64))
        known = [Failure(int(at), *self._blamed[int(batch.rows[at])]) for at in np.flatnonzero(blamed)]
        done, failed = self._attempts.run(batch, first_row, np.flatnonzero(~blamed))
        return done, [*known, *failed]

    def _query(self, sql: str, batch: Batch, first_row: int) -> pa.Table:
        return self._over(sql, self._relation(batch, first_row))

    def _over(self, sql: str, relation: pa.Table) -> pa.Table:
        if self._stopped:
            raise duckdb.InterruptException("stopped")
        self.con.register("batch", relation)
        try:
            with self._contract.kept(), self._limit.kept():
                done = self.con.sql(sql).to_arrow_table()
            self._profile_text = self.con.get_profiling_information("json")  # lost at the next statement
        finally:
            self.con.unregister("batch")
        if "_i" in done.column_names:
            order = numbers(done["_i"])
            if len(order) > 1 and not (order[1:] > order[:-1]).all():
                done = done.take(ints(np.argsort(order, kind="stable")))
        return done

    def _relation(self, batch: Batch, first_row: int) -> pa.Table:
        rows = len(batch.rows)
        columns: dict[str, Any] = {"_i": ints(np.arange(rows, dtype=np.int64))}
        if self.program.lines:
            columns["_line"] = batch.table["_line"]
            if len(self.program.text_key) == 1:
                columns["_text"] = batch.member(self.program.text_key[0]).texts
        columns |= {given.column: self._given(given, batch, first_row) for given in self.program.given}
        return from_zero(pa.table(columns))

    def _given(self, given: BatchColumn, batch: Batch, first_row: int) -> Any:
        """The batch's values for a column of the relation."""
        if given.kind == "row":
            return ints(batch.rows + first_row)
        if given.kind == "suffix":
            return of_texts(batch.suffixes())
        if given.kind == "rest":
            return batch.rest(self.program.text_key[0])
        if given.kind in ("carried", "removed"):
            return batch.carried[given.name] if batch.carried is not None else pa.nulls(len(batch.rows))
        if len(batch.rows) or given.name in batch.table.column_names:
            return batch.table[given.name]
        return pa.nulls(0, pa.string())  # an empty file has no columns

    # Output

    def _write(
        self, writer: PartWriter, batch: Batch, keep: np.ndarray, alive: pa.Table | None, add_suffix: bool
    ) -> None:
        replaced, extra = {}, {}
        if alive is not None:
            replaced = {keys: alive[column].combine_chunks() for keys, column in self.program.outs.items()}
            extra = {"__dj__stats__": alive["_stats"].combine_chunks()} if self.program.stats_json else {}
        if add_suffix:
            suffixes = batch.suffixes()
            extra["__dj__suffix__"] = pa.array([json.dumps(suffixes[i]) for i in keep.tolist()], pa.string())
        writer.write(batch, keep, replaced, extra)

    def _facts(self, batch: Batch, done: pa.Table) -> pa.Table:
        rows = ints(batch.rows[numbers(done["_i"])])
        return pa.table({"_row": rows, **{name: done[name] for name in self.program.facts}})

    def _publish(self, leaving: ShardPublisher, name: str, tables: list[pa.Table]) -> str:
        if not tables:
            tables = [self._empty_facts()]
        aside = leaving.scratch(name)
        pq.write_table(pa.concat_tables(tables), aside, compression="zstd")
        return leaving.publish(aside, name)

    def _empty_facts(self) -> pa.Table:
        batch = self._no_samples()
        return self._facts(batch, self._query(self.program.pass_sql, batch, 0))

    def _profile(self, elapsed: float) -> dict[int, float]:
        """Seconds of the last statement by step, from DuckDB's profile; time of no step counts as step 0."""
        try:
            tree = json.loads(self.profile())
        except (duckdb.Error, ValueError):
            return {0: elapsed}
        return by_step(tree, dict(self.program.probes), self.program.light, elapsed)


def fetched(shard: Shard, url: str) -> Shard:
    """The shard with the files that earlier stages left of it fetched to this machine."""
    part = shard.part
    if part is None or not url:
        return shard
    store = open_store(url)
    source = part.source and replace(part.source, path=str(store.fetch(part.source.path)))
    return replace(
        shard, part=replace(part, source=source, tables=tuple(str(store.fetch(name)) for name in part.tables))
    )


def by_step(profile: dict[str, Any], steps: dict[str, int], light: frozenset[str], elapsed: float) -> dict[int, float]:
    """Divide a statement's seconds among steps: a projection's time belongs to the columns that it adds.

    profile: DuckDB's profile as JSON. steps: column -> step. light: columns that count only where there are no others.
    Reading and all other time counts as step 0.
    """
    spent: dict[int, float] = defaultdict(float)

    def walk(node: dict[str, Any]) -> set[str]:
        below: set[str] = set()
        for child in node.get("children") or []:
            below |= walk(child)
        names = (node.get("extra_info") or {}).get("Projections") or []
        listed = set(names if isinstance(names, list) else [names])
        new = [name for name in listed - below if name in steps]
        heavy = [name for name in new if name not in light] or new
        owners = {steps[name] for name in heavy} or {0}
        for owner in owners:
            spent[owner] += float(node.get("timing") or 0.0) / len(owners)
        return below | listed

    for root in profile.get("operator") or []:
        walk(root)
    spent[0] += max(0.0, elapsed - sum(spent.values()))
    return spent


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


def _place(shard: Shard, batch: Batch, i: int) -> tuple[int, str, int]:
    """Number, file and line of sample i."""
    row = int(batch.rows[i])
    path = shard.path_of(row) if batch.files is None else shard.sources[batch.files[i]].path
    return row, path, batch.line_number(i)


def _quarantined(place: tuple[int, str, int], step: int, operator: str, error: str, raw: bytes) -> dict[str, Any]:
    row, file, line = place
    return {"_row": row, "file": file, "line": line, "step": step, "operator": operator, "error": error, "raw": raw}


def _no_text(raw: bytes, keys: tuple[str, ...]) -> str:
    """Reason why a JSON line has no text."""
    name = field_name(keys)
    value: Any = json.loads(raw)
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return f"{name!r} is missing"
        value = value[key]
    kind = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}.get(type(value))
    return f"{name!r} is {kind or 'null'}, not a text"
