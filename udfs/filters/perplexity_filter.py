"""Filter on perplexity by an n-gram model of KenLM; a kernel scores the pieces of a text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples whose perplexity lies in [min_ppl, max_ppl]. Pieces of the text by a SentencePiece model are the "
        "words of an n-gram model of KenLM, in its binary format. The logarithms of the probabilities of all pieces are "
        "added up, and divided by their number, where the end of the text counts as one. The result has one decimal. "
        "An empty text has 0. Texts are not lowered, and numbers are left as they are. refinery downloads no model."
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
            "doc": "Model of KenLM: hash tables or any kind of trie, as build_binary writes them.",
        },
        "tokenizer_model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "SentencePiece model, or tokenizer.json, by which the texts that the model has learned were cut.",
        },
    },
    "stats": {"perplexity": {"type": "DOUBLE", "doc": "Perplexity, rounded to one decimal."}},
    "bounds": {"perplexity": ["min_ppl", "max_ppl"]},
    "checks": "check",
    "functions": {
        "perplexity": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "perplexity",
        }
    },
    "sql": """
        SELECT perplexity({{ feature('pieces', model=tokenizer_model) }}.joined, {{ model | lit }}) AS perplexity
    """,
    "examples": [],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these models, as sentences that name the cure."""
    from refinery.kernels.models.kenlm_file import unusable

    tokenizer, found = params["tokenizer_model"], []
    for name, file in (("tokenizer_model", "sp.model"), ("model", "arpa.bin")):
        if not params[name]:
            found.append(
                f"perplexity needs models; Data-Juicer would download {params['lang']}.{file}, refinery downloads "
                f"nothing: set {name} to a local copy of that file"
            )
    return [*found, *(subwords.unusable(tokenizer, "tokenizer_model") if tokenizer else []), *unusable(params["model"])]


def perplexity(column: pa.Array, model: str | None) -> pa.Array:
    """Perplexity of each text of pieces; NULL for NULL."""
    from refinery.kernels.models import kenlm  # imports numba, which check() does not need

    return kenlm.perplexity(column, model)
