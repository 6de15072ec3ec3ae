"""Filter on the number of tokens by a local tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples whose number of tokens lies in [min_num, max_num]. Special tokens that a tokenizer adds to a "
        "text do not count, and long texts are not truncated."
    ),
    "version": 1,
    "peer": "token_num_filter of Data-Juicer 1.6.1, which downloads the tokenizer",
    "resources": {"loads": True},
    "params": {
        "hf_tokenizer": {
            "type": "file",
            "default": "EleutherAI/pythia-6.9b-deduped",
            "asset": "{hf_tokenizer}/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, a folder that contains one, or the name of a model on "
            "the Hub.",
        },
        "min_num": {"type": "int", "default": 10, "doc": "Fewest tokens."},
        "max_num": {"type": "int", "default": 9223372036854775807, "doc": "Most tokens."},
    },
    "stats": {"num_token": {"type": "BIGINT", "doc": "Tokens of the text."}},
    "bounds": {"num_token": ["min_num", "max_num"]},
    "checks": "check",
    "sql": "SELECT {{ feature('token_count', tokenizer=hf_tokenizer, special=false, unless='') }} AS num_token",
    "examples": [
        {
            "text": "one two one three",
            "params": {"hf_tokenizer": "tokenizer.json", "min_num": 4},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"num_token": 4},
            "keep": True,
        },
        {
            "text": "",
            "params": {"hf_tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"num_token": 0},
            "keep": False,
        },
        {"text": "", "params": {"hf_tokenizer": "missing.json"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return subwords.problems(params["hf_tokenizer"], "hf_tokenizer")
