"""Remove repeated paragraphs; kernels over the UTF-8 bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.dedup import line_units, paragraph_units

OPERATOR = {
    "doc": (
        "Remove every paragraph that occurred before, in an earlier sample or earlier in the same one; the first "
        "occurrence stays. Paragraphs are separated by `separator`, by default an empty line; a line of blanks is "
        "not empty, and neither is one that ends in CR LF. Paragraphs of fewer than min_length characters always "
        "stay. A sample that loses its last paragraph is removed, unless drop_empty is off; a sample that was "
        "already empty stays."
    ),
    "version": 1,
    "params": {
        "separator": {"type": "str", "default": "\n\n", "doc": "Text between two paragraphs, literally."},
        "lowercase": {"type": "bool", "default": False, "doc": "Compare paragraphs in lower case."},
        "collapse_whitespace": {
            "type": "bool",
            "default": True,
            "doc": "Compare with every run of white space as one space, so that line breaks make no difference.",
        },
        "min_length": {
            "type": "int",
            "default": 20,
            "min": 0,
            "doc": "Paragraphs of fewer code points, without white space at the ends, are never removed.",
        },
        "drop_empty": {
            "type": "bool",
            "default": True,
            "doc": "Remove a sample if only white space is left; otherwise its text becomes empty.",
        },
    },
    "checks": "checks",
    "functions": {
        "paragraph_keys": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN", "BOOLEAN", "BIGINT"],
            "returns": "UBIGINT[]",
            "runs": "kernel",
            "call": "paragraph_keys",
        },
        "without_paragraphs": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "without_paragraphs",
        },
    },
    "match": "units",
    "units": {"name": "paragraph", "split": "paragraphs"},
    "rule": {"kind": "first_stays", "drop_empty": "drop_empty"},
    "sql": (
        "SELECT paragraph_keys({{ text }}, {{ separator | lit }}, {{ lowercase | lit }}, "
        "{{ collapse_whitespace | lit }}, {{ min_length | lit }}) AS units"
    ),
    "apply": "SELECT without_paragraphs({{ text }}, {{ removed }}, {{ separator | lit }}) AS delta",
    "examples": [
        {
            "texts": ["An opening paragraph.\n\nThe body of the first.", "The body of the second.\n\nAn opening paragraph."],
            "params": {},
            "out": ["An opening paragraph.\n\nThe body of the first.", "The body of the second."],
        },
        {
            "texts": ["one two three four five\n\nshort\n\nshort\n\none two\nthree  four five\n\nthe end of this text"],
            "params": {},
            "out": ["one two three four five\n\nshort\n\nshort\n\nthe end of this text"],
        },
        {"texts": ["the very same text", "the very same text"], "params": {"min_length": 1}, "out": ["the very same text", None]},
        {"texts": ["same", "same", ""], "params": {"min_length": 1, "drop_empty": False}, "out": ["same", "", ""]},
        {"texts": ["Same|other", "sAME|x"], "params": {"min_length": 1, "separator": "|", "lowercase": True}, "out": ["Same|other", "x"]},
        {
            "texts": ["a b\n\nc", "a\tb\n\nd"],
            "params": {"min_length": 1, "collapse_whitespace": False},
            "out": ["a b\n\nc", "a\tb\n\nd"],
        },
    ],
}  # fmt: skip


def checks(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run."""
    return [] if params["separator"] else ["separator is empty; give the characters that stand between paragraphs"]


def paragraph_keys(
    column: pa.Array, separator: str, lowercase: bool, collapse_whitespace: bool, min_length: int
) -> pa.Array:
    """A key per paragraph of each text; 0 for paragraphs that take no part."""
    how = lowercase * line_units.LOWER | collapse_whitespace * line_units.ONE_SPACE
    return paragraph_units.paragraph_keys(column, separator, how, min_length)


def without_paragraphs(column: pa.Array, removed: pa.Array, separator: str) -> pa.Array:
    """Each text without these paragraphs; empty if only white space is left; NULL where nothing changes."""
    return paragraph_units.remove_paragraphs(column, removed, separator)


def paragraphs(text: str, params: dict[str, Any]) -> list[str]:
    """The paragraphs of a text, as the numbers of units count them."""
    return text.split(params["separator"])
