"""Pieces of texts by a tokenizer, as one column.

The pieces of a text travel as one string with a space between them. Where a piece is empty or holds a space itself,
`ends` has the end of each piece in that string; elsewhere it is NULL, and the spaces are the boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import bits, ints, of_texts, structs, texts

# Type of the column in SQL.
PIECES = "STRUCT(n BIGINT, joined VARCHAR, ends BIGINT[])"


def split_by(column: pa.Array, split: Callable[[str], list[str]]) -> pa.Array:
    """Pieces of each text by a Python function, as a struct of n, joined and ends; NULL for NULL."""
    rows = [None if text is None else split(text) for text in column.to_pylist()]
    return of_lists(rows)


def of_lists(rows: Sequence[Sequence[str] | None]) -> pa.Array:
    """Lists of pieces as a struct of n, joined and ends; NULL for None."""
    valid = np.fromiter((row is not None for row in rows), np.bool_, len(rows))
    counts = np.fromiter((len(row or ()) for row in rows), np.int64, len(rows))
    joined = of_texts([None if row is None else " ".join(row) for row in rows])
    return structs(valid, n=counts, joined=joined, ends=_lists([_ends(row or ()) for row in rows]))


def counted(joined: pa.Array, ends: pa.Array) -> pa.Array:
    """Joined pieces and their ends as a struct of n, joined and ends; NULL for NULL."""
    rows = zip(joined.to_pylist(), ends.to_pylist(), strict=True)
    counts = [0 if text is None else len(cut(text, places)) for text, places in rows]
    return structs(texts(joined).valid, n=np.array(counts, np.int64), joined=joined, ends=ends)


def _ends(pieces: Sequence[str]) -> np.ndarray | None:
    """End of each piece in the joined string, in bytes; None where spaces say it."""
    if all(piece and " " not in piece for piece in pieces):
        return None
    sizes = np.fromiter((len(piece.encode()) + 1 for piece in pieces), np.int64, len(pieces))
    return np.cumsum(sizes) - 1


def _lists(rows: Sequence[np.ndarray | None]) -> pa.Array:
    """Lists of int64; NULL for None."""
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([0 if row is None else len(row) for row in rows], out=offsets[1:])
    values = np.concatenate([np.zeros(0, np.int64), *(row for row in rows if row is not None)])
    null = np.fromiter((row is None for row in rows), np.bool_, len(rows))
    mask = pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [mask, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.list_(pa.int64()), len(rows), buffers, int(null.sum()), 0, [ints(values)])


def has_ends(ends: pa.Array) -> np.ndarray:
    """Flags of the rows with ends."""
    rows, mask = len(ends), ends.buffers()[0]
    if ends.null_count == rows:
        return np.zeros(rows, np.bool_)
    return np.ones(rows, np.bool_) if mask is None else bits(mask, ends.offset, rows)


def cut(joined: str, ends: Sequence[int] | None) -> list[str]:
    """The pieces of a text from its joined string and their ends."""
    if ends is None:
        return joined.split(" ") if joined else []
    data, start, pieces = joined.encode(), 0, []
    for end in ends:
        pieces.append(data[start:end].decode())
        start = end + 1
    return pieces


def no_ends(rows: int) -> pa.Array:
    """The field `ends` where spaces are boundaries everywhere."""
    return _lists([None] * rows)
