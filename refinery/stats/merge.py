"""Merge workers' statistics files: all `{group}/{stat}/{rank:05d}.json` of a folder into one `metric.json` each."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from refinery.common.duckdb_facts import settings
from refinery.common.lazy import duckdb
from refinery.common.paths import printable
from refinery.errors import DataError, did_you_mean
from refinery.kernels.core.arrow import ints, numbers, of_texts
from refinery.stats.entries import Buffers, EntryRows, KeySums, read
from refinery.stats.files import MERGED, contents, placed_entries
from refinery.stats.folders import Location, open_folder
from refinery.stats.placing import StatsFile
from refinery.stats.removal import NOTE, Removal
from refinery.stats.topk import DEFAULT_TOP_K_CONFIG, TOP_K_GROUPS, TopKConfig, top_k_of

Item = TypeVar("Item")

_CHUNK = 2 << 20  # bytes of files that one call reads: more leaves the processor cache
_KEYS_AT_ONCE = 200_000  # keys that wait to be written


class StatsWarning(UserWarning):
    """A merge follows the rules of reading, but its input had lost something."""


@dataclass
class Merged:
    """Result of a merge. unknown: entries whose writer left out n where it cannot be known. not_finite: values of
    entries that hold a NaN or an infinity. left_alone: folders without a partial file. no_such_groups: top-k groups, other
    than the default ones, that no folder has. groups: the groups that exist.
    """

    folders: int = 0
    files: int = 0
    bytes: int = 0
    keys: int = 0
    removed: int = 0
    unknown: int = 0
    not_finite: int = 0
    left_alone: list[str] = field(default_factory=list)
    no_such_groups: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """Sentences about losses in the input; empty without a loss."""
        notes = []
        if self.unknown:
            notes.append(
                f"{self.unknown:,} of the entries read lack the number of their values (datatrove writes a total of "
                "zero as the number 0): each counts as one value, so n is too low and means and variances are off"
            )
        if self.not_finite:
            notes.append(
                f"{self.not_finite:,} values are in entries with a NaN or an infinity: they are counted as `nans` or "
                "`infinities` and are in no mean"
            )
        for group in self.no_such_groups:
            notes.append(f"no group is called {group!r}, so nothing is cut for it{did_you_mean(group, self.groups)}")
        return notes


class StatsMerger:
    """Merges statistics files, as datatrove's block of this name does, and passes its input rows on.

    Every folder below input_folder that holds files and no folders is merged: its files `00000.json` to `99999.json` become
    `metric.json` at the same place below output_folder. Of the groups in top_k_config only the keys with the highest n are
    written. remove_input: remove the merged files, once metric.json is durable. Folders are paths, URLs of object storage, or
    pairs of a URL and the options of its fsspec driver. After a kill, run it again.
    """

    def __init__(
        self,
        input_folder: Location,
        output_folder: Location,
        remove_input: bool = False,
        top_k_config: TopKConfig | Mapping[str, Any] = DEFAULT_TOP_K_CONFIG,
    ) -> None:
        self.input_folder = input_folder
        self.output_folder = output_folder
        self.remove_input = remove_input
        self.top_k_config = top_k_of(top_k_config)

    def __repr__(self) -> str:
        """The line that datatrove logs of a block."""
        return f"{type(self).__name__}({self.input_folder!r}, {self.output_folder!r})"

    def run(self, data: Iterable[Item] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Item]:
        """Merge this rank's share of the folders as `merge` does, then return an iterator over `data`, unchanged."""
        self.merge(rank, world_size)
        return iter(data if data is not None else ())

    __call__ = run

    def merge(self, rank: int = 0, world_size: int = 1, threads: int | None = None) -> Merged:
        """Merge every world_size-th folder from the rank-th on (of all, sorted); threads: by default one per processor.

        Warns once (StatsWarning) when entries had lost their n. Raises DataError that names all damaged files; their folders
        stay as they were while the others are merged. Raises OutputError when results cannot be written.
        """
        if not 0 <= rank < world_size:
            raise DataError(f"rank {rank} of {world_size}: ranks are 0 to {world_size - 1}")
        merged = _Merge(self, threads or len(os.sched_getaffinity(0))).folders(rank, world_size)
        for note in merged.notes():
            warnings.warn(note, StatsWarning, stacklevel=2)
        return merged


@dataclass
class _Chunk:
    """Neighbouring files of one leaf, to be read at once. last: the leaf's last chunk."""

    leaf: str
    files: list[StatsFile]
    last: bool


