"""Tasks that make clusters of links, by partitions, and write what a deduplicator removes.

Links are gathered by partitions of samples, which are ranges of shards; clusters are settled by partitions of their first samples,
with the match keys of their members beside them; then the rows of tables are put in order, again by partitions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refinery.dedup.barrier import write_clusters
from refinery.dedup.clusters import Clusters
from refinery.dedup.linked import gathered, renamed, resolved
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.row_groups import Share, read_groups, write_groups
from refinery.execution.ray.task_files import Place, opened
from refinery.execution.ray.task_files import limits as _limits
from refinery.execution.ray.task_files import publish as _publish
from refinery.execution.ray.task_files import read as _read
from refinery.execution.ray.task_files import work as _work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.functions import register
from refinery.workers.serialization import from_json


def gather(place: Place, shares: Sequence[Share], to: str, equal: str) -> str:
    """Write one link for each sample of a partition, and the roots that are equal; returns the number of the latter."""
    with _work(place) as (store, folder):
        found, roots = gathered(read_groups(store, shares))
        _publish(store, found, folder, to)
        _publish(store, roots, folder, equal)
    return str(roots.num_rows)


def resolve(place: Place, equal: Sequence[str], to: str) -> str:
    """Write the first sample of each root that is equal to another one; returns their number."""
    with _work(place) as (store, folder):
        found = resolved(_read(store, name) for name in equal)
        _publish(store, found, folder, to)
    return str(found.num_rows)


def spread(
    place: Place, links: str, roots: str, keys: Sequence[str], without: Sequence[str], bounds: str, to: str
) -> str:
    """Write the links of a partition with their match keys, by partitions of roots, which are returned as JSON.

    roots: the file of `resolve`, "" without one. keys: files of match keys of the partition's shards. without: beginnings of the
    names of columns that are no longer needed.
    """
    with _work(place) as (store, folder):
        table = _read(store, links)
        if roots:
            table = renamed(table, _read(store, roots))
        table = _with_keys(store, table, keys, tuple(without))
        parts = write_groups(table, "root", json.loads(bounds), folder / "spread.parquet")
        store.publish(folder / "spread.parquet", to)
    return json.dumps(parts)


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


def settle(place: Place, shares: Sequence[Share], statements: str, bounds: str, duplicates: str, members: str) -> str:
    """Choose the samples that stay of the clusters of a partition; write the removed ones, and all members.

    statements: `survivors` ("" if the first sample stays), `duplicates`, and `functions` that they call, as JSON. Returns
    the number of removed samples, the size of the largest cluster, and the partitions of samples in either file, as JSON.
    """
    given, limits, at = json.loads(statements), _limits(place), json.loads(bounds)
    with _work(place) as (store, folder):
        table = read_groups(store, shares).sort_by("_row")
        row, root, via, how, jaccard = _links(table)
        own = [name for name in table.column_names if name not in _LINK]
        pq.write_table(table.select(own), folder / "keys.parquet", compression="none")
        gone, every = folder / "gone.parquet", folder / "members.parquet"
        with MatchKeys([str(folder / "keys.parquet")], [], limits) as keys:
            with register(keys.con, from_json(given["functions"])).kept():
                kept = _survivors(keys, given["survivors"], row, root)
                clusters = Clusters(row, root, kept, via, how, jaccard)
                write_clusters(keys, clusters, given["duplicates"], gone, every)
        found = {
            "removed": int(clusters.removed.sum()),
            "largest": int(clusters.sizes().max(initial=0)),
            "duplicates": write_groups(pq.read_table(gone), "_row", at, folder / "by_row.parquet"),
            "members": write_groups(pq.read_table(every), "kept", at, folder / "by_kept.parquet"),
        }
        store.publish(folder / "by_row.parquet", duplicates)
        store.publish(folder / "by_kept.parquet", members)
    return json.dumps(found)


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


def in_order(place: Place, shares: Sequence[Share], by: Sequence[str], to: str, rows: str = "") -> str:
    """Write the rows of a partition in order; returns the number of distinct values of the first column of `by`.

    rows: a file that gets the numbers of the samples, too, "" for none.
    """
    with _work(place) as (store, folder):
        table = read_groups(store, shares).sort_by([(name, "ascending") for name in by])
        _publish(store, table, folder, to)
        if rows:
            np.save(folder / "rows.npy", numbers(table["_row"]))
            store.publish(folder / "rows.npy", rows)
    return str(len(pc.unique(table[by[0]])))
