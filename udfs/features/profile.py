"""Character and line counts of a text, from which four filters compute ratios."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.text.profile import FIELDS, count_rows, tables

FEATURE = {
    "doc": (
        "Counts of a text from one pass over it. chars: code points. alnum, alpha, special: characters that are "
        "str.isalnum, str.isalpha, or special to Data-Juicer. lines, longest_line: as str.splitlines cuts them, so "
        "VT, FF, FS, GS, RS, NEL, U+2028 and U+2029 end a line as well, CR LF is one end, an end at the very end opens "
        "no further line, and the length is without the end."
    ),
    "version": 1,
    "functions": {
        "profile": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": (
                "STRUCT(chars BIGINT, alnum BIGINT, alpha BIGINT, special BIGINT, lines BIGINT, longest_line BIGINT)"
            ),
            "runs": "kernel",
            "call": "profile",
        }
    },
    "sql": "profile({{ text }})",
}


def profile(column: pa.Array) -> pa.Array:
    """A struct of six int64 counts for each text; NULL for NULL."""
    view = texts(column)
    counts = np.zeros((len(FIELDS), len(view)), np.int64)
    count_rows(view.data, view.offsets, view.valid, *tables(), counts)
    return structs(view.valid, **dict(zip(FIELDS, counts, strict=True)))
