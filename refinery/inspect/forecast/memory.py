"""Memory of this process and its workers, watched while a sample is run, and the memory of a run."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

import psutil

from refinery.planning.plan import Plan

# Seconds between two looks: at this process, and at all of its worker processes, which takes longer.
_EVERY, _EVERY_APART = 0.005, 0.05
# Bytes of memory of a worker process for a byte that it holds of its input, and bytes of a row of a table while the tables are made.
_PER_HELD_BYTE, _PER_ROW = 6.0, 60
# A byte of the largest page beside one of a batch: other pages are smaller, and few workers decode the largest one.
_PAGE = 0.5


def memory_now() -> int:
    """Bytes of memory of this process."""
    return int(psutil.Process().memory_info().rss)


class PeakMemory:
    """Context in which the memory of processes is watched. begin: bytes of this one before; most: of the largest one. apart: workers are processes."""

    def __init__(self, apart: bool) -> None:
        self.begin = self.most = memory_now()
        self._apart = apart
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
class SampleMemory:
    """Bytes of memory of a sample's runs: before the run of all shards; most in it; and most in the cold run."""

    begin: int
    most: int
    cold: int


@dataclass(frozen=True)
class Held:
    """Contents of a run's memory.

    batch: bytes of the largest shard, not compressed; of a mean one where the largest is not known. page: bytes of the largest page of Parquet. rows: of the tables.
    """

    batch: float
    page: float
    rows: float

    def of_worker(self, most: int) -> float:
        """Bytes of the input that a worker holds at once: a batch, of at most so many bytes, and a part of the page that it is decoded from."""
        return min(float(most), self.batch) + _PAGE * self.page


def memory_of(plan: Plan, measured: SampleMemory, sample: Held, whole: Held, apart: bool) -> float:
    """Most bytes of memory of a run, or of its largest process. apart: workers are processes.

    What a stage takes for its batches, allocators keep when the next one begins: the growth in all stages is in proportion to what a worker holds of the input.
    """
    held, more = (one.of_worker(plan.sizes.bytes) for one in (sample, whole))
    grown = _PER_HELD_BYTE * held if apart else measured.most - measured.begin
    tables = (whole.rows - sample.rows) * _PER_ROW
    limit = plan.recipe.memory_limit
    largest = measured.most + grown * (more / max(1.0, held) - 1)
    return max(measured.cold, largest + (min(tables, limit) if limit else tables))
