"""Words and phrases of a list in a text."""

from __future__ import annotations

from refinery.kernels.words.listed_phrases import has_listed_word

__all__ = ["has_listed_word"]

FEATURE = {
    "doc": (
        "True for a text that has, in lower case, a word of a list between white space, or, anywhere, one of its phrases with "
        "a blank. path: a file with a word or phrase in each line."
    ),
    "version": 1,
    "params": ["path"],
    "functions": {
        "has_listed_word": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BOOLEAN",
            "runs": "python",
            "call": "has_listed_word",
        }
    },
    "sql": "has_listed_word({{ text }}, {{ path | lit }})",
}
