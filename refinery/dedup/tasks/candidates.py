"""Tasks that compare candidates exactly: buckets by bands, shingles and pairs by partitions of the samples.

A pair meets the shingles of its two samples in two steps: where the sample is, then where its representative is. So a
task reads the shingles of its own partition and of the pairs that it is given, and a pair that many bands have is compared once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.arrays import write_arrays
from refinery.common.lazy import pc
from refinery.compiler.deduplicators import sql_of
from refinery.compiler.templates import lit
from refinery.dedup.exchange import PartFile, Share, read_shares, write_groups
from refinery.dedup.linked import links
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers import candidates
from refinery.dedup.matchers.model import Pairs
from refinery.dedup.tasks.files import connected, limits, local, publish, work
from refinery.dedup.units import by_shard
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace
from refinery.workers.functions import register
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import from_json

_CONTENTS = f"SELECT _row, {candidates.CONTENT} AS content, CAST(0 AS UBIGINT) AS signed FROM computed"
_SIGNED = f"""
SELECT _row, {candidates.CONTENT} AS content, coalesce(md5_number_lower(signature), 0) AS signed
FROM computed JOIN (SELECT _row, signature FROM read_parquet({{files}})) USING (_row)
"""
_PLACED = """
SELECT members._row, coalesce(computed.content, 0) AS content, coalesce(computed.signed, 0) AS signed
FROM (SELECT DISTINCT _row FROM buckets) AS members LEFT JOIN computed USING (_row)
"""
_CARRIED = """
SELECT pairs._row, pairs.via, pairs.how, computed.{column}
FROM (SELECT _row, via, min(how) AS how FROM pairs WHERE via {side} 0 GROUP BY ALL) AS pairs JOIN computed USING (_row)
"""
_COMPARED = """
SELECT pairs._row, pairs.via, pairs.how, {function}(pairs.{column}, other.{column}) AS jaccard
FROM pairs JOIN other ON other._row = pairs.via
"""
_REMEMBERED = """
SELECT _row, coalesce(md5_number_lower(signature), 0) AS content, content AS signed FROM computed SEMI JOIN members USING (_row)
"""

# Rows and bytes of pairs with shingles that are in memory at once.
_ROWS, _BYTES = 1 << 11, 64 << 20

_NONE = pa.table({"band": ints(np.zeros(0, np.int32)), "key": pa.nulls(0), "_row": ints(np.zeros(0, np.int64))})

# Functions that compare samples of this run by their shingles, and with samples of an index by signatures.
FUNCTIONS = {"shingles": "jaccard", "signature": "estimate_jaccard"}


def buckets(place: TaskPlace, bounds: str, parts: Sequence[tuple[int, Sequence[Share]]], to: str, rows: str) -> str:
    """Write the buckets of some parts of `joins.divide`, and the numbers of their members, whose places are returned as JSON.

    parts: the band and the shares of each. bounds: of partitions of samples, as JSON.
    """
    with work(place) as (store, folder):
        shared = pa.concat_tables([_NONE, *_buckets(place, store, parts)], promote_options="permissive")
        members = pa.table({"_row": pc.unique(shared["_row"])})
        there = write_groups(members, "_row", json.loads(bounds), folder / "members.parts")
        publish(store, shared, folder, to)
        store.publish(folder / "members.parts", rows)
    return json.dumps(there)


def _buckets(place: TaskPlace, store: Store, parts: Sequence[tuple[int, Sequence[Share]]]) -> Iterator[pa.Table]:
    for band, shares in parts:
        if shares:
            table = read_shares(store, shares)
            with connected(place, marks=table.select(["_row", "key"]).rename_columns(["_row", f"band_{band}"])) as con:
                yield con.sql(sql_of(candidates.buckets_of([band]))).to_arrow_table()


def wanted(place: TaskPlace, column: str, shares: Sequence[Share], to: str) -> str:
    """Write the numbers of the members in a partition, a file for each shard; returns the shards as JSON.

    column: of a further file with the places in each member (`place`); without it there is none. to: folder of the files in
    the store.
    """
    with work(place) as (store, folder):
        members = read_shares(store, shares)
        if column:
            for shard, path in by_shard(_in_order(members), column, folder).items():
                store.publish(Path(path), places_of(to, shard))
        rows = np.unique(numbers(members["_row"]))
        shards = np.unique(rows >> SHARD_BITS).tolist()
        for shard in shards:
            first, end = np.searchsorted(rows, [shard << SHARD_BITS, (shard + 1) << SHARD_BITS])
            write_arrays(folder / "rows.arrow", rows[first:end] & ((1 << SHARD_BITS) - 1))
            store.publish(folder / "rows.arrow", rows_of(to, shard))
    return json.dumps(shards)


def _in_order(members: pa.Table) -> pa.Table:
    """The places of members as units, by member and place."""
    rows, places = numbers(members["_row"]), numbers(members["place"])
    order = np.lexsort((places, rows))
    return pa.table({"_row": ints(rows[order]), "unit": ints(places[order].astype(np.int64))})


def rows_of(folder: str, shard: int) -> str:
    """Name of the file with the numbers of a shard's members."""
    return f"{folder}/{shard:05d}.rows.arrow"


