"""Filter on perplexity by an n-gram model of KenLM; a kernel scores the pieces of a text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.models import kenlm_file
from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples whose perplexity lies in [min_ppl, max_ppl]. A SentencePiece model cuts the text into pieces, "
        "which are the words of an n-gram model of KenLM, in its binary format. The perplexity is computed from the "
        "mean of the logarithms of their probabilities; the end of the text counts as one piece. The result has one "
        "decimal. An empty text has 0. Texts are not lowered, and numbers are left as they are. refinery downloads "
        "no model."
    ),
    "version": 1,
    "peer": "perplexity_filter of Data-Juicer 1.6.1",
    "resources": {"loads": True},
    "params": {
        "lang": {"type": "str", "default": "en", "doc": "Language of the models, in the names of their files."},
        "min_ppl": {"type": "float", "default": 0, "doc": "Smallest perplexity."},
        "max_ppl": {"type": "float", "default": 1500, "doc": "Largest perplexity."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.arpa.bin",
            "doc": "Model of KenLM: hash tables or any kind of trie, as build_binary writes them.",
        },
        "tokenizer_model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.sp.model",
            "doc": "SentencePiece model, or tokenizer.json, that cut the training texts of the model.",
        },
    },
    "stats": {"perplexity": {"type": "DOUBLE", "doc": "Perplexity, rounded to one decimal."}},
    "bounds": {"perplexity": ["min_ppl", "max_ppl"]},
    "checks": "check",
    "functions": {
        "perplexity": {
            "columns": ["BLOB", "VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "perplexity",
        }
    },
    "sql": """
        {% set pieces = feature('numbered_pieces', model=tokenizer_model) %}
        SELECT perplexity({{ pieces }}.numbers, {{ pieces }}.joined, {{ tokenizer_model | lit }}, {{ model | lit }}) AS perplexity
    """,
    "examples": [
        {
            "text": "the cat",
            "params": {"model": "en.arpa.bin", "tokenizer_model": "en.json"},
            "files": {
                "en.arpa.bin": {
                    "zlib": (
                        "eNrLzU0sUMjJVcgoKSmw0tfPzkhNTMtMzUnRS87P1U/OT0lVSMsvyk0sUShLLSrOzM9TMOViQIAGeyCxnxFI/AcCkA"
                        "gjVIYJTB6wZ4LyQeKsUDYzkgksULqgTnGvZVspA1fO94+1xQ+y9+9sf+78gLNce9FTqTXq1kuQtBwAWYzgHjsE5O5D"
                        "ctN+VHmH/SB5RoQAmM/EgAqYGbADoPgXQQaGC+JAg+SRJQBlZjSe"
                    )
                },
                "en.json": {
                    "model": {"type": "WordLevel", "vocab": {"the": 0, "cat": 1, "?": 2}, "unk_token": "?"},
                    "pre_tokenizer": {"type": "Whitespace"},
                },
            },
            "stats": {"perplexity": 1.8},
            "keep": True,
        },
        {
            "text": "cat the\ndog",
            "params": {"model": "en.arpa.bin", "tokenizer_model": "en.json", "max_ppl": 10},
            "files": {
                "en.arpa.bin": {
                    "zlib": (
                        "eNrLzU0sUMjJVcgoKSmw0tfPzkhNTMtMzUnRS87P1U/OT0lVSMsvyk0sUShLLSrOzM9TMOViQIAGeyCxnxFI/AcCkA"
                        "gjVIYJTB6wZ4LyQeKsUDYzkgksULqgTnGvZVspA1fO94+1xQ+y9+9sf+78gLNce9FTqTXq1kuQtBwAWYzgHjsE5O5D"
                        "ctN+VHmH/SB5RoQAmM/EgAqYGbADoPgXQQaGC+JAg+SRJQBlZjSe"
                    )
                },
                "en.json": {
                    "model": {"type": "WordLevel", "vocab": {"the": 0, "cat": 1, "?": 2}, "unk_token": "?"},
                    "pre_tokenizer": {"type": "Whitespace"},
                },
            },
            "stats": {"perplexity": 17.8},
            "keep": False,
        },
        {
            "text": "",
            "params": {"model": "en.arpa.bin", "tokenizer_model": "en.json", "min_ppl": 1},
            "files": {
                "en.arpa.bin": {
                    "zlib": (
                        "eNrLzU0sUMjJVcgoKSmw0tfPzkhNTMtMzUnRS87P1U/OT0lVSMsvyk0sUShLLSrOzM9TMOViQIAGeyCxnxFI/AcCkA"
                        "gjVIYJTB6wZ4LyQeKsUDYzkgksULqgTnGvZVspA1fO94+1xQ+y9+9sf+78gLNce9FTqTXq1kuQtBwAWYzgHjsE5O5D"
                        "ctN+VHmH/SB5RoQAmM/EgAqYGbADoPgXQQaGC+JAg+SRJQBlZjSe"
                    )
                },
                "en.json": {
                    "model": {"type": "WordLevel", "vocab": {"the": 0, "cat": 1, "?": 2}, "unk_token": "?"},
                    "pre_tokenizer": {"type": "Whitespace"},
                },
            },
            "stats": {"perplexity": 0.0},
            "keep": False,
        },
        {"text": "the cat", "params": {"model": "missing.arpa.bin"}, "error": True},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these models, as sentences that name the cure."""
    return kenlm_file.unusable(params["model"]) + subwords.unusable(params["tokenizer_model"], "tokenizer_model")


def perplexity(numbers: pa.Array, joined: pa.Array, tokenizer: str | None, model: str | None) -> pa.Array:
    """Perplexity of each text, given by the numbers of its pieces or by its joined pieces; NULL for NULL."""
    from refinery.kernels.models import kenlm_pieces  # imports numpy and Arrow, which check() does not need

    return kenlm_pieces.perplexity(numbers, joined, tokenizer, model)
