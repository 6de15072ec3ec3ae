"""Number of tokens of a text: from a column, or by a local tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Measure the number of tokens of each text: the value of the column tokens_key, or else the count of a local "
        "tokenizer, including its special tokens; NULL without either. A value that is not a whole number counts as "
        "missing."
    ),
    "version": 1,
    "peer": "TokenStats of datatrove 0.10.1, which downloads GPT-2's tokenizer if none is named",
    "resources": {"loads": {"tokenizer_name_or_path": True}},
    "params": {
        "tokenizer_name_or_path": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{tokenizer_name_or_path}/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, a folder that contains one, or the name of a model on "
            "the Hub.",
        },
        "tokens_key": {
            "type": "str",
            "default": "token_count",
            "nullable": True,
            "doc": "Column with the number of tokens; null: no column.",
        },
    },
    "stats": {"token_count": {"type": "BIGINT", "doc": "Tokens."}},
    "checks": "check",
    "sql": """
        {% set given = field(tokens_key) if tokens_key %}
        {% set known = "CASE WHEN TRY_CAST(" ~ given ~ " AS DOUBLE) % 1 = 0 THEN TRY_CAST(" ~ given ~ " AS BIGINT) END"
            if tokens_key else "" %}
        SELECT
          {% if tokenizer_name_or_path %}
          {% set counted = feature("token_count", tokenizer=tokenizer_name_or_path, special=true, unless=known) %}
          {{ "coalesce(" ~ known ~ ", " ~ counted ~ ")" if known else counted }} AS token_count
          {% else %}
          {{ known or "NULL::BIGINT" }} AS token_count
          {% endif %}
    """,
    "examples": [
        {"text": "Some words.", "fields": {"token_count": 3}, "stats": {"token_count": 3}, "keep": True},
        {
            "text": "Some words.",
            "fields": {"n": 2.0},
            "params": {"tokens_key": "n"},
            "stats": {"token_count": 2},
            "keep": True,
        },
        {"text": "Some words.", "fields": {"token_count": 2.5}, "stats": {"token_count": None}, "keep": True},
        {
            "text": "one two one",
            "params": {"tokenizer_name_or_path": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"one": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"token_count": 3},
        },
        {"text": "", "params": {"tokenizer_name_or_path": "missing.json"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    path = params["tokenizer_name_or_path"]
    if not path:
        return (
            [] if params["tokens_key"] else ["there is neither tokens_key nor tokenizer_name_or_path: give one of them"]
        )
    return subwords.problems(path, "tokenizer_name_or_path")
