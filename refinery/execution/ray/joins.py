"""Tasks of a deduplicator's set SQL: each joins some columns of the match keys, or a share of their values.

Equal values are in the same share, so shares can be joined separately. A task reads only the columns that it joins, also
from object storage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from refinery.common.connections import connect
from refinery.compiler.deduplicators import sql_of
from refinery.compiler.templates import ident, lit
from refinery.dedup.linked import links
from refinery.dedup.matchers.equal import same_key
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.row_groups import write_groups
from refinery.execution.ray.task_files import Place as Place
from refinery.execution.ray.task_files import local as _local
from refinery.execution.ray.task_files import opened as opened
from refinery.kernels.core.arrow import numbers
from refinery.storage.open import open_store


def look(place: Place, names: Sequence[str]) -> str:
    """Columns, number of rows and bytes of some files of match keys, as JSON."""
    store, columns, rows, size = open_store(place[0]), list[str](), 0, 0
    for name in names:
        with opened(store, name) as file:
            columns += [column for column in file.schema_arrow.names if column not in columns]
            rows += file.metadata.num_rows
            size += sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
    return json.dumps({"columns": columns, "rows": rows, "bytes": size})


def equal(
    place: Place,
    names: Sequence[str],
    columns: Sequence[tuple[str, int]],
    share: int,
    shares: int,
    bounds: str,
    to: str,
) -> str:
    """Write the links (`dedup.linked`) of samples that are equal in a column; `how` is the column's number.

    share, shares: take the values of one share only. bounds: of partitions of samples, as JSON. Returns the partitions that
    have links, as JSON.
    """
    pairs = []
    for name, how in columns:
        compared = f"SELECT _row, {ident(name)} FROM marks WHERE {_of_share(name, share, shares)}"
        pairs.append(f"SELECT *, {how}::INTEGER AS how FROM (WITH compared AS ({compared}) {sql_of(same_key(name))})")
    wanted = ["_row", *(name for name, _ in columns)]
    parts: list[int] = []

    def linked(found: Path) -> Path:
        target = found.with_name("linked.parquet")
        parts.extend(write_groups(links(_pairs(found)), "_row", json.loads(bounds), target))
        return target

    _joined(place, names, wanted, "true", " UNION ALL ".join(pairs), to, linked)
    return json.dumps(parts)


def _pairs(path: Path) -> Iterator[Pairs]:
    """Pairs from a file, block by block."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1 << 20):
            row, via, how = (numbers(batch.column(name)) for name in ("_row", "via", "how"))
            yield Pairs(row, via, how, np.full(len(row), np.nan))


def units(place: Place, names: Sequence[str], sql: str, share: int, shares: int, to: str) -> str:
    """Write the units to remove, for one share of the keys; return their number. sql: over `marks`."""
    return _joined(place, names, ["_row", "unit", "key"], _of_share("key", share, shares), sql, to)


def _of_share(column: str, share: int, shares: int) -> str:
    return f"hash({ident(column)}) % {shares} = {share}" if shares > 1 else "true"


def _joined(
    place: Place,
    names: Sequence[str],
    columns: Sequence[str],
    where: str,
    sql: str,
    to: str,
    then: Callable[[Path], Path] = Path,
) -> str:
    """Write the result of a statement over `marks`; return the number of rows. then: makes the file of the result another."""
    url, memory, spill = place
    store = open_store(url)
    with TemporaryDirectory(dir=store.scratch()) as folder:
        files = [_local(store, name, columns, Path(folder)) for name in names]
        target = Path(folder) / "found.parquet"
        with closing(connect([folder, *map(os.path.dirname, files)], 1, memory, spill)) as con:
            con.execute("SET preserve_insertion_order = false").fetchall()
            source = f"SELECT {', '.join(map(ident, columns))} FROM read_parquet({lit(files)}, union_by_name = true)"
            con.execute(f"CREATE VIEW marks AS {source} WHERE {where}").fetchall()
            [(count,)] = con.execute(f"COPY ({sql}) TO {lit(str(target))} (FORMAT parquet)").fetchall()
        store.publish(then(target), to)
    return str(count)
