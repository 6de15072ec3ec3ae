"""Verification of candidates: samples of a bucket are compared with representatives of it, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from refinery.dedup.matchers.model import KeyRelations, Pairs, SetQuery, ShingleComparison

if TYPE_CHECKING:
    import numpy as np

# Rounds in which the samples of a bucket are compared with one of those left; later rounds find almost nothing.
ROUNDS = 8
# SQL for the content hash that picks representatives: the sum of a sample's shingles, which are hashes, modulo 2^64.
CONTENT = "CAST(coalesce(list_sum(shingles), 0) % 18446744073709551616 AS UBIGINT)"
# Bands of one statement: the time to plan it grows with the square of their number.
_AT_ONCE = 16

_REPRESENTATIVES = SetQuery("representatives")


def verified(
    keys: KeyRelations, bands: Sequence[str], compare: ShingleComparison, threshold: float, notes: list[str]
) -> Iterator[Pairs]:
    """Pairs of samples that share a band and whose true Jaccard similarity is at least `threshold`.

    Within a bucket, samples are compared with representatives, not with every other sample: copies with the first of them,
    all others with a first one, the samples unlike it with one of their own, and so on. Shingles pick the representatives, independent of the order of
    samples. Samples of an index have no texts, so the similarity to them is estimated. notes: gets a line on samples
    that are left after the last round.
    """
    import numpy as np

    if not bands:  # no sample has bands
        return
    buckets(keys, range(len(bands)))
    rows, signed = _members(keys)
    content = signed.copy()
    here = rows >= 0
    content[here] = compare.contents(rows[here])
    place(keys, rows, content, signed)
    for _ in range(ROUNDS):
        found = representatives(keys)
        if not found.num_rows:
            break
        row, via, how = (found[name].to_numpy() for name in ("_row", "via", "matched"))
        jaccard = compare.of(row, via)
        same = jaccard >= threshold
        remembered = np.flatnonzero((via < 0) & (row >= 0))
        same[remembered] = _estimated(keys, row[remembered], via[remembered]) >= threshold
        yield Pairs(row[same], via[same], how[same].astype(np.int32), jaccard[same])
        with keys.relation("answered", _table(_row=row[same], via=via[same])):
            close(keys)
    [(left,)] = keys.rows(f"SELECT count(DISTINCT _row) FROM ({keys.sql(_REPRESENTATIVES)})")
    if left:
        notes.append(left_over(left))
    keys.run("DROP TABLE open")


def left_over(samples: int) -> str:
    """A note on the number of samples that are left after the last round."""
    return f"verify has compared {samples} samples with {ROUNDS} unlike members of each of their groups, and not with the rest"


def buckets(keys: KeyRelations, bands: Sequence[int]) -> None:
    """Create the relation `buckets`: samples (`band`, `key`, `_row`) that share one of some bands with others."""
    for first in range(0, len(bands), _AT_ONCE):
        some = list(bands[first : first + _AT_ONCE])
        found = keys.sql(buckets_of(some))
        keys.run(f"INSERT INTO buckets {found}" if first else f"CREATE OR REPLACE TEMP TABLE buckets AS {found}")


def buckets_of(bands: Sequence[int]) -> SetQuery:
    """The query of the buckets of some bands."""
    return SetQuery("buckets", values={"bands": list(bands)})


def _members(keys: KeyRelations) -> tuple[np.ndarray, np.ndarray]:
    """Members of buckets, and a number for each that its signature gives; 0 without samples of an index."""
    import numpy as np

    index = bool(keys.rows("SELECT count(*) FROM marks WHERE _row < 0")[0][0])
    members = keys.con.sql(keys.sql(SetQuery("members", values={"index": index}))).to_arrow_table()
    rows = members["_row"].to_numpy()
    return rows, members["signed"].to_numpy().copy() if index else np.zeros(len(rows), np.uint64)


def place(keys: KeyRelations, rows: np.ndarray, content: np.ndarray, signed: np.ndarray) -> None:
    """Replace `buckets` by the relation `open`: members of buckets (`band`, `key`, `_row`), their `place` and `first`.

    The member with the least place represents its bucket. Samples of an index come first, then samples ordered by
    content. Samples of equal content are alike in any order. `first`: the first member of a member's content, or itself;
    copies are so compared with each other, however many unlike members the bucket has. rows: the members. content: a number
    for each. signed: that of its signature, which stands for the content of samples of an index.
    """
    import numpy as np

    order = np.lexsort((rows, content, rows >= 0))
    columns = {"content": content[order], "signed": signed[order]}
    index = bool((rows < 0).any())
    with keys.relation("places", _table(_row=rows[order], place=np.arange(len(rows)), **columns)):
        keys.run(keys.sql(SetQuery("open", values={"index": index})))
    keys.run("DROP TABLE buckets")


def representatives(keys: KeyRelations) -> Any:
    """Pairs (`_row`, `via`, `matched`) to compare next: members of `open` with the representatives of their buckets."""
    return keys.con.sql(keys.sql(_REPRESENTATIVES)).to_arrow_table()


def close(keys: KeyRelations) -> None:
    """Leave in `open` the members that no representative was like. `answered` has the pairs that are alike."""
    keys.run(keys.sql(SetQuery("still_open")))


def _estimated(keys: KeyRelations, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Estimated Jaccard of each pair of samples."""
    import numpy as np

    result = np.zeros(len(a))
    if len(a):
        with keys.relation("pairs", _table(n=np.arange(len(a)), a=a, b=b)):
            found = keys.con.sql(keys.sql(SetQuery("estimated"))).to_arrow_table()
        result[found["n"].to_numpy()] = found["jaccard"].to_numpy()
    return result


def _table(**columns: np.ndarray) -> Any:
    import pyarrow as pa  # not for the check of a recipe, which knows the matchers

    return pa.table(columns)
