"""Verification of candidates: samples of a bucket are compared with representatives of it, exactly.

Samples are compared with representatives, not with every other sample: copies with the first of them, all others with a first
one, the samples unlike it with one of their own, and so on. Shingles pick the representatives, independent of the order of samples.
Samples of an index have no texts, so the similarity to them is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refinery.dedup.matchers.model import KeyRelations, SetQuery

if TYPE_CHECKING:
    import numpy as np

# Rounds in which the samples of a bucket are compared with one of those left; later rounds find almost nothing.
ROUNDS = 8
# SQL for the content hash that picks representatives: the sum of a sample's shingles, which are hashes, modulo 2^64.
CONTENT = "CAST(coalesce(list_sum(shingles), 0) % 18446744073709551616 AS UBIGINT)"

_REPRESENTATIVES = SetQuery("representatives")


_LEFT_OVER = f" samples with {ROUNDS} unlike members of each of their groups, and not with the rest"


def left_over(samples: int) -> str:
    """A note on the number of samples that are left after the last round."""
    return f"verify has compared {samples}{_LEFT_OVER}"


def is_left_over(note: str) -> bool:
    """Return whether a note is one of `left_over`."""
    return note.endswith(_LEFT_OVER)


def buckets_of(bands: Sequence[int]) -> SetQuery:
    """The query of the buckets of some bands."""
    return SetQuery("buckets", values={"bands": list(bands)})


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


def _table(**columns: np.ndarray) -> Any:
    import pyarrow as pa  # not for the check of a recipe, which knows the matchers

    return pa.table(columns)
