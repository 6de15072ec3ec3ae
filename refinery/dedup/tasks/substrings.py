"""Tasks that find repeated substrings: equal items by shares of their keys, cells of open items by partitions of samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.dedup.exchange import Cuts, Share, divided, read_shares, write_groups, write_parts
from refinery.dedup.tasks.files import opened, publish, work
from refinery.dedup.units import by_shard
from refinery.errors import OperatorError
from refinery.kernels.core.arrow import ints, numbers, of_texts
from refinery.kernels.dedup import substring_cells, substring_groups, substrings
from refinery.kernels.dedup.substring_groups import Passages
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace
from refinery.workers.match_keys import SHARD_BITS

_COLUMNS = ["_row", *substrings.ITEM]
_ROWS = 1024  # samples whose excerpts are in memory at once


def sizes(place: TaskPlace, length: int, names: Sequence[str]) -> str:
    """Symbols of the texts that have items, by shard, as JSON. names: files of match keys.

    The last item of a text, or the end of a repetition, reaches to the text's end.
    """
    store, found = open_store(place.store), dict[int, int]()
    for name in names:
        with opened(store, name) as file:
            items = file.read(["_row", "place", "key", "content"])
        if not len(items):
            continue
        row, key = numbers(items["_row"]), numbers(items["key"])
        repeated = key == substrings.REPEATED
        ends = substrings.last_of(numbers(items["place"])) + length
        ends[repeated] = numbers(items["content"])[repeated].astype(np.int64)
        of_texts = np.maximum.reduceat(ends, np.flatnonzero(np.diff(row, prepend=-1)))
        shard = int(row[0] >> SHARD_BITS)
        found[shard] = found.get(shard, 0) + int(of_texts.sum())
    return json.dumps(found)


def shares(place: TaskPlace, count: int, names: Sequence[str], to: str) -> str:
    """Write the items in some files of match keys by `count` shares of their keys; returns their places, as JSON."""
    with work(place) as (store, folder):
        tables = [table for table in (_items(store, name) for name in names) if len(table)]
        written = write_parts([_divided(pa.concat_tables(tables), count)] if tables else [], folder / "items.parts")
        store.publish(folder / "items.parts", to)
    return json.dumps(written)


def _items(store: Store, name: str) -> pa.Table:
    with opened(store, name) as file:
        return file.read(_COLUMNS) if file.metadata.num_rows else pa.table({})


def _divided(items: pa.Table, count: int) -> tuple[pa.Table, Cuts]:
    """Items by shares of their keys; repetitions, which all have the same one, by shares of their samples."""
    keys = numbers(items["key"])
    by = np.where(keys == substrings.REPEATED, numbers(items["_row"]).view(np.uint64), keys)
    return divided(items, (by % np.uint64(count)).astype(np.int64), count)


def groups(
    place: TaskPlace, bounds: str, length: int, every: bool, last: bool, shares: Sequence[Share], to: str, left: str
) -> str:
    """Write the passages that equal items have, and the items that stay open, by partitions of samples.

    bounds: of partitions, as JSON. every, last: as of `substring_groups.resolve`. to: gets the passages. left: gets the open
    items. Returns their places, and the number of open items, as JSON.
    """
    edges = json.loads(bounds)
    with work(place) as (store, folder):
        items = _shared(read_shares(store, shares))
        first = int(np.searchsorted(numbers(items["key"]), substrings.REPEATED, "right"))
        passages, still = _resolved(items.slice(first), length, every, last)
        passages = _together([_repetitions(items.slice(0, first), every), passages])
        there = write_groups(_table(passages), "_row", edges, folder / "passages.parts")
        store.publish(folder / "passages.parts", to)
        open_there = write_groups(still, "_row", edges, folder / "open.parts")
        store.publish(folder / "open.parts", left)
    return json.dumps({"passages": there, "open": open_there, "count": len(still)})


def _shared(items: pa.Table) -> pa.Table:
    """Repetitions, and the items whose keys occur more than once, in the order of key, content, sample and place."""
    keys = numbers(items["key"])
    order = np.argsort(keys)
    keys = keys[order]
    same = keys[1:] == keys[:-1]
    items = items.take(ints(order[np.append(same, False) | np.append(False, same) | (keys == substrings.REPEATED)]))
    columns = [numbers(items[name]) for name in ("place", "_row", "content_2", "content", "key")]
    return items.take(ints(np.lexsort(columns)))


def _resolved(items: pa.Table, length: int, every: bool, last: bool) -> tuple[Passages, pa.Table]:
    """Passages of equal items, and the items that stay open."""
    row, place, key, content, second = (numbers(items[name]) for name in ("_row", *substrings.ITEM))
    copies, still = substring_groups.resolve(key, content, second, every, last)
    at = np.flatnonzero(copies >= 0)
    first, copy = substrings.first_of(place), copies[at]
    passages = Passages(row[at], first[at], substrings.last_of(place[at]) + length, row[copy], first[copy])
    return passages, pa.table({"_row": ints(row[still]), "place": ints(place[still])})


def _repetitions(items: pa.Table, every: bool) -> Passages:
    columns = np.stack([numbers(items[name]) for name in substrings.ITEM], axis=1)
    return substring_groups.repetitions(numbers(items["_row"]), columns, every)


def _together(passages: Sequence[Passages]) -> Passages:
    return Passages(*(np.concatenate(columns) for columns in zip(*passages, strict=True)))


def _table(passages: Passages) -> pa.Table:
    names = ["_row", *Passages._fields[1:]]
    return pa.table({name: ints(column) for name, column in zip(names, passages, strict=True)})


def cells(
    place: TaskPlace,
    length: int,
    width: int,
    tokens: bool,
    count: int,
    shares: Sequence[Share],
    excerpts: Sequence[str],
    to: str,
) -> str:
    """Write cells (`substring_cells`) of the open items of a partition, by `count` shares of their keys; returns their places.

    excerpts: files with those of the partition's samples, as `shingles`.
    """
    with work(place) as (store, folder):
        wanted = read_shares(store, shares)
        order = np.lexsort((numbers(wanted["place"]), numbers(wanted["_row"])))
        rows, places = numbers(wanted["_row"])[order], numbers(wanted["place"])[order]
        written = write_parts(
            (_divided(table, count) for table in _cells(store, excerpts, rows, places, length, width, tokens)),
            folder / "cells.parts",
        )
        store.publish(folder / "cells.parts", to)
    return json.dumps([(number % count, start, size) for number, start, size in written])


def _cells(
    store: Store, excerpts: Sequence[str], rows: np.ndarray, places: np.ndarray, length: int, width: int, tokens: bool
) -> Iterator[pa.Table]:
    """Cells of the open items `places` of the samples `rows`, some samples at a time."""
    done = 0
    for name in excerpts:
        with opened(store, name) as file:
            for batch in file.iter_batches(_ROWS, columns=["_row", "shingles"]):
                own = numbers(batch["_row"])
                firsts = np.searchsorted(rows, np.append(own, own[-1:] + 1))
                start, end = firsts[0], firsts[-1]
                if start == end:
                    continue
                found = substring_cells.cells(
                    batch["shingles"], places[start:end], firsts - start, length, width, tokens
                )
                if found is None:
                    break
                done += end - start
                items, ends = found
                columns = {name: ints(np.ascontiguousarray(items[:, at])) for at, name in enumerate(substrings.ITEM)}
                yield pa.table({"_row": ints(np.repeat(own, np.diff(ends))), **columns})
    if done != len(rows):
        raise OperatorError("texts are not the ones that were compared before; the input has changed. Run again")


def settle(place: TaskPlace, files: str, column: str, every: bool, shares: Sequence[Share], to: str) -> str:
    """Write the passages that the samples of a partition lose, and for each shard a file of them as lists in `column`.

    files: folder of the shards' files in the store. Returns for each shard its file and the number of symbols, as JSON.
    """
    with work(place) as (store, folder):
        row, start, end, kept, at = substring_groups.covering(
            Passages(*map(numbers, read_shares(store, shares).columns))
        )
        nothing, kept = pa.nulls(len(row), pa.int64()), ints(kept)
        columns = {
            "_row": ints(row),
            "unit": ints(start),
            "kept": nothing if every else kept,
            "via": kept if every else nothing,
            "matched": of_texts(["occurs elsewhere" if every else "seen before"] * len(row)),
            "length": ints(end - start),
            "copy_at": ints(at),
        }
        table, written = pa.table(columns), {}
        for shard, path in by_shard(table, column, folder).items():
            symbols = int((end - start)[row >> SHARD_BITS == shard].sum())
            written[shard] = f"{files}/{shard:05d}.units.parquet", symbols
            store.publish(Path(path), written[shard][0])
        publish(store, table, folder, to)
    return json.dumps(written)
