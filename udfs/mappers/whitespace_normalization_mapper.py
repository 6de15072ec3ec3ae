"""Map white space to plain spaces; a kernel, because trim and translate of SQL are ten times slower."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from refinery.kernels.core.arrow import delta
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.charmap import CharMap, char_map, map_rows

OPERATOR = {
    "doc": (
        "Strip white space (str.strip) from both ends of the text, then replace 22 kinds of it by U+0020, one for "
        "one. Line ends within the text stay, and so do U+1680, U+180E and U+FEFF. Replaced are the tab, NBSP, "
        "U+2000 to U+200D, U+202F, U+205F, U+2060, U+3000, and also U+FFFC and U+0084. Runs of spaces are not "
        "collapsed."
    ),
    "version": 1,
    "peer": "whitespace_normalization_mapper of Data-Juicer 1.6.1",
    "params": {},
    "functions": {
        "whitespace_delta": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "normalize_whitespace",
        }
    },
    "sql": "SELECT whitespace_delta({{ text }}) AS delta",
    "examples": [
        {"text": "  a\tb \u00a0 c\u3000d\r\n", "out": "a b   c d"},
        {"text": "line one\n\tline two", "out": "line one\n line two"},
        {"text": "\ufeff bom", "out": "\ufeff bom"},
        {"text": "zero\u200bwidth\u200djoiner\u2060x\ufffcy", "out": "zero width joiner x y"},
        {"text": "a\u0084b\u0085c\u2028d", "out": "a b\u0085c\u2028d"},
        {"text": "\n\t\u2003\u2028", "out": ""},
        {"text": "tidy  text", "out": "tidy  text"},
    ],
}

CHARS = "\t\x84\u00a0" + "".join(map(chr, range(0x2000, 0x200E))) + "\u202f\u205f\u2060\u3000\ufffc"


@lru_cache(maxsize=1)
def table() -> CharMap:
    """The characters that become spaces, as the kernel reads them."""
    return char_map(dict.fromkeys(CHARS, " "))


def normalize_whitespace(column: pa.Array) -> pa.Array:
    """Each text stripped and with plain spaces; NULL where nothing changes."""
    return delta(column, map_rows, *table(), True, classes())