def places_of(folder: str, shard: int) -> str:
    """Name of the file with the places in a shard's members."""
    return f"{folder}/{shard:05d}.places.parquet"


def contents(place: TaskPlace, shingles: Sequence[str], keys: Sequence[str], to: str) -> str:
    """Write a number for each sample of a partition that its shingles give, and one of its signature; returns their number.

    keys: files with the signatures of the partition, where there is an index.
    """
    with work(place) as (store, folder):
        own, signatures = _files(store, shingles, ["shingles"], folder), _files(store, keys, ["signature"], folder)
        with _computed(place, folder, own, signatures) as computed:
            sql = _SIGNED.format(files=lit(signatures)) if signatures else _CONTENTS
            count = computed.write(sql, str(folder / "contents.parquet"))
        store.publish(folder / "contents.parquet", to)
    return str(count)


def remembered(place: TaskPlace, shares: Sequence[Share], keys: Sequence[str], to: str) -> str:
    """Write a number for each member of a partition of an index that its signature gives; returns their number."""
    with (
        work(place) as (store, folder),
        _computed(place, folder, _files(store, keys, ["signature"], folder)) as computed,
    ):
        with computed.relation("members", pa.table({"_row": pc.unique(read_shares(store, shares)["_row"])})):
            count = computed.write(_REMEMBERED, str(folder / "contents.parquet"))
        store.publish(folder / "contents.parquet", to)
    return str(count)


def pairs(
    place: TaskPlace, state: str, contents: Sequence[str], answers: Sequence[str], bounds: str, after: str, to: str
) -> str:
    """Write the pairs to compare next of some buckets, by partitions of `_row`, whose places are returned as JSON.

    state: buckets, and for the first time the contents of members; later, the members that are left, and the answers to the last pairs.
    after: gets the members that are left.
    """
    with work(place) as (store, folder):
        [file] = _files(store, [state], ["band", "key", "place", "first"], folder)
        known = _files(store, [*contents, *answers], ["via", "content", "signed"], folder)
        with _computed(place, folder, known, [file]) as keys:
            keys.run(
                f"CREATE TEMP TABLE {'buckets' if contents else 'open'} AS SELECT * FROM read_parquet({lit(file)})"
            )
            if contents:
                members = keys.con.sql(_PLACED).to_arrow_table()
                candidates.place(keys, *(numbers(members[name]) for name in ("_row", "content", "signed")))
            elif answers:
                keys.run("CREATE VIEW answered AS SELECT * FROM computed")
                candidates.close(keys)
            linked = candidates.representatives(keys).rename_columns(["_row", "via", "how"])
            keys.write("SELECT * FROM open", str(folder / "open.parquet"))
        parts = write_groups(linked, "_row", json.loads(bounds), folder / "pairs.parts")
        store.publish(folder / "open.parquet", after)
        store.publish(folder / "pairs.parts", to)
    return json.dumps(parts)


def left(place: TaskPlace, shares: Sequence[Share]) -> str:
    """Number of samples of a partition in the pairs that are left."""
    with work(place) as (store, _):
        return str(len(pc.unique(read_shares(store, shares)["_row"])))


