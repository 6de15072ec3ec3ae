"""Filter on the language of a text and its score, by fastText's model for 176 languages."""

from __future__ import annotations

from typing import Any

from refinery.kernels.models import fasttext

OPERATOR = {
    "doc": (
        "Keep samples in one of the languages `lang` with a score of at least min_score. A fastText model gives the "
        "language of the lowered text and its score; line feeds separate words like spaces. With the published "
        "model, a score can slightly exceed 1. An empty text has a language, too, that of the end of a line. The "
        "model is lid.176.bin as in Data-Juicer, or any other supervised model (lid.176.ftz has 0.9 MB); refinery "
        "downloads none."
    ),
    "version": 1,
    "peer": "language_id_score_filter of Data-Juicer 1.6.1",
    "resources": {"loads": True},
    "params": {
        "lang": {
            "type": "str_or_list",
            "default": "",
            "nullable": True,
            "doc": "Language, or list of them, such as en or zh; empty or null: any language.",
        },
        "min_score": {"type": "float", "default": 0.8, "doc": "Smallest score."},
        "max_score": {"type": "float", "default": 9223372036854775807, "doc": "Largest score; Data-Juicer has none."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "lid.176.bin",
            "doc": "Supervised model of fastText (.bin or .ftz), whose labels are languages.",
        },
    },
    "stats": {
        "lang": {"type": "VARCHAR", "doc": "Language with the highest score."},
        "lang_score": {"type": "DOUBLE", "most": 1, "doc": "Its score."},
    },
    "bounds": {"lang_score": ["min_score", "max_score"]},
    "checks": "check",
    "sql": """
        {% set found = feature("fasttext", model=model, k=1, labels="", lower=true, newline=" ", strip=false) %}
        SELECT {{ found }}.label AS lang, {{ found }}.score AS lang_score
        {% if lang %}
        , lang IN ({% for name in ([lang] if lang is string else lang) %}{{ ", " if not loop.first }}{{ name | lit }}{% endfor %}) AS keep
        {% endif %}
    """,
    "examples": [
        {
            "text": "The the",
            "params": {"model": "lid.176.bin", "lang": "en"},
            "files": {
                "lid.176.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"lang": "en", "lang_score": 0.9820237755775452},
            "keep": True,
        },
        {
            "text": "der\ntag",
            "params": {"model": "lid.176.bin", "lang": ["en", "fr"], "min_score": 0.5},
            "files": {
                "lid.176.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"lang": "de", "lang_score": 0.9525841474533081},
            "keep": False,
        },
        {
            "text": "",
            "params": {"model": "lid.176.bin", "min_score": 0.0},
            "files": {
                "lid.176.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"lang": "de", "lang_score": 0.5000100135803223},
            "keep": True,
        },
        {
            "text": "Der THE the the",
            "params": {"model": "lid.176.bin", "lang": "", "min_score": 0.95},
            "files": {
                "lid.176.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fGpeXBBRrhgCkIbI5zFxIABHBgYGvYD6QNA2h6uAKEQKAhWAMb2ANgQIAs="
                    )
                }
            },
            "stats": {"lang": "en", "lang_score": 0.9168373346328735},
            "keep": False,
        },
        {"text": "the", "params": {"model": "lid.176.bin"}, "files": {"lid.176.bin": "no model"}, "error": True},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with this model, as sentences that name the cure."""
    return fasttext.problems(params["model"])
