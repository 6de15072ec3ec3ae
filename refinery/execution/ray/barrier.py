"""A deduplicator on the cluster: tasks join the match keys, and make clusters from the pairs that they find.

Match keys and pairs stay with the tasks. The driver holds the numbers of the removed samples, 8 bytes each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from refinery.common.connections import connect
from refinery.compiler.templates import lit
from refinery.dedup.barrier import DedupInput, DedupResult, find_duplicates, settle_units
from refinery.dedup.units import statement_of
from refinery.execution.ray import joins
from refinery.execution.ray.cluster_tasks import ClusterTasks, Partitions
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.map import every
from refinery.storage.store import Store

Item = TypeVar("Item")

# Most rows of match keys that one task joins, and least rows for which another task pays off.
_MOST = 20_000_000
_WORTH = 100_000
# Least rows of match keys in each partition of samples. Rows and files of a task that divides them. Files that one task looks at.
_TOGETHER, _DIVIDED, _LOOKS = 100_000, 1_000_000, 500


class Barrier:
    """Finds the samples or units to remove. folder: of the tasks' files in the store. memory: of each task's DuckDB."""

    def __init__(self, cluster: ClusterConnection, store: Store, folder: str, memory: str | None, spill: str) -> None:
        self._cluster, self._store, self._folder = cluster, store, folder
        self._place: joins.Place = (store.url, memory, spill)

    def find(self, given: DedupInput) -> DedupResult:
        """Find the samples or units to remove, see `find_duplicates`; files of match keys have their names in the store.

        The driver alone does the work if the deduplicator uses an index, compares texts, or has a matcher of the user's.
        """
        params = given.step.params
        if not given.files or params.get("index") or not self._joins(given):
            return find_duplicates(replace(given, files=[str(self._store.fetch(name)) for name in given.files]))
        started = time.perf_counter()
        findings = DedupResult(given.step.index)
        names, rows = self._look(given.files)
        shares = -(-rows // _MOST)
        try:
            if given.operator.matcher.takes_units:
                self._units(given, max(1, shares, self._parts(rows)), rows, findings)
            else:
                columns = given.operator.sample_matcher.equal_columns(names, params)
                if columns is None:
                    self._searched(given, rows, findings)
                else:
                    self._samples(given, columns, max(1, shares), rows, findings)
        finally:
            self._store.remove(f"{self._folder}/joined/")
        findings.seconds = time.perf_counter() - started
        return findings

    def _parts(self, rows: int) -> int:
        """Number of parts into which work over `rows` rows is cut."""
        return max(1, min(self._cluster.cores() * 2, rows // _WORTH))

    def _joins(self, given: DedupInput) -> bool:
        """Return whether tasks can join the match keys."""
        operator, params = given.operator, given.step.params
        if operator.matcher.takes_units or operator.sample_matcher.equal_columns([], params) is not None:
            return True
        return operator.matcher_path is None and not params.get("verify")

    def _look(self, files: Sequence[str]) -> tuple[list[str], int]:
        """Columns and number of rows of the match keys."""
        calls = [(list(some),) for some in _batched(files, _LOOKS)]
        seen = [json.loads(answer) for answer in every(self._cluster, joins.look, calls, shared=(self._place,))]
        return list(dict.fromkeys(name for one in seen for name in one["columns"])), sum(one["rows"] for one in seen)

    def _divide(
        self, given: DedupInput, carried: Sequence[str], compared: Sequence[str], shares: int, rows: int
    ) -> list[str]:
        """Files of match keys by compared columns and shares, see `joins.divide`."""
        tasks = max(-(-rows // _DIVIDED), min(self._parts(rows * len(compared)), self._cluster.cores()))
        groups = list(_batched(given.files, -(-len(given.files) // tasks)))
        names = [f"{self._folder}/joined/divided_{number:05d}.parts" for number in range(len(groups))]
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = self._place, list(carried), list(compared), shares
        every(self._cluster, joins.divide, calls, self._options(), f"{given.step.name}: keys by shares", shared)
        return names

    def _samples(
        self, given: DedupInput, columns: Sequence[tuple[str, int]], shares: int, rows: int, findings: DedupResult
    ) -> None:
        if not columns:
            return
        wave = max(1, min(self._parts(rows * len(columns)), self._cluster.cores()))
        together = 1 if shares > 1 else -(-len(columns) // wave)
        shares = max(shares, wave // len(columns))
        parts = [(at * shares + share, how) for at, (_, how) in enumerate(columns) for share in range(shares)]
        groups = list(_batched(parts, together))
        partitions = Partitions.of(given, max(1, min(wave, rows // _TOGETHER)))
        divided = self._divide(given, ["_row"], [name for name, _ in columns], shares, rows)
        names = self._names(len(groups))
        calls = [(list(group), name) for group, name in zip(groups, names, strict=True)]
        shared = self._place, json.dumps(divided), partitions.bounds
        label = f"{given.step.name}: equal keys"
        linked = [int(answer) for answer in every(self._cluster, joins.equal, calls, self._options(), label, shared)]
        if any(linked):
            ClusterTasks(self._cluster, self._place, self._store, self._folder, partitions).settle(
                given, names, linked, findings
            )

    def _searched(self, given: DedupInput, rows: int, findings: DedupResult) -> None:
        """Make clusters of the pairs that one task finds, for a matcher that joins no columns."""
        partitions, names = Partitions.of(given, max(1, min(self._parts(rows), rows // _TOGETHER))), self._names(1)
        params = json.dumps(dict(given.step.params), default=list)
        call = (self._place, list(given.files), given.operator.match, params, partitions.bounds, names[0])
        linked = [json.loads(answer) for answer in every(self._cluster, joins.matched, [call], self._options())]
        if any(linked):
            ClusterTasks(self._cluster, self._place, self._store, self._folder, partitions).settle(
                given, names, linked, findings
            )

    def _units(self, given: DedupInput, shares: int, rows: int, findings: DedupResult) -> None:
        sql, names = statement_of(given.operator, given.step.params), self._names(shares)
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

    def _names(self, count: int) -> list[str]:
        return [f"{self._folder}/joined/found_{number:05d}.parquet" for number in range(count)]

    def _options(self) -> dict[str, Any]:
        return {"num_cpus": 1}


def _batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Items in order, at most `most` at a time."""
    return (items[start : start + most] for start in range(0, len(items), most))
