"""Tasks that find the first root of equal roots (`dedup.stars`), each for a range of the partitions of samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.dedup.row_groups import Cuts, each_part, read_parts, write_groups, write_parts
from refinery.dedup.stars import Equal, both_ways, components, large_star, one_way, small_star
from refinery.dedup.tasks.files import work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace

_NONE = pa.table({"one": pa.array([], pa.int64()), "other": pa.array([], pa.int64())})


def star(place: TaskPlace, names: str, bounds: str, larger: bool, parts: Sequence[int], to: str) -> str:
    """Half of a round over the roots of some partitions; returns the number of changes.

    names: files of equalities in both directions, as JSON. larger: the first half. parts: the first partition, and the end.
    """
    with work(place) as (store, folder):
        table = read_parts(store, json.loads(names), *parts) or _NONE
        if larger:
            found, changes = large_star(numbers(table["one"]), numbers(table["other"]))
        else:
            found, changes = small_star(*one_way(table))
        _write(store, found, bounds, folder / "star.parts", to)
    return str(changes)


def resolve(place: TaskPlace, names: str, bounds: str, to: str) -> str:
    """All rounds at once, for few equalities; returns their number. The arguments are those of `star`."""
    with work(place) as (store, folder):
        table = read_parts(store, json.loads(names), 0, len(json.loads(bounds)) - 1) or _NONE
        found = components(*one_way(table))
        _write(store, found, bounds, folder / "star.parts", to)
    return str(len(found[0]))


def _write(store: Store, equal: Equal, bounds: str, path: Path, to: str) -> None:
    write_groups(both_ways(equal), "one", json.loads(bounds), path)
    store.publish(path, to)


def reply(place: TaskPlace, names: str, wanted: str, parts: Sequence[int], to: str) -> str:
    """Write the first roots of roots that partitions want, as far as they are others; returns their number.

    names: files of equalities after the last round. wanted: the file of each partition with the roots that it has, "" without
    any. Both as JSON. parts: of the roots, see `star`.
    """
    asked = json.loads(wanted)
    with work(place) as (store, folder):
        first, root = one_way(read_parts(store, json.loads(names), *parts) or _NONE)
        order = np.argsort(root)
        found = list(_replies(store, asked, parts, root[order], first[order]))
        write_parts(found, len(asked), folder / "reply.parts")
        store.publish(folder / "reply.parts", to)
    return str(sum(len(table) for table, _ in found))


def _replies(
    store: Store, asked: Sequence[str], parts: Sequence[int], known: np.ndarray, first: np.ndarray
) -> Iterator[tuple[pa.Table, Cuts]]:
    """The answer to each partition: `_row`, a root, and `root`, the first one of its component. known: ascending roots."""
    given = each_part(store, [name for name in asked if name], *parts)
    for name in asked:
        table = next(given) if name else None
        roots = numbers(table["root"]) if table is not None else np.zeros(0, np.int64)
        roots = roots[np.isin(roots, known)]
        found = pa.table({"_row": ints(roots), "root": ints(first[np.searchsorted(known, roots)])})
        yield found, np.array([0, len(roots)])
