"""Remove what has mostly occurred before, by a Bloom filter of n-grams; kernels over the UTF-8 bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.common.lazy import pc
from refinery.kernels.core.arrow import of_texts
from refinery.kernels.dedup import paragraph_units, word_ngrams

OPERATOR = {
    "doc": (
        "Remove every paragraph if a share of more than duplicate_threshold of its n-grams has occurred before, in earlier samples "
        "or in earlier paragraphs of the same one; level: document removes such samples, and both removes such "
        "paragraphs, and samples of whose n-grams so many have occurred. Repetitions within a paragraph do not count. "
        "N-grams of removed paragraphs are not remembered, so nothing is removed for the sake of a text that is itself "
        "removed; remember: all is simpler and removes more. A Bloom filter remembers n-grams: a new one counts as known "
        "with a probability of up to false_positive_rate, which a run measures and notes. Words are segments of UAX 29 "
        "without white space, punctuation marks among them; a paragraph with fewer than n_grams words is compared as a "
        "whole if it has min_ngram_size, else it stays. Paragraphs are separated by line feeds. The result is that of one "
        "filter that sees all samples in the order of the input, on any number of machines."
    ),
    "version": 1,
    "peer": "BFF with remove-type old-both; SingleBloomFilter of datatrove 0.10.1",
    "params": {
        "as": {
            "type": "str",
            "default": "dclm",
            "choices": ["dclm", "datatrove"],
            "doc": "The tool with these defaults: DCLM's BFF, or datatrove's filter of whole documents.",
        },
        "level": {
            "type": "str",
            "default": "both",
            "default_when": [{"when": {"as": "datatrove"}, "default": "document"}],
            "choices": ["paragraph", "document", "both"],
            "doc": "What is removed.",
        },
        "n_grams": {"type": "int", "default": 13, "min": 1, "max": 1000, "doc": "Words of an n-gram."},
        "min_ngram_size": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "doc": "Least words of a paragraph that is shorter than an n-gram, to be compared as a whole; null: n_grams.",
        },
        "duplicate_threshold": {
            "type": "float",
            "default": 0.8,
            "min": 0,
            "max": 1,
            "doc": "What has a larger share of known n-grams is removed.",
        },
        "remember": {
            "type": "str",
            "default": "kept",
            "default_when": [{"when": {"as": "datatrove"}, "default": "all"}],
            "choices": ["kept", "all"],
            "doc": "N-grams that enter the filter: only n-grams of kept paragraphs (or samples), or all.",
        },
        "normalize": {
            "type": "str",
            "default": "none",
            "default_when": [{"when": {"as": "datatrove"}, "default": "datatrove"}],
            "choices": ["none", "datatrove"],
            "doc": (
                "Normalisation of the text; datatrove: lower case, numbers become 0, punctuation becomes a space, accents "
                "are removed, and words are runs of letters and digits. Only for level: document."
            ),
        },
        "expected_ngrams": {
            "type": "int",
            "default": None,
            "nullable": True,
            "min": 1,
            "max": 1_000_000_000_000,
            "doc": "Distinct n-grams for which the filter has room; null: as many as the input has n-grams.",
        },
        "false_positive_rate": {
            "type": "float",
            "default": 0.01,
            "min": 1e-9,
            "max": 0.5,
            "doc": "Share of new n-grams that count as known when the filter has its expected n-grams.",
        },
        "drop_empty": {
            "type": "bool",
            "default": True,
            "doc": "Remove a sample if only white space is left; otherwise its text becomes empty.",
        },
    },
    "checks": "checks",
    "functions": {
        "filter_ngrams": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "BIGINT", "BIGINT"],
            "returns": "STRUCT(ngrams UBIGINT[], sizes INTEGER[])",
            "runs": "kernel",
            "call": "filter_ngrams",
        },
        "without_units": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "without_units",
        },
    },
    "match": "ngrams",
    "units": {"name": "part", "split": "parts"},
    "rule": {"kind": "in_filter", "drop_empty": "drop_empty"},
    "sql": (
        "SELECT filter_ngrams({{ text }}, {{ level | lit }}, {{ normalize | lit }}, "
        "{{ (min_ngram_size or n_grams) | lit }}, {{ n_grams | lit }}) AS marks"
    ),
    "apply": "SELECT without_units({{ text }}, {{ removed }}, {{ level | lit }}) AS delta",
    "examples": [
        {
            "texts": ["one two three four five\nof the first", "of the second\none two three four five!\nthe end is new here"],
            "params": {"n_grams": 3, "duplicate_threshold": 0.7},
            "out": ["one two three four five\nof the first", "of the second\nthe end is new here"],
        },
        {
            "texts": ["one two three four five", "one two three four five six", "two three four five six seven"],
            "params": {"n_grams": 2, "duplicate_threshold": 0.75},
            "out": ["one two three four five", None, "two three four five six seven"],
        },
        {
            "texts": ["one two three four five", "one two three four five six", "two three four five six seven"],
            "params": {"n_grams": 2, "duplicate_threshold": 0.75, "remember": "all"},
            "out": ["one two three four five", None, None],
        },
        {
            "texts": ["a b c d e f", "a b c d e f\nx y z u v w", "a b c d e f\nx"],
            "params": {"n_grams": 3, "level": "paragraph", "drop_empty": False},
            "out": ["a b c d e f", "x y z u v w", "x"],
        },
        {
            "texts": ["a b c d e f", "a b c d\ne f", "a b c d\ne f g h i j"],
            "params": {"n_grams": 3, "level": "document"},
            "out": ["a b c d e f", None, "a b c d\ne f g h i j"],
        },
        {"texts": ["short one", "short one", ""], "params": {}, "out": ["short one", "short one", ""]},
        {"texts": ["short one", "short one", ""], "params": {"min_ngram_size": 2}, "out": ["short one", None, ""]},
        {
            "texts": ["Café prices: 12.50, then 3.", "CAFE PRICES 7 (then 3)", "cafe prices"],
            "params": {"as": "datatrove", "n_grams": 2},
            "out": ["Café prices: 12.50, then 3.", None, None],
        },
    ],
}  # fmt: skip


def checks(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run."""
    problems = []
    if params["normalize"] == "datatrove" and params["level"] != "document":
        problems.append(
            "normalize: datatrove makes line breaks spaces, so there are no paragraphs; set level: document"
        )
    least = params.get("min_ngram_size")
    if least is not None and least > params["n_grams"]:
        problems.append(
            f"min_ngram_size is {least}, more than n_grams, which is {params['n_grams']}; give at most that"
        )
    return problems


def filter_ngrams(column: pa.Array, level: str, normalize: str, least: int, window: int) -> pa.Array:
    """N-grams of each text, part by part, and their number in each part; see `word_ngrams.segment_ngrams`."""
    if normalize == "datatrove":
        return word_ngrams.normalized_ngrams(column, least, window)
    return word_ngrams.segment_ngrams(column, level != "document", least, window)


def without_units(column: pa.Array, removed: pa.Array, level: str) -> pa.Array:
    """Each text without these parts; empty if only white space is left; NULL where nothing changes."""
    if level == "document":
        some = pc.list_value_length(removed).cast(pa.bool_())
        return pc.if_else(some, of_texts([""])[0], pa.nulls(1, pa.string())[0])
    return paragraph_units.remove_paragraphs(column, removed, "\n")


def parts(text: str, params: dict[str, Any]) -> list[str]:
    """The parts of a text, as the numbers of units count them."""
    return [text] if params["level"] == "document" else text.split("\n")
