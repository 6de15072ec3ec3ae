"""A deduplicator on the cluster: tasks join the match keys, and make clusters from the pairs that they find.

Match keys and pairs stay with the tasks. The driver holds the numbers of the removed samples, 8 bytes each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from refinery.common.connections import connect
from refinery.compiler.program import Program
from refinery.compiler.templates import lit
from refinery.dedup.barrier import DedupInput, DedupResult, find_duplicates, settle_units
from refinery.dedup.index import open_index
from refinery.dedup.short_texts import key_of_short, note_on_short
from refinery.dedup.units import statement_of
from refinery.execution.ray import joins
from refinery.execution.ray.candidate_tasks import CandidateTasks
from refinery.execution.ray.cluster_tasks import ClusterTasks, FoundLinks, Partitions
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.index_tasks import IndexTasks, Pieces
from refinery.execution.ray.map import every
from refinery.execution.ray.search_tasks import SearchTasks
from refinery.storage.store import Store
from refinery.workers.runner import Runner

Item = TypeVar("Item")

# Most rows of match keys that one task joins, and least rows for which another task pays off.
_MOST = 20_000_000
_WORTH = 100_000
# Least rows of match keys in each partition of samples. Rows and files of a task that divides them. Files that one task looks at.
_TOGETHER, _DIVIDED, _LOOKS = 100_000, 1_000_000, 500
# Most bytes of match keys among which a task searches.
_BYTES = 1 << 30


class Barrier:
    """Finds the samples or units to remove. folder: of the tasks' files in the store. memory: of each task's DuckDB.

    runner: runs shards with a program, for a step of the recipe.
    """

    def __init__(
        self,
        cluster: ClusterConnection,
        store: Store,
        folder: str,
        memory: str | None,
        spill: str,
        runner: Callable[[Any, Program], Runner],
    ) -> None:
        self._cluster, self._store, self._folder, self._runner = cluster, store, folder, runner
        self._place: joins.Place = (store.url, memory, spill)
        self._before: Pieces = ()
        self._short: list[str] = []

    def find(self, given: DedupInput) -> DedupResult:
        """Find the samples or units to remove, see `find_duplicates`; files of match keys have their names in the store.

        The driver alone does the work for a matcher of the user's that compares texts, and for an index whose match keys have other types.
        """
        if not given.files or self._needs_driver(given):
            return self._by_driver(given)
        started = time.perf_counter()
        findings = DedupResult(given.step.index)
        try:
            if given.operator.matcher.takes_units:
                rows = self._look(given.files)["rows"]
                self._units(given, max(1, -(-rows // _MOST), self._parts(rows)), rows, findings)
            elif not self._of_samples(given, findings):
                return self._by_driver(given)
            findings.notes += self._short
        finally:
            self._store.remove(f"{self._folder}/joined/")
        findings.seconds = time.perf_counter() - started
        return findings

    def _by_driver(self, given: DedupInput) -> DedupResult:
        return find_duplicates(replace(given, files=[str(self._store.fetch(name)) for name in given.files]))

    def _look(self, files: Sequence[str], short: tuple[str, int] | None = None) -> dict[str, Any]:
        """Columns, number of rows and bytes of the match keys, and number of rows with the key `short`."""
        calls = [(list(some),) for some in _batched(files, _LOOKS)]
        seen = [json.loads(answer) for answer in every(self._cluster, joins.look, calls, shared=(self._place, short))]
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
    ) -> list[str]:
        """Files of match keys by compared columns and shares, see `joins.divide`. least: number of tasks."""
        tasks = max(least, -(-rows // _DIVIDED), min(self._parts(rows * len(compared)), self._cluster.cores()))
        groups = list(_batched(given.files, -(-len(given.files) // tasks)))
        names = [f"{self._folder}/joined/divided_{number:05d}.parts" for number in range(len(groups))]
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = self._place, list(carried), list(compared), shares
        every(self._cluster, joins.divide, calls, self._options(), f"{given.step.name}: keys by shares", shared)
        return names

    def _of_samples(self, given: DedupInput, findings: DedupResult) -> bool:
        """Record the samples to remove, and the file for the index; False if tasks cannot compare with the index."""
        params, own = given.step.params, given.files
        named = params.get("index")
        if named:
            findings.index = open_index(named, given.step, given.operator, given.run)
            tasks = IndexTasks(self._cluster, self._place, self._folder, self._cluster.cores() * 2, _TOGETHER)
            pieces = tasks.pieces(findings.index, own)
            if pieces is None:
                return False
            self._before = pieces
            given = replace(given, files=[*(name for _, name in pieces), *own])
        partitions = self._matched(given, findings)
        if named:
            tasks.extend(given, own, partitions, findings)
        return True

    def _matched(self, given: DedupInput, findings: DedupResult) -> Partitions:
        """Record the samples to remove; returns the partitions of their files."""
        matcher, params = given.operator.sample_matcher, given.step.params
        seen = self._look(given.files, None if params.get("index") else key_of_short(given.operator, given.step))
        self._short = note_on_short(given.step, max(0, seen["short"] - 1))  # the first one of them stays
        rows, shares = seen["rows"], max(1, -(-seen["rows"] // _MOST))
        columns = matcher.equal_columns(seen["columns"], params)
        if columns is not None:
            return self._samples(given, columns, shares, rows, findings)
        if params.get("verify") and given.operator.matcher_path is None:
            found = matcher.candidate_columns(seen["columns"], params) or []
            return self._verified(given, found, shares, rows, findings)
        return self._searched(given, seen, findings)

    def _parts(self, rows: int) -> int:
        """Number of parts into which work over `rows` rows is cut."""
        return max(1, min(self._cluster.cores() * 2, rows // _WORTH))

    def _needs_driver(self, given: DedupInput) -> bool:
        """Return whether a matcher of the user's compares texts, by a program that runs where the driver is."""
        return given.operator.matcher_path is not None and bool(given.operator.compare)

    def _samples(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], shares: int, rows: int, findings: DedupResult
    ) -> Partitions:
        if not columns:
            return Partitions.of(given, 1, self._before)
        divided, groups, partitions = self._by_bands(given, columns, shares, rows)
        names = self._names(len(groups), "parts")
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = self._place, json.dumps(divided), partitions.bounds
        label = f"{given.step.name}: equal keys"
        linked = [int(answer) for answer in every(self._cluster, joins.equal, calls, self._options(), label, shared)]
        self._settle(given, partitions, FoundLinks(names, linked), findings)
        return partitions

    def _verified(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], shares: int, rows: int, findings: DedupResult
    ) -> Partitions:
        """Make clusters of the candidates that are alike. columns: of bands. shares: into which a band is cut, at least."""
        if not columns:  # no sample has bands
            return Partitions.of(given, 1, self._before)
        divided, groups, partitions = self._by_bands(given, columns, shares, rows)
        tasks = CandidateTasks(
            self._cluster, self._place, f"{self._folder}/joined", partitions, partial(self._runner, given.step)
        )
        self._settle(given, partitions, tasks.verified(given, divided, groups), findings)
        return partitions

    def _by_bands(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], shares: int, rows: int
    ) -> tuple[list[str], list[Sequence[tuple[int, int]]], Partitions]:
        """Files of compared columns by shares of their values; parts of each task, with `how` of each part; partitions of samples.

        shares: into which a column is cut, at least.
        """
        wave = max(1, min(self._parts(rows * len(columns)), self._cluster.cores()))
        together = 1 if shares > 1 else -(-len(columns) // wave)
        shares = max(shares, wave // len(columns))
        parts = [(at * shares + share, how) for at, (_, how) in enumerate(columns) for share in range(shares)]
        partitions = Partitions.of(given, max(1, min(wave, rows // _TOGETHER)), self._before)
        divided = self._divide(given, ["_row"], [name for name, _ in columns], shares, rows)
        return divided, list(_batched(parts, together)), partitions

    def _searched(self, given: DedupInput, seen: Any, findings: DedupResult) -> Partitions:
        """Make clusters of the pairs that the matcher's own code finds, in one task or by shares of its columns' values."""
        rows, matcher, params = seen["rows"], given.operator.sample_matcher, given.step.params
        columns_of = getattr(matcher, "candidate_columns", None)  # matchers of users may lack it
        columns = columns_of(seen["columns"], params) if columns_of is not None and self._parts(rows) > 1 else None
        names = [name for name, _ in columns or []]

        def divide(carried: Sequence[str], compared: Sequence[str], shares: int, least: int) -> list[str]:
            return self._divide(given, carried, compared, shares, rows, least)

        tasks = SearchTasks(self._cluster, self._place, f"{self._folder}/joined", _BYTES, given, seen, divide)
        wave = min(self._parts(rows * max(1, len(names))), self._cluster.cores())
        partitions = Partitions.of(given, max(1, min(wave, rows // _TOGETHER)), self._before)
        among = tasks.shares(names, wave)
        self._settle(given, partitions, tasks.links(among, partitions), findings)
        return partitions

    def _settle(self, given: DedupInput, partitions: Partitions, found: FoundLinks, findings: DedupResult) -> None:
        """Record the samples to remove because of links, and notes."""
        if any(found.linked):
            ClusterTasks(self._cluster, self._place, self._store, self._folder, partitions).settle(
                given, found.names, found.linked, findings
            )
        findings.notes[:0] = [f"{given.step.where}: {given.step.name}: {note}" for note in found.notes]

    def _units(self, given: DedupInput, shares: int, rows: int, findings: DedupResult) -> None:
        sql, names = statement_of(given.operator, given.step.params), self._names(shares, "parquet")
        divided = self._divide(given, ["_row", "unit"], ["key"], shares, rows)
        shared, label = (self._place, json.dumps(divided), sql), f"{given.step.name}: equal units"
        counts = every(self._cluster, joins.units, list(enumerate(names)), self._options(), label, shared)
        found = [str(self._store.fetch(n)) for n, count in zip(names, counts, strict=True) if int(count)]
        if found:
            path = given.folder / "duplicates.parquet"
            self._in_order(found, str(path), given)
            settle_units(given, path, findings)

    def _in_order(self, files: Sequence[str], target: str, given: DedupInput) -> None:
        """Write the units from all tasks to one file, by sample and unit."""
        folders = {str(given.folder), *(file.rpartition("/")[0] for file in files)}
        with connect(sorted(folders), given.room.threads, given.room.memory, given.room.folder) as con:
            select = f"SELECT * FROM read_parquet({lit(list(files))}) ORDER BY _row, unit"
            con.execute(f"COPY ({select}) TO {lit(target)} (FORMAT parquet, COMPRESSION zstd)").fetchall()

    def _names(self, count: int, ending: str) -> list[str]:
        return [f"{self._folder}/joined/found_{number:05d}.{ending}" for number in range(count)]

    def _options(self) -> dict[str, Any]:
        return {"num_cpus": 1}


def _batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Items in order, at most `most` at a time."""
    return (items[start : start + most] for start in range(0, len(items), most))
