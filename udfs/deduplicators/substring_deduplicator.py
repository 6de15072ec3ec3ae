"""Remove passages that occur before, wherever they start; kernels over the UTF-8 bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.dedup import substring_cells, substring_cuts, substrings

OPERATOR = {
    "doc": (
        "Remove every passage of at least min_length bytes, or tokens, that occurs before, in an earlier sample or earlier in the "
        "same one, wherever it starts; the first copy stays. A byte goes if it lies in min_length consecutive bytes that are "
        "equal to others which start earlier, in the texts as they reach the step; copies may overlap. Bytes are compared as they "
        "are. With keep: none, the first copy goes, too. The statistic duplicate_share is the share of a text's bytes in such "
        "passages. action: measure changes no text, and action: drop removes samples whose share is above max_share."
    ),
    "version": 2,
    "params": {
        "min_length": {
            "type": "int",
            "default": 500,
            "default_when": [{"when": {"unit": "token"}, "default": 50}],
            "min": 1,
            "max": 65535,
            "doc": "Least length of a passage, in bytes or tokens.",
        },
        "unit": {
            "type": "str",
            "default": "byte",
            "choices": ["byte", "token"],
            "doc": "Compare bytes, or tokens, which white space separates; a passage goes from its first to its last token.",
        },
        "keep": {
            "type": "str",
            "default": "first",
            "choices": ["first", "none"],
            "doc": "Keep the first copy of a passage, or none.",
        },
        "action": {
            "type": "str",
            "default": "remove",
            "choices": ["remove", "measure", "drop"],
            "doc": "Remove passages, only compute duplicate_share, or remove samples whose duplicate_share is above max_share.",
        },
        "boundaries": {
            "type": "str",
            "default": "character",
            "choices": ["character", "word", "line"],
            "doc": "Remove the whole characters, words or lines of a passage; parts of them at its ends stay.",
        },
        "merge_gap": {
            "type": "int",
            "default": 0,
            "min": 0,
            "doc": "Remove the text between two passages, too, if it has at most so many bytes.",
        },
        "min_left": {
            "type": "int",
            "default": 1,
            "min": 0,
            "doc": "Remove a sample if fewer bytes are left, or only white space; with 0, none is removed.",
        },
        "max_share": {
            "type": "float",
            "default": None,
            "min": 0,
            "max": 1,
            "doc": "Remove a sample with a larger duplicate_share; needed for action: drop.",
        },
    },
    "stats": {
        "duplicate_share": {"type": "DOUBLE", "doc": "Share of the text's bytes that are in passages which occur before."}
    },
    "bounds": {"duplicate_share": [None, "max_share"]},
    "checks": "checks",
    "functions": {
        "substring_items": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "VARCHAR"],
            "returns": "UBIGINT[]",
            "runs": "kernel",
            "call": "substring_items",
        },
        "substring_excerpts": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["BIGINT", "VARCHAR"],
            "returns": "BLOB",
            "runs": "kernel",
            "call": "substring_excerpts",
        },
        "without_passages": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR", "BIGINT", "VARCHAR", "BIGINT"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "without_passages",
        },
        "passage_share": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "passage_share",
        },
    },
    "match": "substrings",
    "units": {"name": "passage"},
    "rule": {"kind": "passages", "drop_empty": "min_left"},
    "sql": "SELECT substring_items({{ text }}, {{ min_length | lit }}, {{ unit | lit }}) AS items",
    "compare": "SELECT substring_excerpts({{ text }}, {{ places }}, {{ min_length | lit }}, {{ unit | lit }}) AS shingles",
    "apply": (
        "SELECT passage_share({{ text }}, {{ removed }}, {{ unit | lit }}) AS duplicate_share"
        "{% if action == 'remove' %}, without_passages({{ text }}, {{ removed }}, {{ unit | lit }}, {{ merge_gap | lit }}, "
        "{{ boundaries | lit }}, {{ min_left | lit }}) AS delta{% endif %}"
    ),
    "examples": [
        {
            "texts": ["the cat sat on the mat", "once the cat sat on it"],
            "params": {"min_length": 10},
            "out": ["the cat sat on the mat", "once it"],
        },
        {
            "texts": ["the cat sat on the mat", "once the cat sat on it"],
            "params": {"min_length": 10, "keep": "none", "boundaries": "word"},
            "out": ["the mat", "once it"],
        },
        {"texts": ["abcabcabcabc"], "params": {"min_length": 5}, "out": ["abc"]},
        {"texts": ["the very same text", "the very same text"], "params": {"min_length": 8}, "out": ["the very same text", None]},
        {
            "texts": ["one two three four", "zero one  two\nthree five"],
            "params": {"unit": "token", "min_length": 3},
            "out": ["one two three four", "zero  five"],
        },
        {
            "texts": ["the very same text", "so: the very same text", "all of the very same text again"],
            "params": {"min_length": 8, "action": "drop", "max_share": 0.7},
            "out": ["the very same text", None, "all of the very same text again"],
        },
        {"texts": ["same text", "same text", ""], "params": {"min_length": 4, "action": "measure"}, "out": ["same text", "same text", ""]},
        {"texts": ["same text", "same text", ""], "params": {"min_length": 4, "min_left": 0}, "out": ["same text", "", ""]},
    ],
}  # fmt: skip


def checks(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run."""
    bounded = params["max_share"] is not None
    if params["action"] == "drop" and not bounded:
        return ["action: drop needs max_share, the largest share of repeated bytes of a sample that stays"]
    if params["action"] == "measure" and bounded:
        return ["max_share removes samples, which action: measure does not; take action: drop, or leave max_share out"]
    return []


def substring_items(column: pa.Array, min_length: int, unit: str) -> pa.Array:
    """Items by which passages are found; see `refinery.kernels.dedup.substrings`."""
    return substrings.anchors(column, min_length, unit == "token")


def substring_excerpts(column: pa.Array, places: pa.Array, min_length: int, unit: str) -> pa.Array:
    """The parts of each text that items at some places have; see `refinery.kernels.dedup.substring_cells`."""
    return substring_cells.excerpts(column, places, min_length, unit == "token")


def without_passages(
    column: pa.Array, removed: pa.Array, unit: str, merge_gap: int, boundaries: str, min_left: int
) -> pa.Array:
    """Each text without its passages; empty if too little is left; NULL where nothing changes."""
    return substring_cuts.remove_passages(column, removed, unit == "token", merge_gap, boundaries, min_left)


def passage_share(column: pa.Array, removed: pa.Array, unit: str) -> pa.Array:
    """Share of each text's bytes that its passages have."""
    return substring_cuts.passage_share(column, removed, unit == "token")
