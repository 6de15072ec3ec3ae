"""Rows of parts by slices, so that the memory of a task does not depend on the size of a cluster.

All rows of a frequent value are in one part, however many partitions there are. Few rows are one slice, which is read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.dedup.exchange import Share, read_shares
from refinery.storage.store import Store

# Bytes of a slice in files of parts.
_BYTES = 64 << 20


class Slices:
    """The rows of some parts, in the order of their shares, of which there is at least one; may be read several times.

    table: all rows, if they are one slice.
    """

    def __init__(self, store: Store, shares: Sequence[Share]) -> None:
        self._store, self._groups = store, list(_groups(shares))
        self.table = read_shares(store, shares) if len(self._groups) == 1 else None

    def __iter__(self) -> Iterator[pa.Table]:
        if self.table is not None:
            yield self.table
            return
        for shares in self._groups:
            yield read_shares(self._store, shares)

    def of_one_schema(self) -> pa.RecordBatchReader:
        """The rows as record batches of the schema that one table of all would have."""
        schema = pa.unify_schemas([table.schema for table in self], promote_options="permissive")
        return pa.RecordBatchReader.from_batches(schema, _batches(self, schema))

    def write(self, path: Path, names: Mapping[str, str] = MappingProxyType({})) -> None:
        """Write the rows to a Parquet file that is soon read again. names: new names of some columns."""
        with RowFile(path) as file:
            for batch in self.of_one_schema():
                file.write(batch.rename_columns([names.get(name, name) for name in batch.schema.names]))


def _groups(shares: Sequence[Share]) -> Iterator[list[Share]]:
    """Shares of about one slice each."""
    group, size = list[Share](), 0
    for share in shares:
        if group and size + share[2] > _BYTES:
            yield group
            group, size = [], 0
        group.append(share)
        size += share[2]
    yield group


def _batches(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from pa.concat_tables([schema.empty_table(), table], promote_options="permissive").to_batches()


class RowFile:
    """A Parquet file that is written table by table, of which there is at least one, as a context."""

    def __init__(self, path: Path, compression: str = "none") -> None:
        self._path, self._compression = path, compression
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Write the next rows."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rows.schema, compression=self._compression)
        self._writer.write(rows)

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def counted(slices: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of all slices, ascending, and the number of times that each occurs."""
    values, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for one in slices:
        more, times = np.unique(one, return_counts=True)
        if len(values):
            more, at = np.unique(np.append(values, more), return_inverse=True)
            times = np.bincount(at, np.append(counts, times)).astype(np.int64)
        values, counts = more, times
    return values, counts
