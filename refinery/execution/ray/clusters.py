"""Tasks that make clusters of links, by partitions, and write what a deduplicator removes.

Links are gathered by partitions of samples, which are ranges of shards; equalities of roots are resolved (`execution.ray.roots`);
clusters are settled by partitions of their first samples, with the match keys of their members beside them; then the rows of tables
are put in order, again by partitions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc, pq
from refinery.common.parquet import table_of
from refinery.dedup.barrier import write_clusters
from refinery.dedup.clusters import Clusters
from refinery.dedup.linked import gathered, renamed
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.row_groups import read_parts, write_groups
from refinery.dedup.stars import both_ways
from refinery.execution.ray.task_files import Place, opened
from refinery.execution.ray.task_files import limits as _limits
from refinery.execution.ray.task_files import publish as _publish
from refinery.execution.ray.task_files import read as _read
from refinery.execution.ray.task_files import work as _work
from refinery.kernels.core.arrow import ints, numbers
from refinery.kernels.core.digest import size_and_digest
from refinery.storage.store import Store
from refinery.workers.functions import register
from refinery.workers.match_keys import write_removed
from refinery.workers.serialization import from_json


def gather(place: Place, names: str, bounds: str, part: int, to: str, equal: str, wanted: str) -> str:
    """Write one link for each sample of a partition, the roots that are equal, and all roots of the links.

    names: files of links, as JSON. bounds: of partitions, as JSON. The roots are written by partitions. Returns the number of
    links and of equalities, as JSON.
    """
    at = json.loads(bounds)
    with _work(place) as (store, folder):
        table = read_parts(store, json.loads(names), part)
        if table is None:
            return json.dumps([0, 0])
        found, roots = gathered(table)
        _publish(store, found, folder, to)
        write_groups(both_ways((numbers(roots["a"]), numbers(roots["b"]))), "one", at, folder / "equal.parts")
        write_groups(pa.table({"root": pc.unique(found["root"])}), "root", at, folder / "wanted.parts")
        store.publish(folder / "equal.parts", equal)
        store.publish(folder / "wanted.parts", wanted)
    return json.dumps([len(found), len(roots)])


def spread(
    place: Place,
    roots: str,
    without: Sequence[str],
    bounds: str,
    part: int,
    links: str,
    keys: Sequence[str],
    to: str,
) -> str:
    """Write the links of a partition with their match keys, by partitions of roots; returns the number of links.

    roots: files of `roots.reply`, as JSON. keys: files of match keys of the partition's shards. without: beginnings of the
    names of columns that are no longer needed.
    """
    with _work(place) as (store, folder):
        table, final = _read(store, links), read_parts(store, json.loads(roots), part)
        if final is not None:
            table = renamed(table, final)
        table = _with_keys(store, table, keys, tuple(without))
        write_groups(table, "root", json.loads(bounds), folder / "spread.parts")
        store.publish(folder / "spread.parts", to)
    return str(len(table))


def _with_keys(store: Store, table: pa.Table, keys: Sequence[str], without: tuple[str, ...]) -> pa.Table:
    """Links with the columns of match keys; both have each sample once."""
    found = []
    for name in keys:
        with opened(store, name) as file:
            columns = [column for column in file.schema_arrow.names if not column.startswith(without)]
            known = file.read(columns=columns)
        found.append(known.filter(pc.is_in(known["_row"], table["_row"])))
    known = pa.concat_tables(found, promote_options="permissive").sort_by("_row")
    if not known["_row"].equals(table["_row"]):
        raise ValueError("samples in pairs are not those of the match keys")
    for name in known.column_names:
        if name != "_row":
            table = table.append_column(name, known[name])
    return table


_LINK = ("root", "via", "how", "jaccard")


def settle(place: Place, names: str, statements: str, bounds: str, part: int, duplicates: str, members: str) -> str:
    """Choose the samples that stay of the clusters of a partition; write the removed ones, and all members.

    names: files of `spread`, as JSON. statements: `survivors` ("" if the first sample stays), `duplicates`, and `functions` that
    they call, as JSON. Returns the number of members, and the size of the largest cluster, as JSON.
    """
    given, limits, at = json.loads(statements), _limits(place), json.loads(bounds)
    with _work(place) as (store, folder):
        table = read_parts(store, json.loads(names), part)
        if table is None:
            return json.dumps([0, 0])
        table = table.sort_by("_row")
        row, root, via, how, jaccard = _links(table)
        keys_alone = table.select([name for name in table.column_names if name not in _LINK])
        pq.write_table(keys_alone, folder / "keys.parquet", compression="none")
        gone, own = folder / "gone.parquet", folder / "members.parquet"
        with MatchKeys([str(folder / "keys.parquet")], [], limits) as keys:
            with register(keys.con, from_json(given["functions"])).kept():
                kept = _survivors(keys, given["survivors"], row, root)
                clusters = Clusters(row, root, kept, via, how, jaccard)
                write_clusters(keys, clusters, given["duplicates"], gone, own)
        write_groups(table_of(gone), "_row", at, folder / "by_row.parts")
        write_groups(table_of(own), "kept", at, folder / "by_kept.parts")
        store.publish(folder / "by_row.parts", duplicates)
        store.publish(folder / "by_kept.parts", members)
    return json.dumps([len(row), int(clusters.sizes().max(initial=0))])


def _links(table: pa.Table) -> tuple[np.ndarray, ...]:
    """Columns of links: `_row`, `root`, `via`, `how`, and `jaccard`, which is NaN where no pair was compared."""
    found = [numbers(table[name]) for name in ("_row", *_LINK[:-1])]
    if "jaccard" in table.column_names:
        return *found, numbers(table["jaccard"].fill_null(np.nan))
    return *found, np.full(len(table), np.nan)


def _survivors(keys: MatchKeys, sql: str, row: np.ndarray, root: np.ndarray) -> np.ndarray:
    """The sample of each cluster that stays, for each sample."""
    if not sql:
        return root
    with keys.relation("members", pa.table({"_row": ints(row), "root": ints(root)})):
        table = keys.con.sql(sql).to_arrow_table().sort_by("root")
    return numbers(table["kept"])[np.searchsorted(numbers(table["root"]), root)]


def in_order(place: Place, files: str, kind: str, by: Sequence[str], part: int, to: str, rows: str = "") -> str:
    """Write the rows of a partition in order, if it has any.

    files: of rows by partitions, by their kind, as JSON. rows: a file that gets the numbers of the samples, too, "" for none. Returns as JSON
    the written files (`seen`: size and digest by name), and by shard the places of its samples in `rows` (`removed`).
    """
    seen, removed = dict[str, tuple[int, str]](), list[tuple[int, int, int, str]]()
    with _work(place) as (store, folder):
        table = read_parts(store, json.loads(files)[kind], part)
        if table is not None:
            table = table.sort_by([(name, "ascending") for name in by])
            pq.write_table(table, folder / "ordered.parquet", compression="zstd")
            written = {to: folder / "ordered.parquet"}
            if rows:
                written[rows] = folder / "rows"
                removed = list(write_removed(written[rows], numbers(table["_row"])))
            seen = {name: size_and_digest(path) for name, path in written.items()}
            for name, path in written.items():
                store.publish(path, name)
    return json.dumps({"seen": seen, "removed": removed})
