"""Tasks that find the first root of equal roots (`dedup.stars`), each for a range of the partitions of samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.dedup.exchange import Cuts, Places, Share, read_shares, write_groups, write_parts
from refinery.dedup.stars import Equal, both_ways, components, large_star, one_way, small_star
from refinery.dedup.tasks.files import work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace

_NONE = pa.table({name: ints(np.zeros(0, np.int64)) for name in ("one", "other")})


def star(place: TaskPlace, bounds: str, larger: bool, shares: Sequence[Share], to: str) -> str:
    """Half of a round over the roots of some partitions; returns the number of changes, and the places of equalities, as JSON.

    shares: of equalities in both directions. larger: the first half.
    """
    with work(place) as (store, folder):
        table = read_shares(store, shares) if shares else _NONE
        if larger:
            equal, changes = large_star(numbers(table["one"]), numbers(table["other"]))
        else:
            equal, changes = small_star(*one_way(table))
        places = _write(store, equal, bounds, folder / "star.parts", to)
    return json.dumps([changes, places])


def resolve(place: TaskPlace, bounds: str, shares: Sequence[Share], to: str) -> str:
    """All rounds at once, for few equalities; returns the places of those that are left, as JSON. The arguments are those of `star`."""
    with work(place) as (store, folder):
        equal = components(*one_way(read_shares(store, shares) if shares else _NONE))
        places = _write(store, equal, bounds, folder / "star.parts", to)
    return json.dumps(places)


def _write(store: Store, equal: Equal, bounds: str, path: Path, to: str) -> Places:
    places = write_groups(both_ways(equal), "one", json.loads(bounds), path)
    store.publish(path, to)
    return places


def reply(place: TaskPlace, shares: Sequence[Share], asked: Sequence[Sequence[Share]], to: str) -> str:
    """Write the first roots of roots that partitions want, as far as they are others; returns their places, as JSON.

    shares: of equalities after the last round. asked: for each partition, shares of the roots that it has.
    """
    with work(place) as (store, folder):
        first, root = one_way(read_shares(store, shares) if shares else _NONE)
        order = np.argsort(root)
        places = write_parts(_replies(store, asked, root[order], first[order]), folder / "reply.parts")
        store.publish(folder / "reply.parts", to)
    return json.dumps(places)


def _replies(
    store: Store, asked: Sequence[Sequence[Share]], known: np.ndarray, first: np.ndarray
) -> Iterator[tuple[pa.Table, Cuts]]:
    """The answer to each partition: `_row`, a root, and `root`, the first one of its component. known: ascending roots."""
    for shares in asked:
        roots = numbers(read_shares(store, shares)["root"]) if shares else np.zeros(0, np.int64)
        roots = roots[np.isin(roots, known)]
        answers = pa.table({"_row": ints(roots), "root": ints(first[np.searchsorted(known, roots)])})
        yield answers, np.array([0, len(roots)])
