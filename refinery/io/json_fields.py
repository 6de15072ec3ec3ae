"""One field of JSON lines: its texts, and their places in the lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.kernels.core.arrow import strings, texts


@dataclass(frozen=True)
class Member:
    """The last member of one name in each of some JSON lines.

    texts: NULL without the member or for another type. spans: int64 (rows, 2), start and end of the text with its quotes
    in its line; -1 where it is NULL, or where another member has the same name.
    """

    texts: pa.Array
    spans: np.ndarray


def find_member(column: pa.Array | pa.ChunkedArray, name: str) -> Member:
    """The member `name` of JSON objects; other lines have no text, unless the damage is behind the member."""
    lines = texts(column)
    spans = np.empty((len(lines), 2), np.int64)
    out = np.empty(lines.size + kernels.core.blocks.BLOCK, np.uint8)
    offsets = np.zeros(len(lines) + 1, np.int64)
    present = np.zeros(len(lines), np.bool_)
    kernels.json.jsontext.member_texts(lines.data, lines.offsets, _bytes(name), spans, out, offsets, present)
    return Member(strings(out, offsets, present), spans)


def without(column: pa.Array | pa.ChunkedArray, member: Member) -> pa.Array:
    """The lines with an empty text for the member; lines in which it has no span stay as they are."""
    lines = texts(column)
    spans = member.spans
    taken = np.where(spans[:, 0] >= 0, spans[:, 1] - spans[:, 0], 0)
    out = np.empty(lines.size - int(taken.sum()) + 2 * len(lines) + 1, np.uint8)
    offsets = np.zeros(len(lines) + 1, np.int64)
    kernels.json.jsonsplice.emptied(lines.data, lines.offsets, spans, out, offsets)
    return strings(out, offsets, lines.valid)


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode() + b"\0", np.uint8)[: len(text.encode())]
