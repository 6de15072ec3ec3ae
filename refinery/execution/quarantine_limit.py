"""Limit on the number of rows in quarantine (`max_quarantined`), checked whenever a shard ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from refinery.common.parquet import table_of
from refinery.errors import QuarantineError
from refinery.io.model import Shard
from refinery.io.readers.registry import reader_of
from refinery.workers.tasks import ShardResult

# During the run a share is compared with an estimate of all rows; the run fails only above this multiple of the share.
_MARGIN = 2


class QuarantineLimit:
    """Counts rows in quarantine. most: a number of rows, a share of all rows such as `0.1%`, or None.

    fetch: returns the file for a name in the store.
    """

    def __init__(self, most: int | str | None, shards: Sequence[Shard], fetch: Callable[[str], Path]) -> None:
        self._most, self._fetch = most, fetch
        self._shards, self._sizes = shards, [shard.size for shard in shards]
        self._rows: dict[int, int] = {}  # of finished shards, as the first stage has read them
        self._bad = 0
        self._first: ShardResult | None = None  # the first result with quarantined rows

    def take(self, result: ShardResult) -> None:
        """Count a finished shard of any stage. Raises QuarantineError as soon as there are certainly too many rows."""
        self._rows.setdefault(result.shard, result.rows)
        self._bad += result.quarantined
        self._first = self._first or (result if result.quarantine else None)
        if self._most is None or not self._bad:
            return
        if isinstance(self._most, int):
            self._check(self._bad > self._most, "so far")
        else:
            self._check(self._bad > _MARGIN * self._share * self._expected, "so far")

    def end(self) -> None:
        """Check the limit after all rows have been counted. Raises QuarantineError."""
        if isinstance(self._most, str):
            self._check(self._bad > self._share * sum(self._rows.values()), "in all")

    @property
    def _share(self) -> float:
        return float(str(self._most).rstrip("%")) / 100

    @property
    def _expected(self) -> float:
        """Estimated rows of the whole input, assuming the row length so far."""
        seen = sum(self._sizes[shard] for shard in self._rows)
        return sum(self._rows.values()) * max(1.0, sum(self._sizes) / max(1, seen))

    def _check(self, too_many: bool, when: str) -> None:
        if not too_many:
            return
        counted = sum(self._rows.values())
        text = f"{self._bad} of {counted} rows {when} are in quarantine, more than max_quarantined: {self._most}"
        raise QuarantineError(f"{text}{self._example()}")

    def _example(self) -> str:
        """Text that shows the first quarantined row."""

        if not self._first:
            return ""
        row = table_of(self._fetch(self._first.quarantine)).slice(0, 1).to_pylist()[0]
        by = f"{row['operator']}: " if row["operator"] else ""
        return f". One of them: {self._place(row['file'], row['line'])}: {by}{row['error']}"

    def _place(self, file: str, line: int) -> str:
        """Place of a shard's line in its file; the lines before the shard have not been counted yet."""
        shard = self._shards[self._first.shard if self._first else 0]
        if reader_of(shard.source).by_rows:
            return f"{file}:{shard.start + line}"
        return f"{file}:{line}" if shard.starts_file else f"{file}: line {line} after byte {shard.start:,}"
