"""Filter on the share of letters and digits, by character or by token of a Hugging Face tokenizer."""

from __future__ import annotations

from typing import Any

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples in which the share of alphanumeric characters (str.isalnum) lies in [min_ratio, max_ratio]. "
        "Number forms such as ½, ² and Ⅷ count, combining marks do not. With tokenization the statistic is letters "
        "(str.isalpha) per token, which can exceed 1. An empty text has 0."
    ),
    "version": 1,
    "peer": "alphanumeric_filter of Data-Juicer 1.6.1, with the tokenizer of EleutherAI/pythia-6.9b-deduped",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "tokenization": {"type": "bool", "default": False, "doc": "Count letters per token, not characters."},
        "min_ratio": {"type": "float", "default": 0.25, "doc": "Smallest ratio."},
        "max_ratio": {"type": "float", "default": 9223372036854775807, "doc": "Largest ratio."},
        "tokenizer": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "EleutherAI/pythia-6.9b-deduped/tokenizer.json",
            "needed": "tokenization",
            "doc": "With tokenization: path of a tokenizer.json, or of a folder that contains one.",
        },
    },
    "stats": {
        "alnum_ratio": {"type": "DOUBLE", "most": 1, "doc": "Letters and digits per character."},
        "alpha_token_ratio": {"type": "DOUBLE", "doc": "With tokenization: letters per token."},
    },
    "bounds": {"alnum_ratio": ["min_ratio", "max_ratio"], "alpha_token_ratio": ["min_ratio", "max_ratio"]},
    "checks": "check",
    "sql": """
        {% set counts = feature('profile') %}
        {% if tokenization %}
        SELECT CASE WHEN {{ text }} IS NOT NULL THEN coalesce(
            {{ counts }}.alpha::DOUBLE / nullif({{ feature('token_count', tokenizer=tokenizer, special=false, unless='') }}, 0), 0
        ) END AS alpha_token_ratio
        {% else %}
        SELECT CASE WHEN {{ counts }}.chars = 0 THEN 0::DOUBLE
            ELSE {{ counts }}.alnum::DOUBLE / {{ counts }}.chars END AS alnum_ratio
        {% endif %}
    """,
    "examples": [
        {"text": "abc.", "stats": {"alnum_ratio": 0.75}, "keep": True},
        {"text": "--- 1 ---", "stats": {"alnum_ratio": 0.1111111111111111}, "keep": False},
        {"text": "½²Ⅷ①!", "stats": {"alnum_ratio": 0.8}, "keep": True},
        {"text": "日本語。", "params": {"min_ratio": 0.8}, "stats": {"alnum_ratio": 0.75}, "keep": False},
        {"text": "नमस्ते", "params": {"max_ratio": 0.7}, "stats": {"alnum_ratio": 0.6666666666666666}, "keep": True},
        {"text": "", "stats": {"alnum_ratio": 0.0}, "keep": False},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent `tokenization` with this tokenizer, as sentences that name the cure."""
    if not params["tokenization"]:
        return []
    if not params["tokenizer"]:
        return [
            "tokenization: true needs a tokenizer; Data-Juicer would download that of EleutherAI/pythia-6.9b-deduped, "
            "refinery downloads nothing: set tokenizer to a local tokenizer.json or its folder"
        ]
    return subwords.problems(params["tokenizer"], "tokenizer")
