"""Perplexity by the language models of CCNet, of texts that are prepared as it does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.models import kenlm_file
from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Measure the perplexity of each text by an n-gram model of KenLM over the pieces of a SentencePiece model. "
        "First the text is lowered, numbers become 0, accents and control characters (line ends, too) are dropped, "
        "and Unicode punctuation becomes ASCII. The result has one decimal. An empty text has the perplexity of an "
        "empty line. refinery downloads no model."
    ),
    "version": 1,
    "peer": "CCNetPerplexityStats of datatrove 0.10.1, which downloads the models of edugp/kenlm",
    "resources": {"loads": True},
    "params": {
        "model_dataset": {
            "type": "str",
            "default": "wikipedia",
            "doc": "Name of the models' training texts, in the name of the statistic. Only models of wikipedia are "
            "looked for.",
        },
        "language": {"type": "str", "default": "en", "doc": "Language of the models, in the names of their files."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{language}.arpa.bin",
            "needed": {"model_dataset": "wikipedia"},
            "doc": "Model of KenLM, as build_binary writes it.",
        },
        "tokenizer_model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{language}.sp.model",
            "needed": {"model_dataset": "wikipedia"},
            "doc": "SentencePiece model that cut the training texts of the model.",
        },
    },
    "stats": {
        "ccnet_perplexity_{model_dataset}_{language}": {"type": "DOUBLE", "doc": "Perplexity, rounded to one decimal."}
    },
    "checks": "check",
    "functions": {
        "ccnet_perplexity": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "python",
            "call": "ccnet_perplexity",
        }
    },
    "sql": """
        SELECT ccnet_perplexity({{ text }}, {{ tokenizer_model | lit }}, {{ model | lit }})
            AS {{ ('ccnet_perplexity_' ~ model_dataset ~ '_' ~ language) | ident }}
    """,
    "examples": [
        {
            "text": "The CÁT\n",
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
            "stats": {"ccnet_perplexity_wikipedia_en": 1.8},
            "keep": True,
        },
        {
            "text": "",
            "params": {
                "model": "en.arpa.bin",
                "tokenizer_model": "en.json",
                "model_dataset": "oscar",
                "language": "es",
            },
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
            "stats": {"ccnet_perplexity_oscar_es": 17.8},
            "keep": True,
        },
        {"text": "the cat", "params": {"model_dataset": "oscar"}, "error": True},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these models, as sentences that name the cure."""
    missing = [name for name in ("model", "tokenizer_model") if not params[name]]
    if missing:
        return [f"model_dataset {params['model_dataset']!r} needs {' and '.join(missing)}: set them to local files"]
    return kenlm_file.unusable(params["model"]) + subwords.unusable(params["tokenizer_model"], "tokenizer_model")


def ccnet_perplexity(column: pa.Array, tokenizer: str | None, model: str | None) -> pa.Array:
    """Perplexity of each text; NULL for NULL."""
    from refinery.kernels.models import ccnet, kenlm, pieces, sentencepiece

    if tokenizer is None or model is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.float64())
    texts = ccnet.normalize(column)
    if subwords.has_kernel(tokenizer):
        cut = sentencepiece.pieces(texts, tokenizer)
    else:
        cut = pieces.split_by(texts, subwords.pieces(tokenizer))
    return kenlm.perplexity(cut.field("joined"), model, only_line_feeds=True)
