"""Input and result of a deduplicator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.in_thread import InThread
from refinery.dedup import index as indexes
from refinery.dedup.audit.hub import TextsOf
from refinery.dedup.index_runs import IndexRun
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.verify import Comparison
from refinery.io.model import RemovedIn
from refinery.operators import Operator
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
    sizes: files with the sizes of the clusters of the samples that stay, by shard, for `save_cluster_size`.
    writing: of `duplicates` and `clusters`, if that goes on beside the next stage; its result is its time in seconds.
    """

    step: int
    removed: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    duplicates: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    units: dict[int, str] = field(default_factory=dict)
    sizes: dict[int, str] = field(default_factory=dict)
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
        return len(self.removed) + sum(place.end - place.first for place in self.removed_in.values())

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
    compares the samples' shingles. run: the run's name in an index, see `index_runs`. texts: reads those of some samples.
    memory: bytes of each of the tasks that run at once; None without a limit. batch: bytes of a batch of samples that are read again.
    whole: False for some samples of more, which say nothing about all of them.
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
    texts: TextsOf | None = None
    memory: int | None = None
    batch: int = 16 << 20
    whole: bool = True
