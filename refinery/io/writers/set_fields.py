"""Set fields of JSON lines to new values; all other bytes stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.io.model import Keys
from refinery.io.text_columns import is_plain_text
from refinery.kernels.core.arrow import texts


def _letters() -> np.ndarray:
    """The character after the backslash for each byte that a JSON string must escape; 'u' is the long form."""
    table = np.zeros(256, np.uint8)
    table[:32] = ord("u")
    for byte, letter in zip(b'\b\t\n\f\r"\\', b'btnfr"\\', strict=True):
        table[byte] = letter
    return table


_LETTERS = _letters()


def set_members(
    column: pa.Array | pa.ChunkedArray,
    rows: np.ndarray,
    keys: Keys,
    values: pa.Array | pa.ChunkedArray,
    quote: bool,
    spans: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Lines `rows` of a column of JSON objects, the k-th with member `keys` set to value k; (bytes, int64 offsets).

    A line whose value is NULL stays as it is. Else every member of that name gets the value (a repeated name
    would otherwise keep an old value for readers that take the last), and a missing one is added at the end. All other bytes
    are kept, except that white space after the line becomes one line feed. quote: values are texts; else JSON.
    spans: of the member in every line of the column, as in `Member`, if they are known.
    Raises ValueError when a value on the way to a nested member is no object.
    """
    lines, new = texts(plain_texts(column)), texts(plain_texts(values))
    encoded = [key.encode() for key in keys]
    path = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
    ends = np.cumsum([len(key) for key in encoded]).astype(np.int64)
    rows = np.ascontiguousarray(rows, np.int64)
    spans = np.full((len(lines), 2), -1, np.int64) if spans is None else spans
    old = int((lines.offsets[rows + 1] - lines.offsets[rows]).sum())
    room = (
        old + int(new.size * 1.125) + len(rows) * (int(ends[-1]) + 8 * len(keys) + 16) + 2 * kernels.core.blocks.BLOCK
    )
    offsets = np.zeros(len(rows) + 1, np.int64)
    while True:
        out = np.empty(room, np.uint8)
        used = kernels.json.jsonsplice.splice(
            *(lines.data, lines.offsets, rows, spans, path, ends),
            *(new.data, new.offsets, new.valid, quote, _LETTERS, out, offsets),
        )
        if used >= 0:
            return out[:used], offsets
        if used < -1:
            raise ValueError(f"{'.'.join(keys)!r} cannot be set: something on its path is no object")
        room *= 2


def plain_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of texts as plain strings, without extension types and other layouts."""
    kind = column.type
    if is_plain_text(kind):
        return column
    if isinstance(kind, pa.BaseExtensionType):
        column = column.cast(kind.storage_type)
    return column.cast(pa.large_string())
