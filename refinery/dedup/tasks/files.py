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
from refinery.workers.executor import TaskPlace


@contextmanager
def work(place: TaskPlace) -> Iterator[tuple[Store, Path]]:
    """The store, and a folder for files of one task."""
    store = open_store(place.store)
    with TemporaryDirectory(dir=store.scratch()) as folder:
        yield store, Path(folder)


def limits(place: TaskPlace) -> SqlLimits:
    """Limits of the DuckDB of a task."""
    return SqlLimits(place.threads, place.memory, place.spill)


@contextmanager
def connected(place: TaskPlace, *folders: Path, **tables: pa.Table) -> Iterator[Any]:
    """A connection with tables by their names, whose results are in any order. folders: that it writes to."""
    with closing(connect(list(map(str, folders)), place.threads, place.memory, place.spill)) as con:
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


def local(store: Store, name: str, folder: Path, columns: Sequence[str] | None = None) -> str:
    """A file on this machine with some columns of a file of the store, or with all."""
    if store.on_this_machine:
        return str(store.fetch(name))
    with opened(store, name) as file:
        there = [column for column in columns or file.schema_arrow.names if column in file.schema_arrow.names]
        path = folder / name.replace("/", "-")
        pq.write_table(file.read(columns=there), path, compression="none")
    return str(path)


def publish(store: Store, table: pa.Table, folder: Path, name: str) -> None:
    """Write a table under a name of the store."""
    aside = folder / name.replace("/", "-")
    pq.write_table(table, aside, compression="zstd")
    store.publish(aside, name)
