"""Turn HTML into its text, as Data-Juicer does with the lexbor parser."""

from __future__ import annotations

import pyarrow as pa
from selectolax.lexbor import LexborHTMLParser

from refinery.kernels.core.arrow import each

OPERATOR = {
    "doc": (
        "Replace HTML by its text. The tags <li> and <ol>, in lower case and without attributes, first become a "
        "newline and a star; then the text is parsed as a whole HTML document and the text of all its nodes joined "
        "without separators, title, style and script included. By the rules of HTML, white space before the first "
        "content is removed, CR LF and CR become LF, NUL is removed, and entities are decoded; a <T> in source code "
        "is a tag."
    ),
    "version": 1,
    "peer": "clean_html_mapper of Data-Juicer 1.6.1 (results follow the release of selectolax; matched with 1.0.2)",
    "params": {},
    "functions": {
        "clean_html_delta": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "clean_html",
        }
    },
    # Only a tag, comment or declaration, a character reference, CR, NUL or white space at the start can change a text:
    # without them the tokenizer passes on every character, and the tree is one text node in the body.
    "sql": r"""
        SELECT CASE WHEN regexp_matches({{ text }}, '<[A-Za-z/!?]|&[A-Za-z#]|[\r\x00]|\A[\t\n\f ]')
            THEN clean_html_delta({{ text }}) END AS delta
    """,
    "examples": [
        {"text": "<p>Fish &amp; <b>chips</b></p>", "out": "Fish & chips"},
        {"text": "to do<ol><li>one</li><li class='x'>two</li></ol>", "out": "to do\n*\n*onetwo"},
        {"text": "<title>T</title><script>var a;</script><body>b", "out": "Tvar a;b"},
        {"text": "std::vector<int> v; // a < b && c", "out": "std::vector v; // a < b && c"},
        {"text": "  a\r\nb", "out": "a\nb"},
        {"text": " \n", "out": ""},
        {"text": "AT&T, 1 < 2, x<y>z", "out": "AT&T, 1 < 2, xz"},
        {"text": "see <https://example.org>", "out": "see "},
    ],
}

BULLETS = (("<li>", "\n*"), ("</li>", ""), ("<ol>", "\n*"), ("</ol>", ""))


def clean_html(column: pa.Array) -> pa.Array:
    """Text of each HTML document; NULL where nothing changes."""
    return each(column, html_text)


def html_text(text: str) -> str:
    """Text of an HTML document, with list items marked by a star."""
    for tag, mark in BULLETS:
        text = text.replace(tag, mark)
    return LexborHTMLParser(text).text()
