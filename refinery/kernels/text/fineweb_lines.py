"""Measures of the lines of texts that FineWeb's filter looks at."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from refinery.kernels.core.arrow import items, present, structs
from refinery.kernels.text.piece_stats import piece_stats
from refinery.kernels.words.mark_characters import END_MARKS

FIELDS = ("pieces", "taken", "terminal", "duplicate_chars")


def fineweb_lines(column: pa.Array, short: int, ends: Sequence[str] | None) -> pa.Array:
    """Struct for each text; NULL for NULL.

    pieces: all lines. taken: those with more than white space, and of these: terminal, those that end in one of `ends`
    (None: marks that end sentences); duplicate_chars, the characters of those that repeat an earlier one; short, those with
    at most `short` characters.
    """
    stats = piece_stats(column, False, True, [short], [], tuple(END_MARKS) if ends is None else ends)
    fields = {name: stats.field(name) for name in FIELDS} | {"short": items(stats.field("short"))}
    return structs(present(column), **fields)
