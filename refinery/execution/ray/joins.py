"""Tasks of a deduplicator's set SQL: each joins some columns of the match keys, or a share of their values.

Equal values are in the same share, so shares can be joined separately. A task reads only the columns that it joins, also
from object storage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refinery.common.connections import connect
from refinery.compiler.deduplicators import sql_of
from refinery.compiler.templates import ident, lit
from refinery.dedup.matchers.equal import same_key
from refinery.kernels.core.arrow import ints
from refinery.storage.open import open_store
from refinery.storage.store import Store

# Place and limits of a task: the store with the match keys, DuckDB's memory, the folder to spill to.
Place = tuple[str, str | None, str]


def look(place: Place, names: Sequence[str]) -> str:
    """Columns and number of rows of some files of match keys, as JSON."""
    store, columns, rows = open_store(place[0]), list[str](), 0
    for name in names:
        with _opened(store, name) as file:
            columns += [column for column in file.schema_arrow.names if column not in columns]
            rows += file.metadata.num_rows
    return json.dumps({"columns": columns, "rows": rows})


def equal(
    place: Place, names: Sequence[str], columns: Sequence[tuple[str, int]], share: int, shares: int, to: str
) -> str:
    """Write the pairs of samples that are equal in a column (`_row`, `via`, `how`: the column's number).

    share, shares: take the values of one share only. Returns the number of pairs.
    """
    pairs = []
    for name, how in columns:
        compared = f"SELECT _row, {ident(name)} FROM marks WHERE {_of_share(name, share, shares)}"
        pairs.append(f"SELECT *, {how}::INTEGER AS how FROM (WITH compared AS ({compared}) {sql_of(same_key(name))})")
    wanted = ["_row", *(name for name, _ in columns)]
    return _joined(place, names, wanted, "true", " UNION ALL ".join(pairs), to)


def units(place: Place, names: Sequence[str], sql: str, share: int, shares: int, to: str) -> str:
    """Write the units to remove, for one share of the keys; return their number. sql: over `marks`."""
    return _joined(place, names, ["_row", "unit", "key"], _of_share("key", share, shares), sql, to)


def _of_share(column: str, share: int, shares: int) -> str:
    return f"hash({ident(column)}) % {shares} = {share}" if shares > 1 else "true"


def _joined(place: Place, names: Sequence[str], columns: Sequence[str], where: str, sql: str, to: str) -> str:
    """Write the result of a statement over `marks`; return the number of rows."""
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
        store.publish(target, to)
    return str(count)


def only(place: Place, names: Sequence[str], members: bytes, without: Sequence[str], to: Sequence[str]) -> str:
    """Write the match keys of some samples (ascending int64), a file for each input file that has any.

    without: beginnings of the names of columns that are left out. Returns the names of the written files as JSON.
    """
    store, wanted = open_store(place[0]), np.frombuffer(members, np.int64)
    found = []
    for name, target in zip(names, to, strict=True):
        with _opened(store, name) as file:
            columns = [column for column in file.schema_arrow.names if not column.startswith(tuple(without))]
            table = file.read(columns=columns)
        table = table.filter(pc.is_in(table["_row"], ints(wanted)))
        if table.num_rows:
            aside = store.scratch() / target.replace("/", "-")
            pq.write_table(table, aside, compression="none")
            store.publish(aside, target)
            found.append(target)
    return json.dumps(found)


@contextmanager
def _opened(store: Store, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file of the store; from object storage only the requested columns are read."""
    with store.reading(name) as place, pq.ParquetFile(place) as file:
        yield file


def _local(store: Store, name: str, columns: Sequence[str], folder: Path) -> str:
    """A file on this machine with some columns of a file of match keys."""
    if store.on_this_machine:
        return str(store.fetch(name))
    with _opened(store, name) as file:
        there = [column for column in columns if column in file.schema_arrow.names]
        path = folder / name.replace("/", "-")
        pq.write_table(file.read(columns=there), path, compression="none")
    return str(path)
