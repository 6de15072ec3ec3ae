"""Tasks that fill a Bloom filter of n-grams, by its parts, and decide units by what it contains.

Units are numbered in the order of the input: the group of files that has a unit, in the upper 32 bits, and its place in the group. A
file of flags has a bit for each unit, the units of a group from a byte of its own on, which `starts` names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.dedup.exchange import Share, divided, read_shares, write_groups, write_parts
from refinery.dedup.ngram_filter import Decision, FilterSize, Measure, false_positives, in_sample
from refinery.dedup.ngram_units import Units, removed_in_order, removed_units, units_of
from refinery.dedup.tasks.files import opened, publish, read, work
from refinery.kernels.core.arrow import ints, items, numbers, whole
from refinery.kernels.dedup import bloom
from refinery.storage.store import Store
from refinery.workers.executor import TaskPlace
from refinery.workers.match_keys import SHARD_BITS

GROUP_BITS = 32
_LOW = (1 << GROUP_BITS) - 1


def sized(place: TaskPlace, names: Sequence[str], to: str) -> str:
    """Write the units of some files of match keys; returns the numbers of units and of n-grams, as JSON."""
    with work(place) as (store, folder):
        units = _units(_columns(store, names, ["_row", "sizes"]))
        publish(store, units.table, folder, to)
    return json.dumps([len(units.rows), int(units.sizes.sum(dtype=np.int64))])


def divide(place: TaskPlace, parts: int, names: Sequence[str], group: int, to: str) -> str:
    """Write the n-grams of a group of files (`unit`, `key`) by parts of the filter; returns their places, as JSON."""
    with work(place) as (store, folder):
        table = _columns(store, names, ["_row", "sizes", "ngrams"])
        sizes, keys = _units(table).sizes, _keys(table)
        unit = np.repeat(np.arange(len(sizes), dtype=np.int64) + (group << GROUP_BITS), sizes)
        ngrams = pa.table({"unit": ints(unit), "key": ints(keys)})
        places = write_parts([divided(ngrams, bloom.part_of(keys, parts), parts)], folder / "ngrams.parts")
        store.publish(folder / "ngrams.parts", to)
    return json.dumps(places)


def fill(
    place: TaskPlace, size: str, starts: Sequence[int], kept: str, ngrams: int, shares: Sequence[Share], to: str
) -> str:
    """Fill one part of a filter, and write how many n-grams of each unit it contained before the unit, by groups.

    size: a `FilterSize`, as JSON. starts: see the module. kept: file of flags of the units that enter their n-grams; "" for all. ngrams:
    of the input. Returns the places of the counts and the `Measure` of the part, as JSON.
    """
    measure, sampled, counts = Measure(), list[tuple[np.ndarray, ...]](), list[pa.Table]()
    with work(place) as (store, folder):
        own, flags = FilterSize(**json.loads(size)), _flags(store, kept, starts)
        words = own.empty()[0]
        for unit, keys in _ngrams(store, shares):
            dense, contained = _dense(unit, starts), np.zeros(len(keys), np.bool_)
            measure.bits += bloom.fill(keys, dense, flags, words, own.bits, own.hashes, contained)
            hits, count = np.unique(unit[contained], return_counts=True)
            counts.append(pa.table({"unit": ints(hits), "contained": ints(count.astype(np.int32))}))
            at = np.flatnonzero(in_sample(keys, ngrams))
            sampled.append((keys[at], dense[at], _of(flags, dense[at]), contained[at]))
        places = write_groups(pa.concat_tables(counts), "unit", _bounds(starts), folder / "counts.parts")
        store.publish(folder / "counts.parts", to)
        measure.new, measure.wrong = false_positives(*map(np.concatenate, zip(*sampled, strict=True)))
    return json.dumps([places, vars(measure)])


def lacking(
    place: TaskPlace,
    size: str,
    starts: Sequence[int],
    kept: str,
    asked: str,
    part: int,
    shares: Sequence[Share],
    to: str,
) -> str:
    """Write the bits that n-grams of the units `asked` lack in one part of a filter that the units `kept` fill.

    Of each n-gram with such bits: `unit`, its number, and the places of the bits in the whole filter.
    """
    with work(place) as (store, folder):
        own, flags, wanted = FilterSize(**json.loads(size)), _flags(store, kept, starts), _flags(store, asked, starts)
        words, tables, before = own.empty()[0], list[pa.Table](), part << 40
        for unit, keys in _ngrams(store, shares):
            dense = _dense(unit, starts)
            room = int(_of(wanted, dense).sum()) * own.hashes
            ngrams, bits = np.empty(room, np.int64), np.empty(room, np.int64)
            n = bloom.missing(keys, dense, flags, wanted, words, own.bits, own.hashes, ngrams, bits)
            columns = unit[ngrams[:n]], ngrams[:n] + before, bits[:n] + part * own.bits
            tables.append(pa.table(dict(zip(("unit", "ngram", "bit"), map(ints, columns), strict=True))))
            before += len(keys)
        publish(store, pa.concat_tables(tables), folder, to)
    return ""


def settle(
    place: TaskPlace,
    rule: str,
    starts: Sequence[int],
    kept: str,
    asked: str,
    units: Sequence[str],
    files: Sequence[str],
    to: str,
) -> str:
    """Decide the units `asked` one after the other, and write the flags of all that are kept.

    kept: flags of units that are known to be kept. units, files: of `sized`, by groups, and of `lacking`.
    """
    with work(place) as (store, folder):
        flags, wanted = _flags(store, kept, starts).copy(), _flags(store, asked, starts)
        table = pa.concat_tables([read(store, name) for name in files])
        table = table.sort_by([("unit", "ascending"), ("ngram", "ascending")])
        open_units = np.flatnonzero(np.unpackbits(wanted, bitorder="little"))
        sizes = np.concatenate(
            [_sizes(store, name, wanted, start) for name, start in zip(units, starts[:-1], strict=True)]
        )
        dense, ngrams = _dense(numbers(table["unit"]), starts), numbers(table["ngram"])
        places, bits = np.unique(numbers(table["bit"]), return_inverse=True)
        firsts = np.searchsorted(dense, np.append(open_units, np.iinfo(np.int64).max))
        first_bits = np.flatnonzero(np.diff(ngrams, prepend=-1))
        lacks = np.bincount(np.searchsorted(open_units, dense[first_bits]), minlength=len(open_units))
        answers = np.zeros(len(open_units), np.bool_)
        threshold, entered = Decision(**json.loads(rule)).threshold, np.zeros(len(places), np.bool_)
        bloom.settle(firsts, ngrams, bits, sizes - lacks, sizes, threshold, entered, answers)
        of_all = np.unpackbits(flags, bitorder="little")
        of_all[open_units[answers]] = 1
        (folder / "kept.bits").write_bytes(np.packbits(of_all, bitorder="little").tobytes())
        store.publish(folder / "kept.bits", to)
    return ""


def decide(place: TaskPlace, rule: str, before: str, units: str, shares: Sequence[Share], start: int, to: str) -> str:
    """Write flags of the units of a group that stay; returns the n-grams of those whose flag was another one before.

    before: file of flags; "" where all were kept. shares: counts of `fill`. start: of the group in a file of flags.
    """
    with work(place) as (store, folder):
        table = read(store, units)
        sizes = numbers(table["sizes"])
        kept = Decision(**json.loads(rule)).kept(_contained(store, shares, len(sizes)), sizes)
        changed = kept != _before(store, before, start, len(sizes))
        (folder / "kept.bits").write_bytes(np.packbits(kept, bitorder="little").tobytes())
        store.publish(folder / "kept.bits", to)
    return str(int(sizes[changed].sum(dtype=np.int64)))


def finish(place: TaskPlace, rule: str, units: str, shares: Sequence[Share], to: str) -> str:
    """Write the units of a group to remove; returns the number of n-grams of each shard, and of removed ones, as JSON."""
    with work(place) as (store, folder):
        table = read(store, units)
        own = Units(*(numbers(table[name]) for name in Units._fields))
        removed, places = removed_units(own, _contained(store, shares, len(own.rows)), Decision(**json.loads(rule)))
        publish(store, removed, folder, to)
    return json.dumps(_by_shard(own, places))


def in_one(place: TaskPlace, rule: str, rate: float, expected: int, names: Sequence[str], to: str) -> str:
    """Write the units of some files to remove, decided one after the other.

    expected: n-grams for which the filter has room; 0: as many as there are. Returns the size of the filter, its `Measure`, and the
    answer of `finish`, as JSON.
    """
    with work(place) as (store, folder):
        table = _columns(store, names, ["_row", "sizes", "ngrams"])
        rows, ngrams, sizes = (whole(table[name]) for name in ("_row", "ngrams", "sizes"))
        decision = Decision(**json.loads(rule))
        removed, places, own, size, measure = removed_in_order(rows, ngrams, sizes, (expected, rate), decision)
        publish(store, removed, folder, to)
    return json.dumps([vars(size), vars(measure), _by_shard(own, places)])


def _by_shard(units: Units, removed: np.ndarray) -> list[Any]:
    """Shards, n-grams of each, those of removed units; and the number of removed units. removed: places of these."""
    gone = np.zeros(len(units.rows), np.bool_)
    gone[removed] = True
    names, at = np.unique(units.rows >> SHARD_BITS, return_inverse=True)
    sums = (np.bincount(at, units.sizes * which, len(names)).astype(np.int64).tolist() for which in (1, gone))
    return [names.tolist(), *sums, len(removed)]


def _columns(store: Store, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Some columns of files of match keys; files without rows may lack them."""
    tables = []
    for name in names:
        with opened(store, name) as file:
            if file.metadata.num_rows:
                tables.append(file.read(columns))
    lists = {"sizes": pa.list_(pa.int32()), "ngrams": pa.list_(pa.uint64())}
    empty = pa.table({name: pa.nulls(0, lists.get(name, pa.int64())) for name in columns})
    return pa.concat_tables(tables, promote_options="permissive") if tables else empty


