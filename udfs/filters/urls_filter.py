"""Filter on the share of characters in addresses."""

from __future__ import annotations

from refinery.kernels.text.url_matches import check, url_chars

__all__ = ["check", "url_chars"]

OPERATOR = {
    "doc": (
        "Keep samples in which at most max_url_to_text_ratio of the characters are in addresses: http:// or https:// and the "
        "characters of an address in ASCII after it. An empty text has 1."
    ),
    "version": 1,
    "peer": "UrlsFilter of NeMo Curator",
    "params": {
        "max_url_to_text_ratio": {"type": "float", "default": 0.2, "doc": "Largest share."},
        "url_regex": {
            "type": "regex",
            "default": None,
            "nullable": True,
            "doc": "Regular expression of Python for an address; of a pattern with a group, the group counts.",
        },
    },
    "stats": {"urls_ratio": {"type": "DOUBLE", "doc": "Share of the characters that are in addresses."}},
    "bounds": {"urls_ratio": [None, "max_url_to_text_ratio"]},
    "checks": "check",
    "functions": {
        "url_chars": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "url_chars",
        }
    },
    "sql": """
        SELECT {% if url_regex is none %}
            coalesce(list_sum(list_transform({{ feature('http_urls') }}, lambda u: length(u))), 0)
            {% else %}url_chars({{ text }}, {{ url_regex | lit }}){% endif %} AS _chars,
            coalesce(_chars / nullif(length({{ text }}), 0), 1) AS urls_ratio
    """,
    "examples": [
        {"text": "see https://a.bc/d now", "stats": {"urls_ratio": 0.6363636363636364}, "keep": False},
        {"text": "http:// www.example.org ftp://a.bc", "stats": {"urls_ratio": 0.0}, "keep": True},
        {"text": "http://é.fr http://a%2 b", "stats": {"urls_ratio": 0.3333333333333333}, "keep": False},
        {
            "text": "http://é.fr or so, they say now and then; not a word is true",
            "params": {"url_regex": r"https?://[^\s]+"},
            "stats": {"urls_ratio": 0.18333333333333332},
            "keep": True,
        },
        {"text": "", "stats": {"urls_ratio": 1.0}, "keep": False},
    ],
}
