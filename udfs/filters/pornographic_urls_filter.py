"""Filter on addresses of pornography."""

from __future__ import annotations

from refinery.kernels.text.url_matches import check, has_match_with

__all__ = ["check", "has_match_with"]

OPERATOR = {
    "doc": "Remove samples with an address, as in urls_filter, that holds `porn`, in lower case.",
    "version": 1,
    "peer": "PornographicUrlsFilter of NeMo Curator",
    "params": {
        "url_regex": {
            "type": "regex",
            "default": None,
            "nullable": True,
            "doc": "Regular expression of Python for an address; of a pattern with a group, the group counts.",
        },
    },
    "stats": {"pornographic_urls": {"type": "BIGINT", "most": 1, "doc": "1 with such an address; else 0."}},
    "checks": "check",
    "functions": {
        "has_match_with": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "BOOLEAN",
            "runs": "python",
            "call": "has_match_with",
        }
    },
    "sql": """
        SELECT {% if url_regex is none %}
            list_aggregate(list_transform({{ feature('http_urls') }}, lambda u: contains(u, 'porn')), 'bool_or')
            {% else %}has_match_with({{ text }}, {{ url_regex | lit }}, 'porn'){% endif %} AS _found,
            coalesce(_found, false)::BIGINT AS pornographic_urls,
            pornographic_urls < 1 AS keep_pornographic_urls
    """,
    "examples": [
        {"text": "see http://porn.example/a", "stats": {"pornographic_urls": 1}, "keep": False},
        {"text": "porn at http://a.bc www.porn.org http://Porn.org", "stats": {"pornographic_urls": 0}, "keep": True},
        {
            "text": "www.porn.org",
            "params": {"url_regex": r"www\.\S+"},
            "stats": {"pornographic_urls": 1},
            "keep": False,
        },
        {"text": "", "stats": {"pornographic_urls": 0}, "keep": True},
    ],
}
