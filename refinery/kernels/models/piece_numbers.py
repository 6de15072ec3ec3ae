"""Pieces of texts as numbers, which steps on pieces share without making strings of them.

The pieces of a text travel as the bytes of int32. Up to the model's number of pieces, a number is that of a piece. A
character that no piece has is its code point behind these numbers; several of them make one piece, so those after the
first have the bit CONTINUES.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import flags, numbers, of_texts, strings, structs, texts
from refinery.kernels.core.blocks import load_word, store_word
from refinery.kernels.core.charclass import CODE_POINTS
from refinery.kernels.core.jit import entry, inlined
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import encode
from refinery.kernels.models.pieces import no_ends

# Type of the column in SQL: `numbers` of a model that kernels know, else `joined` and `ends` as of the feature `pieces`.
NUMBERED = "STRUCT(numbers BLOB, joined VARCHAR, ends BIGINT[])"

CONTINUES = 1 << 30
SPACE = 0x20
_WORD = 8  # bytes that are copied at once


class Spelling(NamedTuple):
    """Texts of a model's pieces: data[starts[number] : starts[number + 1]], with eight bytes behind the last one."""

    data: np.ndarray
    starts: np.ndarray


record(Spelling, "uint8[] int64[]")


def spelling_of(pieces: Sequence[bytes]) -> Spelling:
    """The texts of these pieces."""
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=starts[1:])
    return Spelling(np.frombuffer(b"".join(pieces) + bytes(_WORD), np.uint8), starts)


def all_numbers(spelling: Spelling) -> int:
    """Numbers of pieces and of code points."""
    return len(spelling.starts) - 1 + CODE_POINTS


class Numbers(NamedTuple):
    """A column of numbers of pieces: those of row r are data[offsets[r] : offsets[r + 1]]."""

    data: np.ndarray
    offsets: np.ndarray
    valid: np.ndarray

    def __len__(self) -> int:
        return len(self.valid)


def viewed(column: pa.Array) -> Numbers:
    """View a column of numbers, as bytes."""
    view = texts(column)
    return Numbers(view.data[: len(view.data) & -4].view(np.int32), view.offsets >> 2, view.valid)


def column_of(data: np.ndarray, offsets: np.ndarray, valid: np.ndarray) -> pa.Array:
    """A column of numbers over this memory."""
    column = strings(data.view(np.uint8), offsets << 2, valid)
    return column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())


def of_numbers(column: pa.Array) -> pa.Array:
    """A column of the type NUMBERED, of numbers."""
    rows = len(column)
    return structs(texts(column).valid, numbers=column, joined=of_texts([None] * rows), ends=no_ends(rows))


def of_pieces(pieces: pa.Array) -> pa.Array:
    """A column of the type NUMBERED, of pieces as the feature `pieces` has them."""
    joined = pieces.field("joined")
    none = pa.nulls(len(pieces), pa.binary())
    return structs(texts(joined).valid, numbers=none, joined=joined, ends=pieces.field("ends"))


def spelled(column: pa.Array, spelling: Spelling) -> tuple[pa.Array, np.ndarray]:
    """The pieces of each row as one text with a space between them, and their number; NULL and 0 for NULL."""
    view = viewed(column)
    out = np.empty(_spelled_size(*view, spelling) + _WORD, np.uint8)
    offsets, counts = np.zeros(len(view) + 1, np.int64), np.zeros(len(view), np.int64)
    _spell(*view, spelling, out, offsets, counts)
    return strings(out, offsets, view.valid), counts


def with_texts(
    values: np.ndarray, todo: np.ndarray, column: pa.Array, spelling: Spelling, measured: Callable[[pa.Array], pa.Array]
) -> np.ndarray:
    """The values, with those of the rows `todo` computed from the texts of their pieces."""
    if todo.any():
        values[todo] = numbers(measured(spelled(column.filter(flags(todo)), spelling)[0]))
    return values


@entry("int32[] int64[] bool[] Spelling -> int64", Spelling)
def _spelled_size(numbers, offsets, valid, spelling):
    """Bytes that the texts need, at most."""
    known, size = len(spelling.starts) - 1, 0
    for row in range(len(valid)):
        for k in range(offsets[row], offsets[row + 1] if valid[row] else offsets[row]):
            number = np.int64(numbers[k]) & (CONTINUES - 1)
            size += 1 + (spelling.starts[number + 1] - spelling.starts[number] if number < known else 4)
    return size


@entry("int32[] int64[] bool[] Spelling uint8[] int64[] int64[]", Spelling)
def _spell(numbers, offsets, valid, spelling, out, out_offsets, counts):
    w = 0
    for row in range(len(valid)):
        count = 0
        for k in range(offsets[row], offsets[row + 1] if valid[row] else offsets[row]):
            if numbers[k] < CONTINUES:
                out[w] = SPACE
                w += count > 0
                count += 1
            w = write_piece(np.int64(numbers[k]) & (CONTINUES - 1), spelling, out, w)
        out_offsets[row + 1] = w
        counts[row] = count


@inlined
def write_piece(number, spelling, out, w):
    """Write the text of a number and up to seven bytes behind it; returns the position after the text."""
    known = len(spelling.starts) - 1
    if number >= known:
        return encode(number - known, out, w)
    start, size = spelling.starts[number], spelling.starts[number + 1] - spelling.starts[number]
    for k in range(0, size, _WORD):
        store_word(out, w + k, load_word(spelling.data, start + k))
    return w + size
