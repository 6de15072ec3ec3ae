"""Filter on the share of text in HTML."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Keep samples of HTML in which the text, without scripts and styles, has at least min_lang_content_ratio of the "
        "characters. A page with less than min_lang_content_num_chars characters of text has 0. The text is that of "
        "BeautifulSoup with Python's html.parser. An empty page is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "HTMLBoilerplateFilter of NeMo Curator",
    "needs": {"bs4": "code"},
    "params": {
        "min_lang_content_ratio": {"type": "float", "default": 0.2, "doc": "Smallest share."},
        "min_lang_content_num_chars": {"type": "int", "default": 100, "doc": "Fewest characters of text."},
    },
    "stats": {
        "html_boilerplate": {"type": "DOUBLE", "doc": "Characters of text per character; NULL for an empty page."}
    },
    "bounds": {"html_boilerplate": ["min_lang_content_ratio", None]},
    "functions": {
        "html_text_chars": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "python",
            "call": "html_text_chars",
        }
    },
    "sql": """
        SELECT html_text_chars({{ text }}) AS _chars,
            CASE WHEN length({{ text }}) = 0 THEN NULL WHEN _chars < {{ min_lang_content_num_chars | lit }} THEN 0
                ELSE _chars / length({{ text }}) END AS html_boilerplate
    """,
    "examples": [
        {
            "text": "<p>A text</p><script>x = 1</script>",
            "params": {"min_lang_content_num_chars": 5},
            "stats": {"html_boilerplate": 0.17142857142857143},
            "keep": False,
        },
        {"text": "<p>A short text</p>", "stats": {"html_boilerplate": 0.0}, "keep": False},
        {
            "text": "a < b &amp; c<!-- no --> <b>d",
            "params": {"min_lang_content_num_chars": 0},
            "stats": {"html_boilerplate": 0.3793103448275862},
            "keep": True,
        },
        {"text": "", "stats": {"html_boilerplate": None}, "keep": False},
    ],
}


def html_text_chars(column: pa.Array) -> pa.Array:
    """Characters of the text of each page; NULL for NULL, and for a page that cannot be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts that look like a path or an address
        return pa.array([None if page is None else _chars(page) for page in column.to_pylist()], pa.int64())


def _chars(page: str) -> int | None:
    from bs4 import BeautifulSoup

    try:
        soup: Any = BeautifulSoup(page, features="html.parser")
    except (TypeError, UnboundLocalError):
        return None
    for part in soup(["script", "style"]):
        part.extract()
    return len(soup.get_text())
