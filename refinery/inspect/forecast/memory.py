"""Memory of this process and its workers, watched while a sample is run, and the memory of a run."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from dataclasses import dataclass

import psutil

from refinery.planning.plan import Plan

# Seconds between two looks: at this process, and at all of its worker processes, which takes longer.
_EVERY, _EVERY_APART = 0.005, 0.05
# Bytes of memory for a byte of a batch, in all its versions, and for a row of a table while the tables are made.
_PER_BATCH_BYTE, _PER_ROW = 6.0, 60
# Bytes of memory for a byte of a page of Parquet while it is decoded.
_PER_PAGE_BYTE = 1.0
# Where the largest shard is not known: the more shards, the larger the largest ones are, and allocators keep what these had: bytes for a byte of a batch, for each doubling of the
# number of shards, up to so many.
_PER_DOUBLING, _DOUBLINGS = 3.0, 4.0


def memory_now() -> int:
    """Bytes of memory of this process."""
    return int(psutil.Process().memory_info().rss)


class PeakMemory:
    """Context in which the memory of processes is watched. most: bytes of the largest one. apart: workers are processes."""

    def __init__(self, apart: bool) -> None:
        self.most, self._apart = memory_now(), apart
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak memory", daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._end.wait(_EVERY_APART if self._apart else _EVERY):
            for process in [own, *(own.children(recursive=True) if self._apart else ())]:
                with suppress(psutil.Error):  # it may have ended
                    self.most = max(self.most, int(process.memory_info().rss))


@dataclass(frozen=True)
class Held:
    """Contents of a run's memory.

    batch: bytes of the largest shard, not compressed; of a mean one where the largest is not known. page: bytes of the largest page of Parquet. shards, rows: their
    numbers. known: the largest shard is known.
    """

    batch: float
    page: float
    shards: int
    rows: float
    known: bool = False


def memory_of(plan: Plan, peak: int, sample: Held, whole: Held, workers: int) -> float:
    """Most bytes of memory of a run, or of its largest process. peak: of the runs of the sample. workers: of a process."""
    small, large = (min(plan.sizes.bytes, held.batch) for held in (sample, whole))
    doublings = 0.0 if whole.known else min(_DOUBLINGS, max(0.0, math.log2(whole.shards / sample.shards)))
    batches = workers * (max(0.0, large - small) * _PER_BATCH_BYTE + large * _PER_DOUBLING * doublings)
    batches += workers * max(0.0, whole.page - sample.page) * _PER_PAGE_BYTE
    tables = (whole.rows - sample.rows) * _PER_ROW
    limit = plan.recipe.memory_limit
    return peak + batches + (min(tables, limit) if limit else tables)
