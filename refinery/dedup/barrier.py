"""Runs a deduplicator: tasks compare the match keys of all shards, and make clusters from the pairs that match.

The same tasks run in threads of one machine and on a cluster. Match keys and pairs stay with them; the caller holds a few
numbers for each shard. A small input is one partition, and its matches are found by one task.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from refinery.common.connections import connect
from refinery.common.in_thread import InThread
from refinery.common.lazy import pq
from refinery.compiler.deduplicators import key_name
from refinery.compiler.kept_order import NEWEST
from refinery.compiler.templates import lit
from refinery.dedup.clustering import ClusterTasks
from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.index import open_index
from refinery.dedup.index_pieces import IndexTasks, Pieces
from refinery.dedup.kept_dates import notes_on_dates
from refinery.dedup.kept_texts import notes_on_texts
from refinery.dedup.matchers.model import SampleMatcher
from refinery.dedup.matchers.ngrams import NgramMatcher
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.ngrams import NgramTasks
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.search import SearchTasks
from refinery.dedup.short_texts import Key, ShortTexts, key_of_short, leaves_out_short, mark_of_short, note_on_short
from refinery.dedup.substrings import SubstringTasks
from refinery.dedup.tasks import joins
from refinery.dedup.tasks.order_texts import order_texts
from refinery.dedup.units import by_shard, statement_of
from refinery.dedup.verification import CandidateTasks
from refinery.storage.store import Store
from refinery.workers.executor import Executor

Item = TypeVar("Item")

# Most rows of match keys that one task joins, however much memory it has.
_MOST = 20_000_000
# Rows and files of a task that divides match keys. Files that one task looks at.
_DIVIDED, _LOOKS = 1_000_000, 500
# Most bytes of match keys among which a task searches.
_BYTES = 1 << 30
# Least rows of a partition of the samples: the requests between partitions grow with their number, a task takes 2 µs a row.
_TOGETHER = 1_000_000

# `how`, the number of a compared column, and where some of its values are.
Column = tuple[int, Sequence[Share]]


class Barrier:
    """Finds the samples or units to remove.

    store: of the tasks' files. results: where the files of the findings are kept. folder: of the files in both.
    """

    def __init__(self, executor: Executor, store: Store, results: Store, folder: str) -> None:
        self._executor, self._store, self._results, self._folder = executor, store, results, folder
        self._exchange = Exchange(executor, f"{folder}/joined")
        self._before: Pieces = ()
        self._count = 1

    def find(self, inputs: DedupInput) -> DedupResult:
        """Find the samples or units to remove; files of match keys have their names in the store of the tasks.

        Raises OperatorError if a safety limit is broken or the index is unfit.
        """
        started = time.perf_counter()
        findings = DedupResult(inputs.step.index)
        if named := inputs.step.params.get("index"):
            findings.index = open_index(named, inputs.step, inputs.operator, inputs.run)
        if not inputs.files:
            return findings
        find = self._units if inputs.operator.matcher.takes_units else self._samples
        find = self._substrings if isinstance(inputs.operator.matcher, SubstringMatcher) else find
        try:
            write = partial(self._finish, find(inputs, findings))
        except BaseException:
            self._clear()
            raise
        if self._beside(inputs, findings):
            findings.writing = InThread(write)
        else:
            write()
        findings.seconds = time.perf_counter() - started
        return findings

    def _beside(self, inputs: DedupInput, findings: DedupResult) -> bool:
        """Return whether tables are written beside the next stage: those of a small run that may use the memory for both."""
        return self._count == 1 and findings.index is None and inputs.room.memory is None

    def _finish(self, write: Callable[[], None]) -> float:
        """Write tables, and remove the files of the tasks; returns the seconds."""
        started = time.perf_counter()
        try:
            write()
        finally:
            self._clear()
        return time.perf_counter() - started

    def _clear(self) -> None:
        self._store.remove(f"{self._folder}/joined/")

    def _keep(self, names: Iterable[str]) -> None:
        """Bring files to the store of results."""
        for name in names if self._results is not self._store else ():
            self._results.put(self._store.fetch(name), name)

    def _look(self, files: Sequence[str], keys: Sequence[Key] = ()) -> dict[str, Any]:
        """Columns, number of rows and bytes of the match keys, and the number of rows with each of some keys (`counts`)."""
        calls = [(list(some),) for some in _batched(files, _LOOKS)]
        seen = [json.loads(answer) for answer in self._executor.map(joins.look, calls, (list(keys),))]
        columns = list(dict.fromkeys(name for one in seen for name in one["columns"]))
        counts = [sum(one["counts"][at] for one in seen) for at in range(len(keys))]
        return {
            "columns": columns,
            "counts": counts,
            **{name: sum(one[name] for one in seen) for name in ("rows", "bytes")},
        }

    def _divide(
        self,
        inputs: DedupInput,
        carried: Sequence[str],
        compared: Sequence[str],
        shares: int,
        rows: int,
        least: int = 1,
    ) -> list[list[Share]]:
        """The match keys by compared columns and shares, see `joins.divide`: where each part is. least: number of tasks."""
        tasks = max(least, -(-rows // _DIVIDED), min(self._parts(rows * len(compared)), self._executor.capacity()))
        groups = list(_batched(inputs.files, -(-len(inputs.files) // tasks)))
        names = self._exchange.names("divided", len(groups))
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = list(carried), list(compared), shares
        answers = self._executor.map(joins.divide, calls, shared, f"{inputs.step.name}: keys by shares")
        return self._exchange.shares(names, [json.loads(answer) for answer in answers], shares * len(compared))

    def _samples(self, inputs: DedupInput, findings: DedupResult) -> Callable[[], None]:
        """Record the samples to remove, and the file for the index; returns what writes their tables."""
        own, index = inputs.files, findings.index
        tasks = IndexTasks(self._executor, self._folder, self._executor.capacity() * 2, self._executor.worth)
        if index is not None:
            self._before, own = tasks.pieces(index, own)
        together = replace(inputs, files=[*(name for _, name in self._before), *own])
        partitions, links = self._links(together, findings)
        self._count = len(partitions)
        write: Callable[[], None] = _nothing
        if any(links.linked):
            write = ClusterTasks(self._executor, self._exchange, self._folder, partitions, self._keep).settle(
                together, links, findings
            )
        findings.notes[:0] = [f"{inputs.step.where}: {inputs.step.name}: {note}" for note in links.notes]
        findings.notes += self._notes_on_all(inputs, own) if inputs.whole else []
        if index is not None and (name := tasks.extend(together, own, partitions, findings)):
            self._keep([name])
            findings.extends = Path(name)
        return write

    def _notes_on_all(self, inputs: DedupInput, own: Sequence[str]) -> list[str]:
        """Notes on all samples of the run. own: its own match keys. Raises OperatorError if no sample has the date to choose by."""
        notes = self._notes_on_short(inputs, own)
        if inputs.step.params.get("keep") == NEWEST:
            return notes + notes_on_dates(inputs.step, self._look(own, [("order_0", None)]))
        return notes + (self._notes_on_texts(inputs, own) if inputs.order else [])

    def _notes_on_texts(self, inputs: DedupInput, files: Sequence[str]) -> list[str]:
        """The notes on texts that choose survivors. files: of the run's own match keys."""
        columns = [key_name(term.column) for term in inputs.order]
        calls = [(list(some),) for some in _batched(files, _LOOKS)]
        answers = self._executor.map(order_texts, calls, (columns,))
        return notes_on_texts(inputs.step, columns, [part for answer in answers for part in json.loads(answer)])

    def _notes_on_short(self, inputs: DedupInput, files: Sequence[str]) -> list[str]:
        """The note on texts of too few tokens to be compared. files: of the run's own match keys."""
        key, mark = key_of_short(inputs.operator, inputs.step), mark_of_short(inputs.operator, inputs.step)
        if mark is None:
            return []
        own, alive = self._look(files, (key or mark, mark)), sum(inputs.alive)
        short = own["counts"][1] + (alive - own["rows"] if key is None and leaves_out_short(inputs.step) else 0)
        before = self._look([name for _, name in self._before], (key,))["counts"][0] if key and own["counts"][0] else 0
        removed = (
            own["counts"][0] - (not before and own["counts"][0] > 0) if key else 0
        )  # the first of all of them stays
        begin = f"{inputs.step.where}: {inputs.step.name}: "
        notes = note_on_short(inputs.step, ShortTexts(short, removed, alive), key is not None)
        return [f"{begin}{note}" for note in notes]

    def _links(self, inputs: DedupInput, findings: DedupResult) -> tuple[Partitions, LinkFiles]:
        """Links of the samples that match, by partitions."""
        matcher, params = inputs.operator.sample_matcher, inputs.step.params
        seen = self._look(inputs.files)
        rows, columns = seen["rows"], _columns(matcher, "equal_columns", seen["columns"], params)
        if columns and (self._parts(rows) > 1 or (len(columns) == 1 and rows > self._most * self._executor.capacity())):
            return self._equal(inputs, columns, rows)
        if params.get("verify") and inputs.operator.matcher_path is None:
            return self._verified(inputs, _columns(matcher, "candidate_columns", seen["columns"], params), rows)
        return self._searched(inputs, seen)

    def _parts(self, rows: int) -> int:
        """Number of parts into which work over `rows` rows is cut."""
        return max(1, min(self._executor.capacity() * 2, rows // self._executor.worth))

    @property
    def _most(self) -> int:
        """Most rows of match keys or of links that one task of equal keys holds."""
        return min(_MOST, self._executor.most)

    def _wave(self, rows: int) -> int:
        """Number of tasks at once that are worth while for `rows` rows."""
        return min(self._parts(rows), self._executor.capacity())

    def _partitions(self, inputs: DedupInput, rows: int, wave: int, most: int = _MOST) -> Partitions:
        """Partitions of the samples, for `wave` tasks at once, of about `most` samples at most."""
        least = max(_TOGETHER, self._executor.worth)
        return Partitions.of(inputs, max(1, min(wave, rows // least), -(-rows // most)), self._before)

    def _equal(self, inputs: DedupInput, columns: Sequence[tuple[str, int]], rows: int) -> tuple[Partitions, LinkFiles]:
        """Links of samples that are equal in one of some columns."""
        groups, partitions = self._by_columns(inputs, columns, rows, self._most)
        names = self._exchange.names("found", len(groups))
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        answers = self._executor.map(joins.equal, calls, (partitions.bounds,), f"{inputs.step.name}: equal keys")
        linked = [json.loads(answer) for answer in answers]
        return partitions, LinkFiles(names, linked)

    def _verified(
        self, inputs: DedupInput, columns: Sequence[tuple[str, int]] | None, rows: int
    ) -> tuple[Partitions, LinkFiles]:
        """Links of the candidates that are alike. columns: of bands."""
        if not columns:  # no sample has bands
            return Partitions.of(inputs, 1, self._before), LinkFiles()
        groups, partitions = self._by_columns(inputs, columns, rows, _MOST)
        tasks = CandidateTasks(self._executor, self._exchange, f"{self._folder}/joined", partitions)
        return partitions, tasks.verified(inputs, groups)

    def _by_columns(
        self, inputs: DedupInput, columns: Sequence[tuple[str, int]], rows: int, most: int
    ) -> tuple[list[Sequence[Column]], Partitions]:
        """Compared columns, by shares of their values, that each task joins; partitions of samples. most: rows of either."""
        shares, wave = max(1, -(-rows // most)), self._wave(rows * len(columns))
        together = 1 if shares > 1 else -(-len(columns) // wave)
        shares = max(shares, wave // len(columns))
        divided = self._divide(inputs, ["_row"], [name for name, _ in columns], shares, rows)
        parts = [(columns[at // shares][1], own) for at, own in enumerate(divided)]
        return list(_batched(parts, together)), self._partitions(inputs, rows, wave, most)

    def _searched(self, inputs: DedupInput, seen: Any) -> tuple[Partitions, LinkFiles]:
        """Links of the pairs that the matcher's own code finds, in one task or by shares of its columns' values."""
        rows, matcher, params = seen["rows"], inputs.operator.sample_matcher, inputs.step.params
        several = self._parts(rows) > 1 and not self._compares(inputs)
        columns = _columns(matcher, "candidate_columns", seen["columns"], params) if several else None
        names = [name for name, _ in columns or []]

        def divide(carried: Sequence[str], compared: Sequence[str], shares: int, least: int) -> list[list[Share]]:
            return self._divide(inputs, carried, compared, shares, rows, least)

        tasks = SearchTasks(self._executor, self._exchange, _BYTES, inputs, seen, divide)
        wave = self._wave(rows * max(1, len(names)))
        partitions = self._partitions(inputs, rows, wave)
        return partitions, tasks.links(tasks.shares(names, wave), partitions, self._compares(inputs))

    def _compares(self, inputs: DedupInput) -> bool:
        """Return whether a matcher of the user's compares texts, by a program that runs where the driver is."""
        return inputs.operator.matcher_path is not None and bool(inputs.operator.compare)

    def _units(self, inputs: DedupInput, findings: DedupResult) -> Callable[[], None]:
        """Record the units to remove; nothing is left to write."""
        names = self._known_ngrams if isinstance(inputs.operator.matcher, NgramMatcher) else self._equal_units
        written = [str(self._store.fetch(name)) for name in names(inputs, findings)]
        if written:
            path = inputs.folder / "duplicates.parquet"
            self._in_order(written, str(path), inputs)
            findings.units = by_shard(
                pq.ParquetFile(path).read(["_row", "unit"]), f"_removed_{inputs.step.index}", inputs.folder
            )
            findings.duplicates = (f"{self._folder}/duplicates.parquet",)
            self._results.publish(path, *findings.duplicates)
        return _nothing

    def _known_ngrams(self, inputs: DedupInput, findings: DedupResult) -> list[str]:
        """Files of the units of whose n-grams a filter has most."""
        tasks = NgramTasks(self._executor, self._exchange, self._store, inputs)
        return tasks.removed(self._look(inputs.files)["bytes"], findings.notes)

    def _equal_units(self, inputs: DedupInput, findings: DedupResult) -> list[str]:
        """Files of the units that are equal to others and go."""
        rows, sql = self._look(inputs.files)["rows"], statement_of(inputs.operator, inputs.step.params)
        shares = max(-(-rows // _MOST), self._parts(rows))
        divided = self._divide(inputs, ["_row", "unit"], ["key"], shares, rows) if shares > 1 else []
        calls: list[Sequence[Share]] = [own for own in divided if own] if shares > 1 else [[]]
        names = self._exchange.names("found", len(calls), "parquet")
        shared, label = ([] if shares > 1 else list(inputs.files), sql), f"{inputs.step.name}: equal units"
        counts = self._executor.map(joins.units, list(zip(calls, names, strict=True)), shared, label)
        return [name for name, count in zip(names, counts, strict=True) if int(count)]

    def _substrings(self, inputs: DedupInput, findings: DedupResult) -> Callable[[], None]:
        """Record the passages to remove; nothing is left to write."""
        rows = self._look(inputs.files)["rows"]
        tasks = SubstringTasks(self._executor, self._exchange, self._folder, inputs, self._parts)
        findings.duplicates, findings.units, findings.notes = tasks.find(rows)
        self._keep([*findings.duplicates, *findings.units.values()])
        return _nothing

    def _in_order(self, files: Sequence[str], target: str, inputs: DedupInput) -> None:
        """Write the units from all tasks to one file, by sample and unit."""
        folders = {str(inputs.folder), *(file.rpartition("/")[0] for file in files)}
        with connect(sorted(folders), inputs.room.threads, inputs.room.memory, inputs.room.folder) as con:
            select = f"SELECT * FROM read_parquet({lit(list(files))}) ORDER BY _row, unit"
            con.execute(f"COPY ({select}) TO {lit(target)} (FORMAT parquet, COMPRESSION zstd)").fetchall()


def _columns(
    matcher: SampleMatcher, kind: str, names: Sequence[str], params: Mapping[str, Any]
) -> list[tuple[str, int]] | None:
    """Answer of a matcher's `equal_columns` or `candidate_columns`; None for a user's matcher that lacks it."""
    answer: Callable[..., list[tuple[str, int]] | None] | None = getattr(matcher, kind, None)
    return answer(names, params) if answer is not None else None


def _nothing() -> None:
    """Write no tables."""


def _batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Items in order, at most `most` at a time."""
    return (items[start : start + most] for start in range(0, len(items), most))