class _Merge:
    """One merge: threads read and parse files ahead, in order; this thread adds up the entries."""

    def __init__(self, merger: StatsMerger, threads: int) -> None:
        self.merger = merger
        self.threads = threads
        self.source = open_folder(merger.input_folder)
        self.target = open_folder(merger.output_folder)
        self.merged = Merged()
        self.waiting: list[tuple[str, list[StatsFile], pa.Table]] = []
        self.keys_waiting = 0
        self.damaged: dict[str, list[str]] = {}
        self.buffers: list[Buffers] = []  # free buffers; threads take and return them atomically

    def _look_at_groups(self, leaves: list[str]) -> None:
        """Note the groups of the top-k that do not exist; the default ones need not."""
        self.merged.groups = sorted({_group_of(leaf) for leaf in map(printable, leaves)})
        asked = set(self.merger.top_k_config.top_k_groups) - set(TOP_K_GROUPS)
        self.merged.no_such_groups = sorted(asked - set(self.merged.groups))

    def folders(self, rank: int, world_size: int) -> Merged:
        """Merge the folders of a rank."""
        keys = KeySums()
        files: list[StatsFile] = []
        leaves = self.source.leaves()
        self._look_at_groups(leaves)
        if self.merger.remove_input:  # removals of which only the note is left: their folders hold no file any more
            for leaf in set(self.target.holding(NOTE)) - set(leaves):
                self.merged.removed += Removal(self.source, self.target, leaf).finish()
        for chunk, future in self._ahead(self._chunks(leaves[rank::world_size])):
            files += chunk.files
            try:
                rows, buffers = future.result()
                keys.add(rows)
                self.buffers.append(buffers)
            except DataError as error:
                self.damaged.setdefault(chunk.leaf, []).append(str(error))
            if chunk.last:
                self._finish(chunk.leaf, files, keys)
                keys, files = KeySums(), []
        self._write()
        if self.damaged:
            damage = [line for lines in self.damaged.values() for line in lines]
            left = f"the folders of these files were not merged; folders merged: {self.merged.folders:,}"
            raise DataError("\n".join([*damage, left]))
        return self.merged

    def _chunks(self, leaves: list[str]) -> Iterator[_Chunk]:
        for leaf in leaves:
            removal = Removal(self.source, self.target, leaf)
            self.merged.removed += removal.finish()
            files = self.source.partials(leaf)
            if not files:
                self.merged.left_alone.append(leaf)
                continue
            if printable(leaf) != leaf:  # the tables of the merge hold texts
                what = f"{printable(self.source.name(leaf))}: the name is not UTF-8. Rename the folder"
                self.damaged[leaf] = [what]
                continue
            chunk: list[StatsFile] = []
            size = 0
            for file in files:
                if chunk and size + file.size > _CHUNK:
                    yield _Chunk(leaf, chunk, False)
                    chunk, size = [], 0
                chunk.append(file)
                size += file.size
            yield _Chunk(leaf, chunk, True)

    def _ahead(self, chunks: Iterator[_Chunk]) -> Iterator[tuple[_Chunk, Future[tuple[EntryRows, Buffers]]]]:
        """Chunks in order with their entries; threads read a few chunks ahead."""
        queue: deque[tuple[_Chunk, Future[tuple[EntryRows, Buffers]]]] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            for chunk in chunks:
                queue.append((chunk, pool.submit(self._read, chunk)))
                if len(queue) > self.threads + 1:
                    yield queue.popleft()
            while queue:
                yield queue.popleft()

    def _read(self, chunk: _Chunk) -> tuple[EntryRows, Buffers]:
        names = [self.source.name(file.path) for file in chunk.files]
        try:
            buffers = self.buffers.pop()
        except IndexError:
            buffers = Buffers()
        return read(*self.source.load(chunk.files, buffers), names, buffers), buffers

    def _finish(self, leaf: str, files: list[StatsFile], keys: KeySums) -> None:
        """Keep the result of a leaf that is added up, to be written."""
        if leaf in self.damaged:
            return
        self.merged.folders += 1
        self.merged.files += len(files)
        self.merged.bytes += sum(file.size for file in files)
        self.merged.unknown += keys.unknown
        self.merged.not_finite += keys.not_finite
        table = self._top(leaf, keys.moments())
        self.merged.keys += table.num_rows
        self.waiting.append((leaf, files, table))
        self.keys_waiting += table.num_rows
        if self.keys_waiting >= _KEYS_AT_ONCE:
            self._write()

    def _top(self, leaf: str, moments: pa.Table) -> pa.Table:
        """The keys that stay, most values first; ties in order of first appearance."""
        config = self.merger.top_k_config
        if _group_of(leaf) not in config.top_k_groups:
            return moments
        order = np.argsort(-numbers(moments["n"]), kind="stable")[: config.top_k]
        return moments.take(ints(order))

    def _write(self) -> None:
        """Write the waiting results, then remove their input files."""
        if not self.waiting:
            return
        waiting, self.waiting = {leaf: (files, table) for leaf, files, table in self.waiting}, []
        self.keys_waiting = 0
        tables = [_placed(leaf, table) for leaf, (_, table) in waiting.items() if table.num_rows]
        empty = [leaf for leaf, (_, table) in waiting.items() if not table.num_rows]
        for leaf in empty:
            self._written(leaf, waiting[leaf][0], [b"{}"])
        if not tables:
            return
        with duckdb.connect() as con:
            con.execute(settings.LARGE_TEXTS).fetchall()
            con.register("placed", pa.concat_tables(tables))
            for leaf, _, pieces in contents(con.sql(placed_entries("placed"))):
                self._written(leaf, waiting[leaf][0], pieces)

    def _written(self, leaf: str, files: list[StatsFile], pieces: Iterable[bytes]) -> None:
        path = f"{leaf}/{MERGED}"
        if not self.merger.remove_input:
            self.target.write(path, pieces, durable=False)
            return
        self.merged.removed += Removal(self.source, self.target, leaf).replace(path, pieces, files)


def _group_of(leaf: str) -> str:
    """The group of a folder: the name of its parent folder."""
    return leaf.rpartition("/")[0].rpartition("/")[2]


def _placed(leaf: str, moments: pa.Table) -> pa.Table:
    """Moments with the further columns of `placed_entries`; the leaf stands for group and statistic."""
    places = ints(np.arange(1, moments.num_rows + 1))
    leaves = pa.DictionaryArray.from_arrays(
        ints(np.zeros(moments.num_rows, np.int32)), of_texts([leaf])
    ).dictionary_decode()
    stats = pa.DictionaryArray.from_arrays(
        ints(np.zeros(moments.num_rows, np.int32)), of_texts([""])
    ).dictionary_decode()
    return moments.append_column("_place", places).append_column("group", leaves).append_column("stat", stats)
