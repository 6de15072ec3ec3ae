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
_MOST = 50_000_000
_WORTH = 100_000
# Least rows of match keys in each partition of samples. Most tasks that join samples, and most of their row groups together: each
# partition reads its own of every such task.
_TOGETHER, _JOINS, _READS = 100_000, 1024, 1 << 18
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
                seen = self._look(given)
                self._units(given, max(1, -(-seen["rows"] // _MOST), self._parts(seen["rows"])), findings)
            elif not self._of_samples(given, findings):
                return self._by_driver(given)
        finally:
            self._store.remove(f"{self._folder}/joined/")
        findings.seconds = time.perf_counter() - started
        return findings

    def _by_driver(self, given: DedupInput) -> DedupResult:
        return find_duplicates(replace(given, files=[str(self._store.fetch(name)) for name in given.files]))

    def _look(self, given: DedupInput) -> Any:
        """Columns and number of rows of the match keys."""
        return json.loads(every(self._cluster, joins.look, [(self._place, list(given.files))])[0])

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
        seen, matcher, params = self._look(given), given.operator.sample_matcher, given.step.params
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
        parts = min(_JOINS, self._parts(rows * max(1, len(columns))))
        wave = max(
            1, min(parts, self._cluster.cores())
        )  # each share reads a whole band, so a second wave costs as much again
        together = 1 if shares > 1 else -(-len(columns) // parts) or 1
        shares = max(shares, wave // max(1, len(columns)))
        groups = [(list(group), share) for group in _batched(columns, together) for share in range(shares)]
        partitions = Partitions.of(given, max(1, min(parts, rows // _TOGETHER, _READS // len(groups))), self._before)
        names = self._names(len(groups))
        calls = [
            (self._place, list(given.files), group, share, shares, partitions.bounds, name)
            for (group, share), name in zip(groups, names, strict=True)
        ]
        label = f"{given.step.name}: equal keys"
        linked = [json.loads(answer) for answer in every(self._cluster, joins.equal, calls, self._options(), label)]
        if any(linked):
            ClusterTasks(self._cluster, self._place, self._store, self._folder, partitions).settle(
                given, names, linked, findings
            )
        return partitions

    def _verified(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], shares: int, rows: int, findings: DedupResult
    ) -> Partitions:
        """Make clusters of the candidates that are alike. columns: of bands. shares: into which a band is cut, at least."""
        parts = min(_JOINS, self._parts(rows * max(1, len(columns))))
        together = 1 if shares > 1 else -(-len(columns) // parts) or 1
        shares = max(shares, min(parts, self._cluster.cores()) // max(1, len(columns)))
        groups = [
            ([band for _, band in group], share, shares)
            for group in _batched(columns, together)
            for share in range(shares)
        ]
        if not groups:  # no sample has bands
            return Partitions.of(given, 1, self._before)
        partitions = Partitions.of(given, max(1, min(parts, rows // _TOGETHER, _READS // len(groups))), self._before)
        tasks = CandidateTasks(
            self._cluster, self._place, f"{self._folder}/joined", partitions, partial(self._runner, given.step)
        )
        self._settle(given, partitions, tasks.verified(given, given.files, groups), findings)
        return partitions

    def _searched(self, given: DedupInput, seen: Any, findings: DedupResult) -> Partitions:
        """Make clusters of the pairs that the matcher's own code finds, in one task or by shares of its columns' values."""
        rows, matcher, params = seen["rows"], given.operator.sample_matcher, given.step.params
        columns_of = getattr(matcher, "candidate_columns", None)  # matchers of users may lack it
        columns = columns_of(seen["columns"], params) if columns_of is not None and self._parts(rows) > 1 else None
        names = [name for name, _ in columns or []]
        tasks = SearchTasks(self._cluster, self._place, f"{self._folder}/joined", _BYTES, given, seen)
        parts = min(_JOINS, self._parts(rows * max(1, len(names))))
        among = tasks.shares(names, min(parts, self._cluster.cores()))
        most = max(1, min(parts, rows // _TOGETHER, _READS // max(1, len(among))))
        partitions = Partitions.of(given, most, self._before)
        self._settle(given, partitions, tasks.links(among, partitions), findings)
        return partitions

    def _settle(self, given: DedupInput, partitions: Partitions, found: FoundLinks, findings: DedupResult) -> None:
        """Record the samples to remove because of links, and notes."""
        if any(found.linked):
            ClusterTasks(self._cluster, self._place, self._store, self._folder, partitions).settle(
                given, found.names, found.linked, findings
            )
        findings.notes[:0] = [f"{given.step.where}: {given.step.name}: {note}" for note in found.notes]

    def _units(self, given: DedupInput, shares: int, findings: DedupResult) -> None:
        sql, names = statement_of(given.operator, given.step.params), self._names(shares)
        calls = [(self._place, list(given.files), sql, share, shares, name) for share, name in enumerate(names)]
        counts = every(self._cluster, joins.units, calls, self._options(), f"{given.step.name}: equal units")
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

    def _names(self, count: int) -> list[str]:
        return [f"{self._folder}/joined/found_{number:05d}.parquet" for number in range(count)]

    def _options(self) -> dict[str, Any]:
        return {"num_cpus": 1}


def _batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Items in order, at most `most` at a time."""
    return (items[start : start + most] for start in range(0, len(items), most))
