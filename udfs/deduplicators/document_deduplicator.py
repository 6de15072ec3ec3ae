"""Exact deduplication by a 126-bit hash of the folded text; a kernel, several times faster than MD5."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.dedup import text_keys

OPERATOR = {
    "doc": (
        "Remove samples with the text of an earlier sample; white space at the ends does not count. `lowercase` is "
        "applied first; then `ignore_non_character` removes white space, decimal digits of any script and ASCII "
        "punctuation, but no other punctuation. So all empty texts are duplicates of each other, and with "
        "ignore_non_character so are all texts without a letter. Texts are compared by a hash of 126 bits."
    ),
    "version": 1,
    "peer": "document_deduplicator of Data-Juicer 1.6.1",
    "params": {
        "lowercase": {"type": "bool", "default": False, "doc": "Compare texts in lower case."},
        "ignore_non_character": {
            "type": "bool",
            "default": False,
            "doc": "Compare texts without white space, decimal digits and ASCII punctuation.",
        },
    },
    "aliases": {
        "ray_document_deduplicator": {
            "doc": (
                "Data-Juicer's name of document_deduplicator on Ray; the same operator here, without Ray. On Ray the "
                "empty text and texts of white space alone are not duplicates of each other; here they are."
            ),
            "peer": "ray_document_deduplicator of Data-Juicer 1.6.1",
            "params": {
                "backend": {
                    "type": "str",
                    "default": "ray_actor",
                    "choices": ["ray_actor", "redis"],
                    "doc": "Without effect; Data-Juicer keeps its hashes there.",
                },
                "redis_address": {
                    "type": "str",
                    "default": "redis://localhost:6379",
                    "doc": "Without effect; refinery connects to nothing.",
                },
                "dedup_set_num": {
                    "type": "any",
                    "default": "auto",
                    "doc": "Without effect; in Data-Juicer the number of actors that hold the hashes.",
                },
            },
        }
    },
    "functions": {
        "text_key": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN", "BOOLEAN"],
            "returns": "DECIMAL(38, 0)",
            "runs": "kernel",
            "call": "text_key",
        }
    },
    "match": "keys",
    "sql": "SELECT text_key({{ text }}, {{ lowercase | lit }}, {{ ignore_non_character | lit }}) AS key",
    "examples": [
        {"texts": ["a", "b", "a"], "kept": [0, 1]},
        {"texts": ["same", "  same\n", "sa me", "Same"], "kept": [0, 2, 3]},
        {"texts": ["ΟΔΟΣ", "οδος", "οδοσ"], "params": {"lowercase": True}, "kept": [0, 2]},
        {
            "texts": ["Chapter 12: The End", "Chapter 13 - TheEnd!", "chapter 12: the end", "Chapter… The End"],
            "params": {"ignore_non_character": True},
            "kept": [0, 2, 3],
        },
        {
            "texts": ["2024-01-31", "42", "", "٣ ٤"],
            "params": {"ignore_non_character": True},
            "kept": [0],
        },
        {"texts": ["", " \t\n", "\u3000"], "kept": [0]},
    ],
}


def text_key(column: pa.Array, lowercase: bool, ignore_non_character: bool) -> pa.Array:
    """The key of each text, NULL for NULL."""
    return text_keys.text_keys(column, lowercase, ignore_non_character)
