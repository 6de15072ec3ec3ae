"""Pairs of samples with matching keys, bands of a signature, or SimHash values, as their operator compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from refinery.compiler.deduplicators import ROUNDS
from refinery.compiler.templates import ident
from refinery.dedup.marks import MatchKeys, column, statement
from refinery.kernels.core.arrow import numbers


class Pairs(NamedTuple):
    """Matched samples: row and via (numbers of samples), how (band or Hamming distance), true Jaccard or NaN."""

    row: np.ndarray
    via: np.ndarray
    how: np.ndarray
    jaccard: np.ndarray


def by_key(marks: MatchKeys, params: Mapping[str, Any]) -> Iterator[Pairs]:
    """Samples with equal keys."""
    yield from _equal(marks, "key", 0)


def by_band(marks: MatchKeys, params: Mapping[str, Any]) -> Iterator[Pairs]:
    """Samples that share a band, band by band: one column of the marks is read at a time."""
    names = {f"band_{band}": band for band in range(bands(marks))}
    if not marks.small:
        for name, band in names.items():
            yield from _equal(marks, name, band)
        return
    for name, found in zip(names, marks.at_once([statement_of(name) for name in names]), strict=True):
        for batch in found.to_batches():
            yield _pairs(batch, names[name])


def by_distance(marks: MatchKeys, params: Mapping[str, Any]) -> Iterator[Pairs]:
    """Samples whose SimHash differs in at most `hamming_distance` bits; equal values first, then distinct ones."""
    from refinery.kernels.dedup.hamming import pairs

    yield from _equal(marks, "simhash", 0)
    table = marks.con.sql(
        "SELECT simhash, min(_row) AS _row FROM marks WHERE simhash IS NOT NULL GROUP BY simhash ORDER BY simhash"
    ).to_arrow_table()
    values, rows = (numbers(table[name]) for name in ("simhash", "_row"))
    a, b = pairs(values, int(params["num_blocks"]), int(params["hamming_distance"]))
    differing = (values[a] ^ values[b]).view(np.uint8).reshape(-1, 8)
    distance = np.unpackbits(differing, axis=1).sum(axis=1, dtype=np.int32)
    one, other = rows[a], rows[b]
    yield Pairs(np.maximum(one, other), np.minimum(one, other), distance, np.full(len(a), np.nan))


FINDERS: dict[str, Callable[[MatchKeys, Mapping[str, Any]], Iterator[Pairs]]] = {
    "keys": by_key,
    "bands": by_band,
    "hamming": by_distance,
}


class ShingleComparison(Protocol):
    """Compares shingles of this run's samples, whose numbers are not below 0."""

    def of(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """True Jaccard similarity of each pair of samples; NaN if one is not of this run."""

    def contents(self, rows: np.ndarray) -> np.ndarray:
        """A number for each sample that depends on its shingles alone (uint64)."""


def verified(marks: MatchKeys, compare: ShingleComparison, threshold: float, notes: list[str]) -> Iterator[Pairs]:
    """Pairs of samples that share a band and whose true Jaccard similarity is at least `threshold`.

    Within a bucket, samples are compared with representatives, not with every other sample: all with a first one, the
    samples unlike it with one of their own, and so on. Shingles pick the representatives, independent of the order of
    samples. Samples of an index have no texts, so the similarity to them is estimated. notes: gets a line on samples
    that are left after the last round.
    """
    if not bands(marks):  # no sample has bands
        return
    _open_buckets(marks, compare)
    for _ in range(ROUNDS):
        found = marks.con.sql(statement("representatives")).to_arrow_table()
        if not found.num_rows:
            break
        row, via, how = (found[name].to_numpy() for name in ("_row", "via", "matched"))
        jaccard = compare.of(row, via)
        same = jaccard >= threshold
        remembered = np.flatnonzero((via < 0) & (row >= 0))
        same[remembered] = _estimated(marks, row[remembered], via[remembered]) >= threshold
        yield Pairs(row[same], via[same], how[same].astype(np.int32), jaccard[same])
        answered = pa.table({"_row": row[same], "via": via[same]})
        with marks.relation("answered", answered):
            marks.run(statement("still_open"))
    [(left,)] = marks.rows(f"SELECT count(DISTINCT _row) FROM ({statement('representatives')})")
    if left:
        notes.append(
            f"verify has compared {left} samples with {ROUNDS} unlike members of each of their groups, and not with "
            "the rest"
        )
    marks.run("DROP TABLE open")


def _open_buckets(marks: MatchKeys, compare: ShingleComparison) -> None:
    """Create the relation `open`: members of buckets (`band`, `key`, `_row`) and their `place`.

    The member with the least place represents its bucket. Samples of an index come first, then samples ordered by
    content. Samples of equal content are alike in any order.
    """
    marks.run(f"CREATE OR REPLACE TEMP TABLE buckets AS {statement('buckets', bands=list(range(bands(marks))))}")
    members = marks.con.sql(statement("members")).to_arrow_table()
    rows, content = (members[name].to_numpy().copy() for name in ("_row", "content"))
    here = rows >= 0
    content[here] = compare.contents(rows[here])
    order = np.lexsort((rows, content, here))
    with marks.relation("places", pa.table({"_row": rows[order], "place": np.arange(len(rows))})):
        marks.run("CREATE OR REPLACE TEMP TABLE open AS SELECT * FROM buckets JOIN places USING (_row)")
    marks.run("DROP TABLE buckets")


def _estimated(marks: MatchKeys, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Estimated Jaccard of each pair of samples."""
    result = np.zeros(len(a))
    if len(a):
        with marks.relation("pairs", pa.table({"n": np.arange(len(a)), "a": a, "b": b})):
            found = marks.con.sql(statement("estimated")).to_arrow_table()
        result[found["n"].to_numpy()] = found["jaccard"].to_numpy()
    return result


def bands(marks: MatchKeys) -> int:
    """Number of bands of a signature."""
    return sum(name.startswith("band_") for name in marks.columns)


def _equal(marks: MatchKeys, name: str, how: int) -> Iterator[Pairs]:
    """Samples with equal values in a column of the marks."""
    for batch in marks.batches(statement_of(name)):
        yield _pairs(batch, how)


def statement_of(name: str) -> str:
    """SQL for the pairs (`_row`, `via`) of samples that are equal in a column of `compared`."""
    return statement("same_key", key=ident(name))


def _pairs(batch: pa.RecordBatch, how: int) -> Pairs:
    row, via = column(batch, "_row"), column(batch, "via")
    return Pairs(row, via, np.full(len(row), how, np.int32), np.full(len(row), np.nan))
