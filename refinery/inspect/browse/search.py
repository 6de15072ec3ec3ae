"""Search for samples in the input of a run, in pieces of bounded time: it always says how much it has searched."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.errors import DataError
from refinery.inspect.browse.conditions import WHOLE, SampleCondition, SampleFields
from refinery.inspect.browse.input_rows import InputRows
from refinery.io.batch import LINE, Batch
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.kernels.core.arrow import from_zero, ints

# Bytes of a batch: small ones let a search stop in time.
_BATCH = 4 << 20


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a search. rows: those in which the conditions hold, ascending. searched, candidates: rows."""

    rows: np.ndarray
    searched: int
    candidates: int

    @property
    def done(self) -> bool:
        """True if all candidates were searched."""
        return self.searched >= self.candidates


class Search:
    """One search over candidate rows. It reads on where it stopped, and is used by one thread at a time."""

    def __init__(
        self,
        rows: InputRows,
        con: duckdb.DuckDBPyConnection,
        conditions: Sequence[SampleCondition],
        candidates: np.ndarray,
    ) -> None:
        self._input, self._conditions, self._candidates = rows, conditions, candidates
        self._lock = threading.Lock()
        self._searched = 0
        self._firsts = con.execute("SELECT first_row, rows FROM shards ORDER BY shard").fetchall()
        self._matches: list[np.ndarray] = [_unreadable(con, conditions, candidates)]
        self._memory = duckdb.connect()
        self._pieces = self._scan()

    def advance(self, seconds: float) -> SearchProgress:
        """Search for some seconds, at least one batch. Raises DataError if the input has changed since the run."""
        self._input.require_unchanged()
        with self._lock:
            end = time.monotonic() + seconds
            for piece in self._pieces:
                self._matches.append(piece)
                if time.monotonic() >= end:
                    break
            return self.progress()

    def progress(self) -> SearchProgress:
        """Progress so far."""
        return SearchProgress(np.unique(np.concatenate(self._matches)), self._searched, len(self._candidates))

    def _scan(self) -> Iterator[np.ndarray]:
        """Matching rows, batch by batch, in the order of the input. Shards without candidates are not read."""
        with self._input.histories() as histories:
            shards = list(histories.prepared.shards)
        if len(shards) != len(self._firsts):
            raise DataError("the input is cut into other shards than in the run; run the recipe again")
        for shard, (first, rows) in zip(shards, self._firsts, strict=True):
            wanted = self._candidates[slice(*np.searchsorted(self._candidates, [first, first + rows]))]
            if len(wanted):
                yield from self._scan_shard(shard, first, wanted)
        self._searched = len(self._candidates)

    def _scan_shard(self, shard: Shard, first: int, wanted: np.ndarray) -> Iterator[np.ndarray]:
        before = int(np.searchsorted(self._candidates, first))
        for batch in read(shard, _BATCH):
            index = np.flatnonzero(np.isin(batch.rows + first, wanted))
            piece = self._matching(batch.take(index), first) if len(index) else np.zeros(0, np.int64)
            seen = max(
                (int(rows[-1]) for rows in (batch.rows, [bad.row for bad in batch.bad]) if len(rows)), default=-1
            )
            self._searched = before + int(np.searchsorted(wanted, first + seen, side="right"))
            yield piece
            if first + seen >= wanted[-1]:
                break
        self._searched = before + len(wanted)

    def _matching(self, batch: Batch, first: int) -> np.ndarray:
        table, fields = SampleFields.of(batch.table, batch.lines)
        table = table.append_column("_at", ints(np.arange(len(batch), dtype=np.int64)))
        where = " AND ".join(f"({condition.sql(fields)})" for condition in self._conditions)
        self._memory.register("samples", from_zero(table))
        try:
            found = self._memory.execute(f"SELECT _at FROM samples WHERE {where} ORDER BY _at").fetchnumpy()["_at"]
        except duckdb.Error as error:
            raise DataError(f"samples cannot be searched: {str(error).splitlines()[0]}") from error
        finally:
            self._memory.unregister("samples")
        return batch.rows[found] + first


def _unreadable(
    con: duckdb.DuckDBPyConnection, conditions: Sequence[SampleCondition], candidates: np.ndarray
) -> np.ndarray:
    """Rows that could not be read, and whose raw line has all the words. Such a line has no fields to compare."""
    if any(condition.kind != "contains" for condition in conditions):
        return np.zeros(0, np.int64)
    con.register("candidate_rows", pa.table({"_row": ints(candidates)}))
    words = " AND ".join(f"({replace(condition, field=WHOLE).sql(SampleFields())})" for condition in conditions)
    lines = f"SELECT _row, raw AS {LINE} FROM quarantine WHERE step = 0 AND _row IN (SELECT _row FROM candidate_rows)"
    rows: np.ndarray = con.execute(f"SELECT _row FROM ({lines}) WHERE {words}").fetchnumpy()["_row"]
    con.unregister("candidate_rows")
    return rows
