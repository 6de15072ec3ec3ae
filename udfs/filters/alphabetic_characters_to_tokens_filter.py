"""Filter on letters per token, as DCLM measures them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Remove samples with fewer than max_ratio letters (str.isalpha) per token: in spite of its name, the parameter is the "
        "smallest ratio. Special tokens that a tokenizer adds to a text do not count. A text without tokens is removed."
    ),
    "version": 1,
    "peer": "alphabetic_characters_to_tokens_filter of DCLM, which downloads the tokenizer",
    "resources": {"loads": True},
    "params": {
        "tokenizer_name": {
            "type": "file",
            "default": "EleutherAI/pythia-6.9b-deduped",
            "asset": "{tokenizer_name}/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, a folder that contains one, or the name of a model on "
            "the Hub.",
        },
        "max_ratio": {"type": "float", "default": 1.5, "doc": "Smallest ratio."},
    },
    "stats": {"alpha_per_token": {"type": "DOUBLE", "doc": "Letters per token; NULL without tokens."}},
    "checks": "check",
    "sql": """
        SELECT
          {{ feature("profile") }}.alpha
            / nullif({{ feature("token_count", tokenizer=tokenizer_name, special=false, unless="") }}, 0) AS alpha_per_token,
          alpha_per_token >= {{ max_ratio | lit }} AS keep
    """,
    "examples": [
        {
            "text": "one 12 one",
            "params": {"tokenizer_name": "tokenizer.json", "max_ratio": 2},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"alpha_per_token": 2.0},
            "keep": True,
        },
        {
            "text": "",
            "params": {"tokenizer_name": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"alpha_per_token": None},
            "keep": False,
        },
        {"text": "", "params": {"tokenizer_name": "missing.json"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return subwords.problems(params["tokenizer_name"], "tokenizer_name")
