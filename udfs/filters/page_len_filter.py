"""Filter on the length of a page in words, sentences, lines, paragraphs or characters."""

from __future__ import annotations

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Keep samples whose length in units of length_type lies in [lower_bound, upper_bound]. Words of a text of ASCII "
        "are runs of letters and digits, so don't is two; words of other texts are segments of UAX 29 with a letter or "
        "digit. Without ignore_punctuation each ASCII mark is one more word, or in other texts each segment that is no "
        "white space. Sentences are the marks . ! ? and lines end at line feeds. Paragraphs are pieces between two line "
        "feeds that are no white space. There is at least one sentence and one paragraph. Characters are letters and digits, or "
        "without ignore_punctuation all."
    ),
    "version": 1,
    "peer": "page_len_filter of datamap-rs",
    "params": {
        "length_type": {
            "type": "str",
            "choices": ["word", "sentence", "line", "paragraph", "char"],
            "doc": "Unit of the length.",
        },
        "lower_bound": {"type": "int", "default": 1, "min": 0, "doc": "Smallest length."},
        "upper_bound": {"type": "int", "default": 9223372036854775807, "min": 0, "doc": "Largest length."},
        "ignore_punctuation": {"type": "bool", "default": True, "doc": "Leave marks out, of words and characters."},
    },
    "stats": {"page_len": {"type": "BIGINT", "doc": "Length of the text."}},
    "bounds": {"page_len": ["lower_bound", "upper_bound"]},
    "functions": {
        "page_length": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "page_length",
        }
    },
    "sql": "SELECT page_length({{ text }}, {{ length_type | lit }}, {{ ignore_punctuation | lit }}) AS page_len",
    "examples": [
        {"text": "I don't, 3.5!", "params": {"length_type": "word"}, "stats": {"page_len": 5}, "keep": True},
        {"text": "I don’t, 3.5!", "params": {"length_type": "word"}, "stats": {"page_len": 3}, "keep": True},
        {
            "text": "I don't, 3.5!",
            "params": {"length_type": "word", "ignore_punctuation": False, "upper_bound": 8},
            "stats": {"page_len": 9},
            "keep": False,
        },
        {
            "text": "I don’t, 3.5!",
            "params": {"length_type": "word", "ignore_punctuation": False},
            "stats": {"page_len": 5},
            "keep": True,
        },
        {"text": "a\n\nb\n", "params": {"length_type": "line"}, "stats": {"page_len": 3}, "keep": True},
        {"text": "a\n\n \n\nb", "params": {"length_type": "paragraph"}, "stats": {"page_len": 2}, "keep": True},
        {"text": "Wait... what", "params": {"length_type": "sentence"}, "stats": {"page_len": 3}, "keep": True},
        {"text": "a, नमस्ते", "params": {"length_type": "char"}, "stats": {"page_len": 6}, "keep": True},
        {
            "text": "a, 日",
            "params": {"length_type": "char", "ignore_punctuation": False},
            "stats": {"page_len": 4},
            "keep": True,
        },
        {"text": "", "params": {"length_type": "word"}, "stats": {"page_len": 0}, "keep": False},
        {"text": "", "params": {"length_type": "paragraph"}, "stats": {"page_len": 1}, "keep": True},
        {"text": "a", "params": {"length_type": "page"}, "error": True},
    ],
}


def page_length(column: pa.Array, kind: str, ignore_punctuation: bool) -> pa.Array:
    """Length of each text; NULL for NULL."""
    from refinery.kernels.text import page_lengths  # imported late: checking a recipe needs no kernel

    return page_lengths.page_lengths(column, kind or "word", bool(ignore_punctuation))
