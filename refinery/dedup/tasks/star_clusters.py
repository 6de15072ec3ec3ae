"""Tasks that make clusters in which every sample is like the one that stays (`dedup.direct`), by partitions of roots."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.templates import lit
from refinery.dedup.clusters import Clusters
from refinery.dedup.direct import Direct, DirectBands, DirectCosine, DirectDistance, DirectKeys, stars
from refinery.dedup.exchange import PartFile, Share, divided, read_shares, write_groups
from refinery.dedup.linked import renamed
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.cosine import STEPS
from refinery.dedup.slices import Slices
from refinery.dedup.tasks.clusters import leave, links_of, write_keys_beside
from refinery.dedup.tasks.files import limits, local, read, work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.local import LocalStore
from refinery.workers.executor import TaskPlace

# Samples whose match keys and shingles are in memory at once, about 200 MB of shingles; a component is not divided.
_MEMBERS = 1 << 17
# Samples that are read at once.
_BATCH = 1 << 14


def shingles(place: TaskPlace, bounds: str, roots: Sequence[Share], links: str, files: Sequence[str], to: str) -> str:
    """Write the shingles of the samples of a partition that have links, by partitions of roots; returns their places, as JSON.

    roots, links: as of `clusters.spread`. files: of shingles of the partition's shards.
    """
    with work(place) as (store, folder):
        table = read(store, links)
        if roots:
            table = renamed(table, read_shares(store, roots))
        names = [local(store, name, folder, ["_row", "shingles"]) for name in files]
        with MatchKeys(names, [], limits(place), folders=[folder]) as keys:
            with keys.relation("links", table.select(["_row", "root"])):
                own = keys.con.sql(
                    "SELECT _row, root, shingles FROM links JOIN marks USING (_row) ORDER BY _row"
                ).to_arrow_table()
        places = write_groups(own, "root", json.loads(bounds), folder / "shingles.parts")
        store.publish(folder / "shingles.parts", to)
    return json.dumps(places)


def settle(
    place: TaskPlace,
    preferred: str,
    direct: Mapping[str, Any],
    bounds: str,
    keys: Sequence[str],
    shares: Sequence[Share],
    own_keys: str,
    removed: str,
    members_to: str,
    matches: str,
    files: Sequence[str],
    beside: Sequence[Share],
) -> str:
    """Choose the samples that stay, as `clusters.settle`, whose arguments and answer these are, apart from:

    preferred: SQL for the order of preference. direct: kind, and threshold or distance, of the direct comparison. files, beside:
    shingles of the partition's samples, as files or as parts of `shingles`; none where pairs are not compared exactly.
    """
    with work(place) as (store, folder):
        slices = Slices(store, shares)
        names = [*keys, *([] if keys else [write_keys_beside(store, slices.of_one_schema(), folder, own_keys)])]
        links, known = _all_links(slices), [local(store, name, folder) for name in names]
        del slices
        texts = [local(store, name, folder, ["_row", "shingles"]) for name in files]
        if beside:
            texts = [str(folder / "shingles.parquet")]
            Slices(store, beside).write(Path(texts[0]))
        members = pa.table({"_row": ints(links[0]), "root": ints(links[1])})
        folders: list[str | Path] = [folder, *map(os.path.dirname, texts)]
        with MatchKeys(known, [], limits(place), folders=folders) as marks, marks.relation("members", members):
            order = np.searchsorted(links[0], numbers(marks.con.sql(preferred).to_arrow_table()["_row"]))
            parts = _parts(links[1][order], order)
            values = _Values(marks, links[0], parts, folder)
            made = _clusters(links, parts, direct, values.of_keys(direct["kind"]), values.of_shingles(texts))
            return leave(store, folder, made, json.loads(bounds), removed, members_to, matches)


def _all_links(slices: Slices) -> list[np.ndarray]:
    """Columns of `links_of`, by samples, ascending."""
    columns = [np.concatenate(values) for values in zip(*map(links_of, slices), strict=True)]
    order = np.argsort(columns[0])
    return [values[order] for values in columns]


def _parts(root: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """Places of the samples in some parts of whole components. order: of preference, component by component. root: in this order."""
    first = np.flatnonzero(np.append(True, root[1:] != root[:-1])[: len(root)])
    number = first // _MEMBERS
    return np.split(order, first[1:][number[1:] != number[:-1]])


class _Values:
    """Values of members by parts, in files of `folder`. rows: the members, ascending. parts: places of members, see `_parts`."""

    def __init__(self, marks: MatchKeys, rows: np.ndarray, parts: Sequence[np.ndarray], folder: Path) -> None:
        self._marks, self._rows, self._store = marks, rows, LocalStore(folder)
        self._part, self._count = np.empty(len(rows), np.int64), len(parts)
        for number, places in enumerate(parts):
            self._part[places] = number

    def of_keys(self, kind: str) -> Iterator[pa.Table]:
        """The match keys that are compared, part by part, by members."""
        names = {
            "shared band": [name for name in self._marks.columns if name.startswith("band_")],
            "distance": ["simhash"],
            "angle": ["embedding"],
            "equality": [],
        }[kind]
        return self._by_part("keys", names, "marks")

    def of_shingles(self, files: Sequence[str]) -> Iterator[pa.Table | None]:
        """The shingles, part by part, by members; None for each part without files."""
        return (
            self._by_part("texts", ["shingles"], f"read_parquet({lit(list(files))}, union_by_name = true)")
            if files
            else repeat(None)
        )

    def _by_part(self, name: str, columns: Sequence[str], source: str) -> Iterator[pa.Table]:
        select = f"SELECT {', '.join(['_row', *columns])} FROM {source} SEMI JOIN members USING (_row)"
        with PartFile(self._store.place(name)) as file:
            for batch in self._marks.con.sql(select).to_arrow_reader(_BATCH):
                table = pa.Table.from_batches([batch])
                place = np.searchsorted(self._rows, numbers(table["_row"]))
                file.add(*divided(table, self._part[place], self._count))
        shares = [[(name, start, size) for at, start, size in file.places if at == part] for part in range(self._count)]
        return (read_shares(self._store, own).sort_by("_row") for own in shares)


def _clusters(
    links: Sequence[np.ndarray],
    parts: Sequence[np.ndarray],
    direct: Mapping[str, Any],
    keys: Iterable[pa.Table],
    shingles: Iterable[pa.Table | None],
) -> Iterator[tuple[Clusters, np.ndarray]]:
    """Clusters, part by part, and the size of each sample's one. keys, shingles: of each part."""
    for places, values, compared in zip(parts, keys, shingles, strict=False):
        at = np.sort(places)
        own = [column[at] for column in links]
        clusters = stars(own, np.searchsorted(at, places), _direct(direct, values, compared, own[0]))
        yield clusters, clusters.sizes()


def _direct(direct: Mapping[str, Any], values: pa.Table, compared: pa.Table | None, rows: np.ndarray) -> Direct:
    """The comparison. values: match keys of the members. compared: their shingles. rows: the members, ascending."""
    kind = direct["kind"]
    if kind == "distance":
        return DirectDistance(numbers(values["simhash"]), int(direct["distance"]))
    if kind == "angle":
        vectors = values["embedding"].combine_chunks()
        flat = numbers(vectors.flatten()).astype(np.float32).reshape(len(vectors), -1)
        return DirectCosine(flat, float(direct["threshold"]), STEPS)
    if kind == "equality":
        return DirectKeys()
    names = sorted((name for name in values.column_names if name != "_row"), key=lambda name: int(name[5:]))
    bands = np.stack([numbers(values[name]) for name in names], axis=1)
    if compared is None:
        return DirectBands(bands)
    if not numbers(compared["_row"]).tolist() == rows.tolist():
        raise ValueError("samples in verified pairs are not those that have shingles")
    return DirectBands(bands, compared["shingles"].combine_chunks(), float(direct["threshold"]))
