"""Tasks of a deduplicator's set SQL: each joins some columns of the match keys, or a share of their values.

Equal values are in the same share, so shares can be joined separately. `divide` writes the match keys of some shards by columns
and shares, and each task that joins reads its own of them, also from object storage.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.deduplicators import sql_of
from refinery.compiler.templates import ident, lit
from refinery.dedup.exchange import Cuts, PartFile, Share, divided, write_parts
from refinery.dedup.linked import links, star_links
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.equal import pairs_of, same_key
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.slices import Slices
from refinery.dedup.tasks.files import connected, limits, local, opened, work
from refinery.kernels.core.arrow import numbers, present
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace


def look(place: TaskPlace, keys: Sequence[tuple[str, Any]], names: Sequence[str]) -> str:
    """Columns, number of rows and bytes of some files of match keys, and the number of rows with each of some keys, as JSON.

    keys: a column and a value each.
    """
    store, columns, rows, size, counts = open_store(place.store), list[str](), 0, 0, [0] * len(keys)
    for name in names:
        with opened(store, name) as file:
            columns += [column for column in file.schema_arrow.names if column not in columns]
            rows += file.metadata.num_rows
            size += sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
            counts = [count + _equal_rows(file, *key) for count, key in zip(counts, keys, strict=True)]
    return json.dumps({"columns": columns, "rows": rows, "bytes": size, "counts": counts})


def _equal_rows(file: Any, column: str, value: Any) -> int:
    if column not in file.schema_arrow.names or not file.metadata.num_rows:
        return 0
    keys = file.read([column]).column(0).combine_chunks()
    if value is None:
        return int(keys.null_count)
    if value is True:
        return int(keys.true_count)
    return int(((numbers(keys) == value) & present(keys)).sum())


def divide(
    place: TaskPlace, carried: Sequence[str], compared: Sequence[str], shares: int, names: Sequence[str], to: str
) -> str:
    """Write the match keys of some files, a part for each share of each compared column (`key`), beside carried columns.

    Returns the places of the parts, as JSON.
    """
    with work(place) as (store, folder):
        keys = _columns(store, names, [*carried, *compared])
        places = write_parts(_by_shares(place, keys, carried, compared, shares), folder / "divided.parts")
        store.publish(folder / "divided.parts", to)
    return json.dumps(places)


def _columns(store: Store, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Some columns of files; a file without rows may lack some."""
    tables = []
    for name in names:
        with opened(store, name) as file:
            tables.append(file.read(columns=[column for column in columns if column in file.schema_arrow.names]))
    return pa.concat_tables(tables, promote_options="permissive")


def _by_shares(
    place: TaskPlace, keys: pa.Table, carried: Sequence[str], compared: Sequence[str], shares: int
) -> Iterator[tuple[pa.Table, Cuts]]:
    """For each compared column that is there, its values by shares, see `write_parts`."""
    beside = ", ".join(map(ident, carried))
    with connected(place, marks=keys) as con:
        for name in compared:
            if name not in keys.column_names:
                yield keys.slice(0, 0), np.zeros(shares + 1, np.int64)
                continue
            values = f"{beside}, {ident(name)} AS key, CAST(hash({ident(name)}) % {shares} AS INTEGER) AS share"
            table = con.sql(f"SELECT {values} FROM marks WHERE {ident(name)} IS NOT NULL").to_arrow_table()
            yield divided(table.drop_columns(["share"]), numbers(table["share"]), shares)


def equal(place: TaskPlace, bounds: str, parts: Sequence[tuple[int, Sequence[Share]]], to: str) -> str:
    """Write the links (`dedup.linked`) of samples that are equal in parts of `divide`; returns their places, as JSON.

    parts: `how`, the number of the column, and the shares of each. bounds: of partitions of samples, as JSON. Links of several partitions
    are gathered, so those of one column need no union-find.
    """
    at = json.loads(bounds)
    with work(place) as (store, folder):
        pairs = _equal(place, store, folder, parts)
        with PartFile(folder / "linked.parts") as file:
            for table in map(star_links, pairs) if len(parts) == 1 and len(at) > 2 else [links(pairs)]:
                file.add_groups(table, "_row", at)
        store.publish(folder / "linked.parts", to)
    return json.dumps(file.places)


def _equal(
    place: TaskPlace, store: Store, folder: Path, parts: Sequence[tuple[int, Sequence[Share]]]
) -> Iterator[Pairs]:
    for how, shares in parts:
        if shares:
            with _relation(place, "compared", Slices(store, shares), folder) as con:
                for batch in con.sql(sql_of(same_key("key"))).to_arrow_reader(1 << 20):
                    yield pairs_of(batch, how)


@contextmanager
def _relation(place: TaskPlace, name: str, rows: Slices, folder: Path) -> Iterator[Any]:
    """A connection with rows as a relation: a table in memory, or many rows in a file."""
    if rows.table is not None:
        with connected(place, folder, **{name: rows.table}) as con:
            yield con
        return
    path = folder / "relation.parquet"
    rows.write(path)
    with connected(place, folder) as con:
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({lit(str(path))})").fetchall()
        yield con


def units(place: TaskPlace, files: Sequence[str], sql: str, shares: Sequence[Share], to: str) -> str:
    """Write the units to remove, for one part of `divide`, or for files of match keys; return their number.

    files: those that are not divided. sql: over `marks`.
    """
    with work(place) as (store, folder):
        target = folder / "found.parquet"
        if files:
            keys = MatchKeys([local(store, name, folder) for name in files], [], limits(place), folders=[folder])
            with keys:
                count = keys.write(sql, str(target))
        else:
            with _relation(place, "marks", Slices(store, shares), folder) as con:
                [(count,)] = con.execute(f"COPY ({sql}) TO {lit(str(target))} (FORMAT parquet)").fetchall()
        store.publish(target, to)
    return str(count)
