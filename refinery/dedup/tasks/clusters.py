"""Tasks that make clusters of links, by partitions, and write what a deduplicator removes.

Links are gathered by partitions of samples, which are ranges of shards; equalities of roots are resolved (`execution.ray.roots`);
clusters are settled by partitions of their first samples, with the match keys of their members beside them; then the rows of tables
are put in order, again by partitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.digest import size_and_digest
from refinery.common.lazy import pc, pq
from refinery.compiler.templates import ident, lit
from refinery.dedup.cluster_sizes import stay, write_sizes
from refinery.dedup.clusters import Clusters, matches_of
from refinery.dedup.exchange import PartFile, Share, read_shares, write_groups
from refinery.dedup.linked import gathered, renamed
from refinery.dedup.match_keys import MatchKeys, SqlLimits
from refinery.dedup.slices import RowFile, Slices, counted
from refinery.dedup.stars import both_ways
from refinery.dedup.tasks.files import connected, opened
from refinery.dedup.tasks.files import limits as _limits
from refinery.dedup.tasks.files import local as _local
from refinery.dedup.tasks.files import publish as _publish
from refinery.dedup.tasks.files import read as _read
from refinery.dedup.tasks.files import work as _work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace
from refinery.workers.functions import register
from refinery.workers.match_keys import write_removed
from refinery.workers.serialization import from_json


def gather(place: TaskPlace, bounds: str, shares: Sequence[Share], to: str, equal: str, wanted: str) -> str:
    """Write one link for each sample of a partition, the roots that are equal, and all roots of the links.

    shares: of links. bounds: of partitions, as JSON. The roots are written by partitions. Returns the number of equalities, and the
    places of equal and of wanted roots, as JSON.
    """
    at = json.loads(bounds)
    with _work(place) as (store, folder):
        links, roots = gathered(read_shares(store, shares))
        _publish(store, links, folder, to)
        ways = both_ways((numbers(roots["a"]), numbers(roots["b"])))
        places = [
            write_groups(ways, "one", at, folder / "equal.parts"),
            write_groups(pa.table({"root": pc.unique(links["root"])}), "root", at, folder / "wanted.parts"),
        ]
        store.publish(folder / "equal.parts", equal)
        store.publish(folder / "wanted.parts", wanted)
    return json.dumps([len(roots), *places])


def spread(
    place: TaskPlace,
    without: Sequence[str],
    bounds: str,
    roots: Sequence[Share],
    links: str,
    keys: Sequence[str],
    to: str,
) -> str:
    """Write the links of a partition with their match keys, by partitions of roots; returns their places, as JSON.

    roots: shares of `roots.reply`. keys: files of match keys of the partition's shards; none where `settle` reads
    them. without: beginnings of the names of columns that are no longer needed.
    """
    with _work(place) as (store, folder):
        table, final = _read(store, links), (read_shares(store, roots) if roots else None)
        if final is not None:
            table = renamed(table, final)
        if keys:
            table = _with_keys(store, table, keys, tuple(without))
        places = write_groups(table, "root", json.loads(bounds), folder / "spread.parts")
        store.publish(folder / "spread.parts", to)
    return json.dumps(places)


def _with_keys(store: Store, table: pa.Table, keys: Sequence[str], without: tuple[str, ...]) -> pa.Table:
    """Links with the columns of match keys; both have each sample once."""
    tables = []
    for name in keys:
        with opened(store, name) as file:
            columns = [column for column in file.schema_arrow.names if not column.startswith(without)]
            known = file.read(columns=columns)
        tables.append(known.filter(pc.is_in(known["_row"], table["_row"])))
    known = pa.concat_tables(tables, promote_options="permissive").sort_by("_row")
    if not known["_row"].equals(table["_row"]):
        raise ValueError("samples in pairs are not those of the match keys")
    for name in known.column_names:
        if name != "_row":
            table = table.append_column(name, known[name])
    return table


_LINK = ("root", "via", "how", "jaccard")
# Matches that are described at once, and rows of `duplicates` that are written at once.
_MATCHES, _DESCRIBED = 1 << 20, 1 << 18


def settle(
    place: TaskPlace,
    survivors: str,
    bounds: str,
    keys: Sequence[str],
    shares: Sequence[Share],
    own_keys: str,
    removed: str,
    members: str,
    matches: str,
) -> str:
    """Choose the samples that stay of the clusters of a partition; write the removed ones, all members, and the matches.

    shares: of links. survivors: SQL, "" if the first sample stays. keys: files of match keys; without any, they
    are beside the links, and go to the file `own_keys`. Returns the size of the largest cluster, and the places of removed samples and of
    members, as JSON.
    """
    with _work(place) as (store, folder):
        links = Slices(store, shares)
        beside = [] if keys else [write_keys_beside(store, links.of_one_schema(), folder, own_keys)]
        roots, sizes = counted(numbers(table["root"]) for table in links)
        kept = roots
        if survivors:
            files = [_local(store, name, folder) for name in (*keys, *beside)]
            kept = _survivors(_limits(place), files, survivors, links)
        return leave(store, folder, _clusters(links, roots, kept, sizes), json.loads(bounds), removed, members, matches)


def _clusters(
    links: Slices, roots: np.ndarray, kept: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[Clusters, np.ndarray]]:
    """Clusters, slice by slice, and the size of each sample's one. kept, sizes: by roots."""
    for table in links:
        row, root, via, how, jaccard = links_of(table)
        at = np.searchsorted(roots, root)
        yield Clusters(row, root, kept[at], via, how, jaccard), sizes[at]


