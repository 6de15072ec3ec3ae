"""Files of tasks: a folder for the work of one, limits of its DuckDB, tables of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.duckdb_facts import settings
from refinery.common.lazy import pq
from refinery.dedup.match_keys import SqlLimits
from refinery.storage.open import open_store
from refinery.storage.store import Store

# Place and limits of a task: the store with the match keys, DuckDB's memory, the folder to spill to.
Place = tuple[str, str | None, str]


@contextmanager
def work(place: Place) -> Iterator[tuple[Store, Path]]:
    """The store, and a folder for files of one task."""
    store = open_store(place[0])
    with TemporaryDirectory(dir=store.scratch()) as folder:
        yield store, Path(folder)


def limits(place: Place) -> SqlLimits:
    """Limits of the DuckDB of a task."""
    return SqlLimits(1, place[1], place[2])


@contextmanager
def connected(place: Place, *folders: Path, **tables: pa.Table) -> Iterator[Any]:
    """A connection of one thread with tables by their names, whose results are in any order. folders: that it writes to."""
    with closing(connect(list(map(str, folders)), 1, place[1], place[2])) as con:
        con.execute(settings.ANY_ORDER).fetchall()
        for name, table in tables.items():
            con.register(name, table)
        yield con


@contextmanager
def opened(store: Store, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file of the store; from object storage only the requested columns are read."""
    with store.reading(name) as place, pq.ParquetFile(place) as file:
        yield file


def read(store: Store, name: str) -> pa.Table:
    """The table of a file of the store."""
    with opened(store, name) as file:
        return file.read()


def local(store: Store, name: str, columns: Sequence[str], folder: Path) -> str:
    """A file on this machine with some columns of a file of the store."""
    if store.on_this_machine:
        return str(store.fetch(name))
    with opened(store, name) as file:
        there = [column for column in columns if column in file.schema_arrow.names]
        path = folder / name.replace("/", "-")
        pq.write_table(file.read(columns=there), path, compression="none")
    return str(path)


def publish(store: Store, table: pa.Table, folder: Path, name: str) -> None:
    """Write a table under a name of the store."""
    aside = folder / name.replace("/", "-")
    pq.write_table(table, aside, compression="zstd")
    store.publish(aside, name)
