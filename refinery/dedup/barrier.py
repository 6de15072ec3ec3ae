"""Runs a deduplicator: finds from the match keys of all shards the samples to remove, the reasons, and the kept samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.in_thread import InThread
from refinery.compiler.deduplicators import matched, statement
from refinery.dedup import groups, limits, units
from refinery.dedup import index as indexes
from refinery.dedup.clusters import Clusters, cluster
from refinery.dedup.index_runs import IndexRun
from refinery.dedup.match_keys import MatchKeys, SqlLimits
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.short_texts import key_of_short, note_on_short
from refinery.dedup.verify import Comparison
from refinery.io.model import RemovedIn
from refinery.kernels.core.arrow import ints
from refinery.operators import Operator
from refinery.workers.functions import register
from refinery.workers.match_keys import SHARD_BITS

_LOW = (1 << SHARD_BITS) - 1


@dataclass
class DedupResult:
    """Result of a deduplicator. Numbers of samples are those of workers.match_keys; numbers below 0: of an index.

    removed: ascending. removed_in: in place of these, their files by shard, where tasks have found them; there is one for each file of
    `duplicates`. seen: size and digest of files, as far as
    tasks have noted them. duplicates: Parquet files, a row per removed sample or unit, in the order of samples. clusters:
    Parquet files of members, in the order of the samples that stay; none for units. Files have their names in the store, or
    are files of this machine until they are published. units: file of the removed units, by shard. index, extends: the index and the file to add to it.
    writing: of `duplicates` and `clusters`, if that goes on beside the next stage; its result is its time in seconds.
    """

    step: int
    removed: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    duplicates: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    units: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    index: indexes.Index | None = None
    extends: Path | None = None
    removed_in: dict[int, RemovedIn] = field(default_factory=dict)
    seen: dict[str, tuple[int, str]] = field(default_factory=dict)
    writing: InThread[float] | None = None

    @property
    def count(self) -> int:
        """Number of the removed samples."""
        return len(self.removed) + sum(found.end - found.first for found in self.removed_in.values())

    def of_shard(self, shard: int) -> np.ndarray:
        """The removed samples of a shard, by their numbers in it."""
        first, end = np.searchsorted(self.removed, [shard << SHARD_BITS, (shard + 1) << SHARD_BITS])
        return self.removed[first:end] & _LOW

    def duplicates_by_shard(self) -> dict[int, str]:
        """The file of `duplicates` with the removed samples of each shard; empty where one process has found them."""
        places = dict(sorted(self.removed_in.items()))
        names = dict.fromkeys(place.name for place in places.values())
        files = dict(zip(names, self.duplicates, strict=True)) if places else {}
        return {shard: files[place.name] for shard, place in places.items()}


@dataclass(frozen=True)
class DedupInput:
    """Input of a deduplicator.

    step, operator: of the recipe. files: match keys of the shards that have any. order: of survivors. sources: the input of
    each shard. alive: number of samples in each shard. first_rows: number of each shard's first sample. compare:
    compares the samples' shingles. run: the run's name in an index, see `index_runs`.
    """

    step: Any
    operator: Operator
    files: Sequence[str]
    order: Sequence[Any]
    sources: Sequence[str]
    alive: Sequence[int]
    first_rows: Sequence[int]
    folder: Path
    room: SqlLimits
    compare: Comparison
    run: IndexRun | None = None


def find_duplicates(given: DedupInput) -> DedupResult:
    """Find the samples or units to remove. Raises OperatorError if a safety limit is broken or the index is unfit."""
    started = time.perf_counter()
    step, operator = given.step, given.operator
    findings = DedupResult(step.index)
    named = step.params.get("index")
    findings.index = indexes.open_index(named, step, operator, given.run) if named else None
    if given.files:
        before = indexes.view_of(findings.index) if findings.index is not None else None
        folders = [given.folder, *([findings.index.place.folder] if findings.index is not None else [])]
        matcher = operator.matcher
        with ExitStack() as opened:
            keys = opened.enter_context(MatchKeys(given.files, matcher.columns, given.room, before, folders))
            opened.enter_context(register(keys.con, operator.functions).kept())
            write = (_of_units if matcher.takes_units else _of_samples)(given, keys, findings)
            findings.notes += _on_short_texts(given, keys, findings.removed)
            if findings.index is None and keys.small and given.room.memory is None:  # else the stages share the limit
                findings.writing = InThread(partial(_timed, write, opened.pop_all()))
            else:
                write()
            if findings.index is not None:
                target = given.folder / "index.parquet"
                gone = pa.table({"_row": ints(findings.removed)})
                if indexes.extend(keys, given.first_rows, gone, target):
                    findings.extends = target
    findings.seconds = time.perf_counter() - started
    return findings


def _on_short_texts(given: DedupInput, keys: MatchKeys, removed: np.ndarray) -> list[str]:
    """The note on removed texts of too few tokens to be compared."""
    short = key_of_short(given.operator, given.step) if len(removed) else None
    if short is None:
        return []
    rows = [row for (row,) in keys.rows(f"SELECT _row FROM marks WHERE {short[0]} = {short[1]}")]
    return note_on_short(given.step, int(np.isin(np.array(rows, np.int64), removed).sum()))


def _timed(work: Callable[[], None], opened: ExitStack) -> float:
    """Do work that needs what is opened, and close it; return the seconds."""
    started = time.perf_counter()
    with opened:
        work()
    return time.perf_counter() - started


def _nothing() -> None:
    """Write no files."""


def _of_units(given: DedupInput, keys: MatchKeys, findings: DedupResult) -> Callable[[], None]:
    path = given.folder / "duplicates.parquet"
    if keys.write(units.statement_of(given.operator, given.step.params), str(path)):
        settle_units(given, path, findings)
    return _nothing


def settle_units(given: DedupInput, duplicates: Path, findings: DedupResult) -> None:
    """Record the units to remove in `findings`. duplicates: a file of these units, by sample and unit, not empty."""
    findings.units = units.by_shard(duplicates, f"_removed_{given.step.index}", given.folder)
    findings.duplicates = (str(duplicates),)


def _of_samples(given: DedupInput, keys: MatchKeys, findings: DedupResult) -> Callable[[], None]:
    column = None if keys.small else groups.column_of(given.operator.sample_matcher, keys, given.step.params)
    if column is not None:
        return _settle_groups(given, keys, column, findings)
    notes: list[str] = []
    found = given.operator.sample_matcher.pairs(keys, given.step.params, given.compare, notes)
    return settle(given, keys, found, findings, notes)


def _settle_groups(
    given: DedupInput, keys: MatchKeys, column: tuple[str, int], findings: DedupResult
) -> Callable[[], None]:
    """Record the samples to remove where equal values of one column are all that makes a match."""
    largest = groups.make(keys, column, given.order)
    if largest:
        duplicates, members = given.folder / "duplicates.parquet", given.folder / "clusters.parquet"
        sql = groups.duplicates(given.operator.sample_matcher.match)
        findings.removed = groups.write(keys, column, sql, duplicates, members)
        findings.duplicates, findings.clusters = (str(duplicates),), (str(members),)
    findings.notes = limits.check(given.step, largest, *by_source(given, findings.removed))
    return _nothing


def settle(
    given: DedupInput, keys: MatchKeys, found: Iterable[Pairs], findings: DedupResult, notes: Sequence[str] = ()
) -> Callable[[], None]:
    """Record the samples to remove because of matched pairs; returns what writes the files of these findings.

    keys: at least those of the samples in the pairs.
    """
    clusters = cluster(found, keys, given.order)
    findings.removed = clusters.row[clusters.removed]
    findings.notes = [f"{given.step.where}: {given.step.name}: {note}" for note in notes]
    largest = int(clusters.sizes().max(initial=0))
    findings.notes += limits.check(given.step, largest, *by_source(given, findings.removed))
    if not len(clusters.row):
        return _nothing
    duplicates, members = given.folder / "duplicates.parquet", given.folder / "clusters.parquet"
    findings.duplicates, findings.clusters = (str(duplicates),), (str(members),)
    sql = statement("duplicates", **matched(given.operator))
    return partial(write_clusters, keys, clusters, sql, duplicates, members)


def by_source(given: DedupInput, removed: np.ndarray) -> tuple[dict[str, int], dict[str, int]]:
    """Number of samples of each input before the step, and number that it removes."""
    counts = (
        np.bincount(removed >> SHARD_BITS, minlength=len(given.sources)) if len(removed) else [0] * len(given.sources)
    )
    return by_counts(given, counts)


def by_counts(given: DedupInput, counts: Sequence[int] | np.ndarray) -> tuple[dict[str, int], dict[str, int]]:
    """As `by_source`, from the number of removed samples of each shard."""
    alive: dict[str, int] = {}
    gone: dict[str, int] = {}
    for source, rows, lost in zip(given.sources, given.alive, counts, strict=True):
        alive[source] = alive.get(source, 0) + rows
        gone[source] = gone.get(source, 0) + int(lost)
    return alive, gone


def write_clusters(keys: MatchKeys, clusters: Clusters, sql: str, duplicates: Path, members: Path) -> None:
    """Write the match of each removed sample, and the members of clusters. sql: makes `duplicates` of `found`."""
    gone = clusters.removed
    found = {name: ints(getattr(clusters, name)[gone]) for name in ("kept", "via", "how")}
    jaccard = clusters.jaccard[gone]
    found |= {"_row": ints(clusters.row[gone]), "jaccard": ints(jaccard, ~np.isnan(jaccard))}
    with keys.relation("found", pa.table(found)):
        keys.write(sql, str(duplicates))
    found = {"_row": ints(clusters.row), "kept": ints(clusters.kept), "size": ints(clusters.sizes())}
    with keys.relation("members", pa.table(found)):
        keys.write("SELECT * FROM members ORDER BY kept, _row", str(members))