def leave(
    store: Store,
    folder: Path,
    slices: Iterable[tuple[Clusters, np.ndarray]],
    bounds: Sequence[int],
    removed: str,
    members: str,
    matches: str,
) -> str:
    """Write removed samples, members and matches of clusters; returns what `settle` returns. A sample alone is no cluster.

    slices: of the clusters, and the size of each sample's one.
    """
    largest = 0
    with (
        PartFile(folder / "removed.parts") as gone,
        PartFile(folder / "members.parts") as everyone,
        RowFile(folder / "matches.parquet", "zstd") as known,
    ):
        for clusters, sizes in slices:
            largest = max(largest, int(sizes.max(initial=0)))
            table = matches_of(clusters)
            gone.add_groups(table.select(["_row"]), "_row", bounds)
            known.write(table)
            columns, together = {"_row": clusters.row, "kept": clusters.kept, "size": sizes}, sizes > 1
            table = pa.table({name: ints(values[together]) for name, values in columns.items()})
            everyone.add_groups(table, "kept", bounds)
    store.publish(folder / "matches.parquet", matches)
    store.publish(folder / "removed.parts", removed)
    store.publish(folder / "members.parts", members)
    return json.dumps([largest, gone.places, everyone.places])


def write_keys_beside(store: Store, links: Iterable[pa.Table], folder: Path, name: str) -> str:
    """Write the match keys that links have beside them, by slices of one schema; returns the name of the file."""
    with RowFile(folder / "keys.parquet") as file:
        for table in links:
            file.write(table.drop_columns([column for column in _LINK if column in table.column_names]))
    store.publish(folder / "keys.parquet", name)
    return name


def links_of(table: pa.Table) -> tuple[np.ndarray, ...]:
    """Columns of links: `_row`, `root`, `via`, `how`, and `jaccard`, which is NaN where no pair was compared."""
    columns = [numbers(table[name]) for name in ("_row", *_LINK[:-1])]
    if "jaccard" in table.column_names:
        return *columns, numbers(table["jaccard"].fill_null(np.nan))
    return *columns, np.full(len(table), np.nan)


def _survivors(limits: SqlLimits, files: Sequence[str], sql: str, links: Slices) -> np.ndarray:
    """The sample of each cluster that stays, in the order of roots."""
    members = links.table if links.table is not None else links.of_one_schema()
    with MatchKeys(files, [], limits) as keys, keys.relation("members", members):
        table = keys.con.sql(sql).to_arrow_table().sort_by("root")
    return numbers(table["kept"])


def describe(
    place: TaskPlace, sql: str, functions: str, bounds: str, keys: Sequence[str], matches: str, to: str
) -> str:
    """Write the rows of `duplicates` for the matches of a partition of roots, by partitions of samples; returns their places, as JSON.

    sql: makes them of `found` and the match keys. functions: that it calls, as JSON. keys: files of match keys.
    """
    at = json.loads(bounds)
    with _work(place) as (store, folder):
        files = [_local(store, name, folder) for name in keys]
        with (
            MatchKeys(files, [], _limits(place), folders=[folder]) as marks,
            register(marks.con, from_json(functions)).kept(),
            opened(store, matches) as file,
            PartFile(folder / "described.parts") as described,
        ):
            for some in file.iter_batches(_MATCHES):
                with marks.relation("found", pa.Table.from_batches([some])):
                    for batch in marks.con.sql(sql).to_arrow_reader(_DESCRIBED):
                        described.add_groups(pa.Table.from_batches([batch]), "_row", at)
        store.publish(folder / "described.parts", to)
    return json.dumps(described.places)


def remove(place: TaskPlace, shares: Sequence[Share], to: str) -> str:
    """Write the numbers of the removed samples of a partition. Returns the size and digest of the file, and the places of each shard's samples in it, as JSON."""
    with _work(place) as (store, folder):
        rows = numbers(read_shares(store, shares)["_row"])
        places = list(write_removed(folder / "rows", np.sort(rows)))
        seen = size_and_digest(folder / "rows")
        store.publish(folder / "rows", to)
    return json.dumps([seen, places])


def sizes(place: TaskPlace, column: str, to: str, shares: Sequence[Share]) -> str:
    """Write the sizes of the clusters of a partition's samples that stay, a file for each shard.

    column: of the sizes in the files. to: folder of the files in the store. Returns shard, name, size and digest of each, as JSON.
    """
    with _work(place) as (store, folder):
        members = pa.concat_tables(stay(table) for table in Slices(store, shares))
        written = []
        for shard, path in write_sizes(members, column, folder):
            name = f"{to}/{path.name}"
            written.append((shard, name, *size_and_digest(path)))
            store.publish(path, name)
    return json.dumps(written)


def in_order(place: TaskPlace, by: Sequence[str], shares: Sequence[Share], to: str) -> str:
    """Write the rows of a partition in order. Returns size and digest, as JSON."""
    with _work(place) as (store, folder):
        rows, path = Slices(store, shares), folder / "ordered.parquet"
        if rows.table is not None:
            pq.write_table(rows.table.sort_by([(name, "ascending") for name in by]), path, compression="zstd")
        else:
            _sort(place, rows, by, path)
        seen = size_and_digest(path)
        store.publish(path, to)
    return json.dumps(seen)


def _sort(place: TaskPlace, rows: Slices, by: Sequence[str], path: Path) -> None:
    """Write rows in order by DuckDB, which spills; by one thread, so that a repeated call writes the same bytes."""
    with connected(place._replace(threads=1), path.parent, rows=rows.of_one_schema()) as con:
        select = f"SELECT * FROM rows ORDER BY {', '.join(map(ident, by))}"
        con.execute(f"COPY ({select}) TO {lit(str(path))} (FORMAT parquet, COMPRESSION zstd)").fetchall()
