"""Units of texts whose n-grams a filter decides about: their numbers, and the rows of the table `duplicates` of those that go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.dedup.ngram_filter import Decision, FilterSize, Measure, in_order
from refinery.kernels.core.arrow import ints, items, numbers, of_texts, whole


class Units(NamedTuple):
    """Units in the order of the input: the row of each one's text, its number in the text (from 0), its n-grams."""

    rows: np.ndarray
    units: np.ndarray
    sizes: np.ndarray

    @property
    def table(self) -> pa.Table:
        """The units as a table."""
        return pa.table({name: ints(values) for name, values in self._asdict().items()})


def units_of(rows: pa.Array, sizes: pa.ListArray) -> Units:
    """Units of texts. sizes: n-grams of each unit of each text."""
    counts = numbers(pc.list_value_length(sizes)).astype(np.int64)
    firsts = np.cumsum(counts) - counts
    number = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
    return Units(np.repeat(numbers(rows), counts), number.astype(np.int32), numbers(items(sizes)))


def keys_of_units(marks: pa.Table) -> pa.Table:
    """Match keys of units, one for each (`_row`, `key`). The first n-gram stands for a unit: most of its copies have it, too."""
    if "sizes" not in marks.column_names:
        return marks.select(["_row", "key"])
    units, ngrams = units_of(whole(marks["_row"]), whole(marks["sizes"])), numbers(items(whole(marks["ngrams"])))
    some, firsts = units.sizes > 0, np.cumsum(units.sizes) - units.sizes
    return pa.table({"_row": ints(units.rows[some]), "key": ints(ngrams[firsts[some]])})


def removed_units(units: Units, contained: np.ndarray, rule: Decision) -> tuple[pa.Table, np.ndarray]:
    """Units that go (`_row`, `unit`, `kept`, `matched`), and their places. contained: n-grams of each unit that were in the filter."""
    places, known, of = rule.removed(contained, units.sizes, units.rows)
    counts = [f"{a} of {b} n-grams in the filter" for a, b in zip(known.tolist(), of.tolist(), strict=True)]
    columns = {"_row": ints(units.rows[places]), "unit": ints(units.units[places].astype(np.int64))}
    columns |= {"kept": pa.nulls(len(places), pa.int64()), "matched": of_texts(counts)}
    return pa.table(columns), places


def removed_in_order(
    rows: pa.Array, ngrams: pa.ListArray, sizes: pa.ListArray, size: tuple[int, float], rule: Decision
) -> tuple[pa.Table, np.ndarray, Units, FilterSize, Measure]:
    """Units that go, decided one after the other; their places among all units; the filter, and its measure.

    size: n-grams for which the filter has room, 0 for as many as there are, and its false-positive rate.
    """
    units, keys = units_of(rows, sizes), numbers(items(ngrams))
    filter_size = FilterSize.of(size[0] or len(keys), size[1])
    contained, measure = in_order(keys, units.sizes, filter_size, rule)
    return *removed_units(units, contained, rule), units, filter_size, measure
