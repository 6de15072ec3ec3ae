"""Tasks that make clusters in which every sample is like the one that stays (`dedup.direct`), by partitions of roots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.dedup.direct import Direct, DirectBands, DirectCosine, DirectDistance, DirectKeys, stars
from refinery.dedup.exchange import Share, read_shares, write_groups
from refinery.dedup.linked import renamed
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.cosine import STEPS
from refinery.dedup.tasks.clusters import leave, links_of, write_keys_beside
from refinery.dedup.tasks.files import limits, local, read, work
from refinery.kernels.core.arrow import ints, numbers
from refinery.workers.executor import TaskPlace


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
    members: str,
    matches: str,
    files: Sequence[str],
    beside: Sequence[Share],
) -> str:
    """Choose the samples that stay, as `clusters.settle`, whose arguments and answer these are, apart from:

    preferred: SQL for the order of preference. direct: kind, and threshold or distance, of the direct comparison. files, beside:
    shingles of the partition's samples, as files or as parts of `shingles`; none where pairs are not compared exactly.
    """
    with work(place) as (store, folder):
        table = read_shares(store, shares).sort_by("_row")
        links = links_of(table)
        names = [*keys, *([] if keys else [write_keys_beside(store, [table], folder, own_keys)])]
        known = [local(store, name, folder) for name in names]
        members_of = pa.table({"_row": ints(links[0]), "root": ints(links[1])})
        with MatchKeys(known, [], limits(place), folders=[folder]) as marks, marks.relation("members", members_of):
            order = numbers(marks.con.sql(preferred).to_arrow_table()["_row"])
            values = _values(marks, direct["kind"])
        own = [local(store, name, folder, ["_row", "shingles"]) for name in files]
        compared = _shingles(place, own, folder, members_of) if own else _parts(store, beside)
        clusters = stars(links, np.searchsorted(links[0], order), _direct(direct, values, compared, links[0]))
        slices = [(clusters, clusters.sizes())]
        return leave(store, folder, slices, json.loads(bounds), removed, members, matches)


def _values(marks: MatchKeys, kind: str) -> pa.Table:
    """The match keys that are compared, by members."""
    names = {
        "shared band": [name for name in marks.columns if name.startswith("band_")],
        "distance": ["simhash"],
        "angle": ["embedding"],
        "equality": [],
    }[kind]
    columns = ", ".join(["_row", *names])
    return marks.con.sql(f"SELECT {columns} FROM marks SEMI JOIN members USING (_row) ORDER BY _row").to_arrow_table()


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


def _parts(store: Any, shares: Sequence[Share]) -> pa.Table | None:
    return read_shares(store, shares).sort_by("_row") if shares else None


def _shingles(place: TaskPlace, files: Sequence[str], folder: Any, members: pa.Table) -> pa.Table:
    with MatchKeys(list(files), [], limits(place), folders=[folder]) as keys, keys.relation("members", members):
        sql = "SELECT _row, shingles FROM marks SEMI JOIN members USING (_row) ORDER BY _row"
        return keys.con.sql(sql).to_arrow_table()