def carry(place: TaskPlace, shares: Sequence[Share], files: Sequence[str], column: str, bounds: str, to: str) -> str:
    """Write the pairs of a partition with a column of `_row`, by partitions of `via`, whose places are returned as JSON.

    files: with the column, named by shards. column: `shingles` for pairs of this run, `signature` for pairs with an index.
    """
    with work(place) as (store, folder):
        shared = read_shares(store, shares)
        own = _files(store, _of_shards(files, shared["_row"]), [column], folder)
        sql = _CARRIED.format(column=column, side="<" if column == "signature" else ">=")
        with (
            _computed(place, folder, own) as keys,
            keys.relation("pairs", shared),
            PartFile(folder / "carried.parts") as carried,
        ):
            for table in _pieces(keys.con.sql(sql).to_arrow_reader(_ROWS)):
                carried.add_groups(table, "via", json.loads(bounds))
        store.publish(folder / "carried.parts", to)
    return json.dumps(carried.places)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables of at least `_BYTES` bytes, but for the last one: the shingles of all pairs may not fit into memory."""
    held, size = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def compare(
    place: TaskPlace,
    shares: Sequence[Share],
    files: Sequence[str],
    column: str,
    functions: str,
    threshold: float,
    bounds: str,
    answers: str,
    to: str,
) -> str:
    """Compare the pairs of a partition of `via`; write those that are alike, and their links, by partitions of samples.

    files, column: as of `carry`, of `via`. functions: for SQL, as JSON. Returns the places of links, as JSON.
    """
    with work(place) as (store, folder):
        vias = pa.concat_tables(_one_by_one(store, shares, ["via"]))["via"]
        names = files if column == "signature" else _of_shards(files, vias)
        own, matches = _files(store, names, [column], folder), list[Pairs]()
        sql = _COMPARED.format(column=column, function=FUNCTIONS[column])
        with _computed(place, folder, own) as keys, register(keys.con, from_json(functions)).kept():
            with keys.relation("wanted", pa.table({"_row": ints(np.unique(numbers(vias)))})):
                keys.run("CREATE TABLE other AS SELECT * FROM computed SEMI JOIN wanted USING (_row)")
            for table in _one_by_one(store, shares):
                with keys.relation("pairs", table):
                    matches.append(_alike(keys.con.sql(sql).to_arrow_table(), threshold))
        alike = pa.table(
            {name: ints(np.concatenate([getattr(pairs, name) for pairs in matches])) for name in ("row", "via")}
        )
        publish(store, alike.rename_columns(["_row", "via"]), folder, answers)
        parts = write_groups(links(matches), "_row", json.loads(bounds), folder / "linked.parts")
        store.publish(folder / "linked.parts", to)
    return json.dumps(parts)


def _alike(compared: pa.Table, threshold: float) -> Pairs:
    """Pairs that are alike."""
    row, via, how = (numbers(compared[name]) for name in ("_row", "via", "how"))
    jaccard = compared["jaccard"].to_numpy().copy()
    same = jaccard >= threshold
    jaccard[via < 0] = np.nan  # an estimate is no true similarity
    return Pairs(row[same], via[same], how[same].astype(np.int32), jaccard[same])


def _one_by_one(store: Store, shares: Sequence[Share], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Parts one after another, so that the shingles of few pairs are in memory."""
    for share in shares:
        table = read_shares(store, [share])
        yield table if columns is None else table.select(columns)


def _of_shards(names: Sequence[str], rows: pa.ChunkedArray) -> list[str]:
    """Files, named by shards, of the shards of some samples."""
    shards = set(np.unique(numbers(rows) >> SHARD_BITS).tolist())
    return [name for name in names if int(name.rpartition("/")[2].partition(".")[0]) in shards]


def _files(store: Store, names: Sequence[str], columns: Sequence[str], folder: Path) -> list[str]:
    """Files on this machine with some columns besides `_row`."""
    return [local(store, name, folder, ["_row", *columns]) for name in names]


@contextmanager
def _computed(place: TaskPlace, folder: Path, files: Sequence[str], beside: Sequence[str] = ()) -> Iterator[MatchKeys]:
    """A connection with the view `computed` over files, if there are any. beside: files that it reads, too."""
    every = [*files, *beside]
    folders = {str(folder), *(str(Path(file).parent) for file in every)}
    with MatchKeys(every[:1], [], limits(place), folders=sorted(folders)) as keys:
        if files:
            keys.run(f"CREATE VIEW computed AS SELECT * FROM read_parquet({lit(list(files))})")
        yield keys
