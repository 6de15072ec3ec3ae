"""Filter on the number of tokens per character by a local tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples whose tokens per character lie in [min_ratio, max_ratio]. Text that a tokenizer knows well has few; base64, "
        "serial numbers and broken encodings have many. Special tokens that a tokenizer adds to a text do not count. A text without "
        "characters is removed."
    ),
    "version": 1,
    "peer": "the filter of tokens per character of GneissWeb",
    "resources": {"loads": True},
    "params": {
        "tokenizer": {
            "type": "file",
            "asset": "{tokenizer}/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, a folder that contains one, or the name of a model on the Hub.",
        },
        "min_ratio": {"type": "float", "default": 0, "doc": "Fewest tokens per character."},
        "max_ratio": {"type": "float", "default": 9223372036854775807, "doc": "Most tokens per character."},
    },
    "stats": {"tokens_per_character": {"type": "DOUBLE", "doc": "Tokens per code point; NULL for an empty text."}},
    "bounds": {"tokens_per_character": ["min_ratio", "max_ratio"]},
    "checks": "check",
    "sql": """
        SELECT {{ feature("token_count", tokenizer=tokenizer, special=false, unless="") }} / nullif(length({{ text }}), 0)
            AS tokens_per_character
    """,
    "examples": [
        {
            "text": "one two",
            "params": {"tokenizer": "tokenizer.json", "max_ratio": 0.3},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"tokens_per_character": 0.2857142857142857},
            "keep": True,
        },
        {
            "text": "",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"tokens_per_character": None},
            "keep": False,
        },
        {"text": "", "params": {"tokenizer": "missing.json"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return subwords.problems(params["tokenizer"], "tokenizer")