def _units(table: pa.Table) -> Units:
    return units_of(whole(table["_row"]), whole(table["sizes"]))


def _keys(table: pa.Table) -> np.ndarray:
    column = table["ngrams"]
    parts = [numbers(items(chunk)) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, np.uint64)


def _ngrams(store: Store, shares: Sequence[Share]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Units and hashes of n-grams, share by share; a share has whole units."""
    for share in shares:
        table = read_shares(store, [share])
        yield numbers(table["unit"]), numbers(table["key"])


def _bounds(starts: Sequence[int]) -> list[int]:
    return [group << GROUP_BITS for group in range(len(starts))]


def _dense(unit: np.ndarray, starts: Sequence[int]) -> np.ndarray:
    """Places in a file of flags of units."""
    return np.asarray(starts, np.int64)[unit >> GROUP_BITS] + (unit & _LOW)


def _flags(store: Store, name: str, starts: Sequence[int]) -> np.ndarray:
    """Bits of a file of flags; all set without one."""
    if not name:
        return np.full(starts[-1] // 8, 255, np.uint8)
    return np.frombuffer(store.bytes_at(name, 0), np.uint8)


def _of(flags: np.ndarray, dense: np.ndarray) -> np.ndarray:
    return (flags[dense >> 3] >> (dense & 7).astype(np.uint8) & 1).astype(np.bool_)


def _before(store: Store, name: str, start: int, count: int) -> np.ndarray:
    if not name or not count:
        return np.ones(count, np.bool_)
    packed = np.frombuffer(store.bytes_at(name, start // 8, (count + 7) // 8), np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)


def _contained(store: Store, shares: Sequence[Share], count: int) -> np.ndarray:
    """N-grams of each unit of a group that the filter contained, of all its parts."""
    if not shares:
        return np.zeros(count, np.int64)
    table = read_shares(store, shares)
    unit, known = numbers(table["unit"]) & _LOW, numbers(table["contained"])
    return np.bincount(unit, known, count).astype(np.int64)


def _sizes(store: Store, units: str, flags: np.ndarray, start: int) -> np.ndarray:
    """Sizes of the flagged units of a group."""
    sizes = numbers(read(store, units)["sizes"]).astype(np.int64)
    return sizes[_of(flags, start + np.arange(len(sizes)))]
