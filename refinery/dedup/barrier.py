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
from refinery.compiler.templates import lit
from refinery.dedup.clustering import ClusterTasks
from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.index import open_index
from refinery.dedup.index_pieces import IndexTasks, Pieces
from refinery.dedup.matchers.model import SampleMatcher
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.partitions import LinkFiles, Partitions
from refinery.dedup.search import SearchTasks
from refinery.dedup.short_texts import key_of_short, note_on_short
from refinery.dedup.tasks import joins
from refinery.dedup.units import by_shard, statement_of
from refinery.dedup.verification import CandidateTasks
from refinery.storage.store import Store
from refinery.workers.executor import Executor

Item = TypeVar("Item")

# Most rows of match keys that one task joins.
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

    def find(self, given: DedupInput) -> DedupResult:
        """Find the samples or units to remove; files of match keys have their names in the store of the tasks.

        Raises OperatorError if a safety limit is broken or the index is unfit.
        """
        started = time.perf_counter()
        findings = DedupResult(given.step.index)
        if named := given.step.params.get("index"):
            findings.index = open_index(named, given.step, given.operator, given.run)
        if not given.files:
            return findings
        find = self._units if given.operator.matcher.takes_units else self._samples
        try:
            write = partial(self._finish, find(given, findings))
        except BaseException:
            self._clear()
            raise
        if self._beside(given, findings):
            findings.writing = InThread(write)
        else:
            write()
        findings.seconds = time.perf_counter() - started
        return findings

    def _beside(self, given: DedupInput, findings: DedupResult) -> bool:
        """Return whether tables are written beside the next stage: those of a small run that may use the memory for both."""
        return self._count == 1 and findings.index is None and given.room.memory is None

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

    def _look(self, files: Sequence[str], short: tuple[str, int] | None = None) -> dict[str, Any]:
        """Columns, number of rows and bytes of the match keys, and number of rows with the key `short`."""
        calls = [(list(some),) for some in _batched(files, _LOOKS)]
        seen = [json.loads(answer) for answer in self._executor.map(joins.look, calls, (short,))]
        columns = list(dict.fromkeys(name for one in seen for name in one["columns"]))
        return {"columns": columns, **{name: sum(one[name] for one in seen) for name in ("rows", "bytes", "short")}}

    def _divide(
        self,
        given: DedupInput,
        carried: Sequence[str],
        compared: Sequence[str],
        shares: int,
        rows: int,
        least: int = 1,
    ) -> list[list[Share]]:
        """The match keys by compared columns and shares, see `joins.divide`: where each part is. least: number of tasks."""
        tasks = max(least, -(-rows // _DIVIDED), min(self._parts(rows * len(compared)), self._executor.capacity()))
        groups = list(_batched(given.files, -(-len(given.files) // tasks)))
        names = self._exchange.names("divided", len(groups))
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = list(carried), list(compared), shares
        answers = self._executor.map(joins.divide, calls, shared, f"{given.step.name}: keys by shares")
        return self._exchange.shares(names, [json.loads(answer) for answer in answers], shares * len(compared))

    def _samples(self, given: DedupInput, findings: DedupResult) -> Callable[[], None]:
        """Record the samples to remove, and the file for the index; returns what writes their tables."""
        own, index = given.files, findings.index
        tasks = IndexTasks(self._executor, self._folder, self._executor.capacity() * 2, self._executor.worth)
        if index is not None:
            self._before, own = tasks.pieces(index, own)
        together = replace(given, files=[*(name for _, name in self._before), *own])
        partitions, links = self._links(together, findings)
        self._count = len(partitions)
        write: Callable[[], None] = _nothing
        if any(links.linked):
            write = ClusterTasks(self._executor, self._exchange, self._folder, partitions, self._keep).settle(
                together, links, findings
            )
        findings.notes[:0] = [f"{given.step.where}: {given.step.name}: {note}" for note in links.notes]
        findings.notes += self._notes_on_short(given, own, findings)
        if index is not None and (name := tasks.extend(together, own, partitions, findings)):
            self._keep([name])
            findings.extends = Path(name)
        return write

    def _notes_on_short(self, given: DedupInput, files: Sequence[str], findings: DedupResult) -> list[str]:
        """The note on removed texts of too few tokens to be compared. files: of the run's own match keys."""
        key = key_of_short(given.operator, given.step) if findings.count else None
        if key is None:
            return []
        there, before = (self._look(some, key)["short"] for some in (files, [name for _, name in self._before]))
        return note_on_short(given.step, there - (not before and there > 0))  # of all of them, the first one stays

    def _links(self, given: DedupInput, findings: DedupResult) -> tuple[Partitions, LinkFiles]:
        """Links of the samples that match, by partitions."""
        matcher, params = given.operator.sample_matcher, given.step.params
        seen = self._look(given.files)
        rows, columns = seen["rows"], _columns(matcher, "equal_columns", seen["columns"], params)
        if columns and self._parts(rows) > 1:
            return self._equal(given, columns, rows)
        if params.get("verify") and given.operator.matcher_path is None:
            return self._verified(given, _columns(matcher, "candidate_columns", seen["columns"], params), rows)
        return self._searched(given, seen)

    def _parts(self, rows: int) -> int:
        """Number of parts into which work over `rows` rows is cut."""
        return max(1, min(self._executor.capacity() * 2, rows // self._executor.worth))

    def _wave(self, rows: int) -> int:
        """Number of tasks at once that are worth while for `rows` rows."""
        return min(self._parts(rows), self._executor.capacity())

    def _partitions(self, given: DedupInput, rows: int, wave: int) -> Partitions:
        """Partitions of the samples, for `wave` tasks at once."""
        least = max(_TOGETHER, self._executor.worth)
        return Partitions.of(given, max(1, min(wave, rows // least), rows // _MOST), self._before)

    def _equal(self, given: DedupInput, columns: Sequence[tuple[str, int]], rows: int) -> tuple[Partitions, LinkFiles]:
        """Links of samples that are equal in one of some columns."""
        groups, partitions = self._by_columns(given, columns, rows)
        names = self._exchange.names("found", len(groups))
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        answers = self._executor.map(joins.equal, calls, (partitions.bounds,), f"{given.step.name}: equal keys")
        linked = [json.loads(answer) for answer in answers]
        return partitions, LinkFiles(names, linked)

    def _verified(
        self, given: DedupInput, columns: Sequence[tuple[str, int]] | None, rows: int
    ) -> tuple[Partitions, LinkFiles]:
        """Links of the candidates that are alike. columns: of bands."""
        if not columns:  # no sample has bands
            return Partitions.of(given, 1, self._before), LinkFiles()
        groups, partitions = self._by_columns(given, columns, rows)
        tasks = CandidateTasks(self._executor, self._exchange, f"{self._folder}/joined", partitions)
        return partitions, tasks.verified(given, groups)

    def _by_columns(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], rows: int
    ) -> tuple[list[Sequence[Column]], Partitions]:
        """Compared columns, by shares of their values, that each task joins; partitions of samples."""
        shares, wave = max(1, -(-rows // _MOST)), self._wave(rows * len(columns))
        together = 1 if shares > 1 else -(-len(columns) // wave)
        shares = max(shares, wave // len(columns))
        divided = self._divide(given, ["_row"], [name for name, _ in columns], shares, rows)
        parts = [(columns[at // shares][1], own) for at, own in enumerate(divided)]
        return list(_batched(parts, together)), self._partitions(given, rows, wave)

    def _searched(self, given: DedupInput, seen: Any) -> tuple[Partitions, LinkFiles]:
        """Links of the pairs that the matcher's own code finds, in one task or by shares of its columns' values."""
        rows, matcher, params = seen["rows"], given.operator.sample_matcher, given.step.params
        several = self._parts(rows) > 1 and not self._compares(given)
        columns = _columns(matcher, "candidate_columns", seen["columns"], params) if several else None
        names = [name for name, _ in columns or []]

        def divide(carried: Sequence[str], compared: Sequence[str], shares: int, least: int) -> list[list[Share]]:
            return self._divide(given, carried, compared, shares, rows, least)

        tasks = SearchTasks(self._executor, self._exchange, _BYTES, given, seen, divide)
        wave = self._wave(rows * max(1, len(names)))
        partitions = self._partitions(given, rows, wave)
        return partitions, tasks.links(tasks.shares(names, wave), partitions, self._compares(given))

    def _compares(self, given: DedupInput) -> bool:
        """Return whether a matcher of the user's compares texts, by a program that runs where the driver is."""
        return given.operator.matcher_path is not None and bool(given.operator.compare)

    def _units(self, given: DedupInput, findings: DedupResult) -> Callable[[], None]:
        """Record the units to remove; nothing is left to write."""
        rows, sql = self._look(given.files)["rows"], statement_of(given.operator, given.step.params)
        shares = max(-(-rows // _MOST), self._parts(rows))
        divided = self._divide(given, ["_row", "unit"], ["key"], shares, rows) if shares > 1 else []
        calls: list[Sequence[Share]] = [own for own in divided if own] if shares > 1 else [[]]
        names = self._exchange.names("found", len(calls), "parquet")
        shared, label = ([] if shares > 1 else list(given.files), sql), f"{given.step.name}: equal units"
        counts = self._executor.map(joins.units, list(zip(calls, names, strict=True)), shared, label)
        found = [str(self._store.fetch(n)) for n, count in zip(names, counts, strict=True) if int(count)]
        if found:
            path = given.folder / "duplicates.parquet"
            self._in_order(found, str(path), given)
            findings.units = by_shard(path, f"_removed_{given.step.index}", given.folder)
            findings.duplicates = (f"{self._folder}/duplicates.parquet",)
            self._results.publish(path, *findings.duplicates)
        return _nothing

    def _in_order(self, files: Sequence[str], target: str, given: DedupInput) -> None:
        """Write the units from all tasks to one file, by sample and unit."""
        folders = {str(given.folder), *(file.rpartition("/")[0] for file in files)}
        with connect(sorted(folders), given.room.threads, given.room.memory, given.room.folder) as con:
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
