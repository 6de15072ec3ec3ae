"""Remove words that contain certain substrings; a kernel over the UTF-8 bytes, or a tokenizer's pieces in Python."""

from __future__ import annotations

import json

import pyarrow as pa

from refinery.kernels.core import arrow
from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Remove words that contain one of the substrings, in this letter case. Special characters at the ends of a "
        "word are not searched, so `//` and `.com` alone stay, and so does WWW. White space is normalised as in "
        "remove_long_words_mapper, also in texts that lose no word. With tokenization, pieces are removed in place "
        "of words, and the remaining pieces are joined without spaces; a text that loses no piece is not changed."
    ),
    "version": 1,
    "peer": "remove_words_with_incorrect_substrings_mapper of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {"type": "str", "default": "en", "doc": "Language of the tokenizer to look for."},
        "tokenization": {"type": "bool", "default": False, "doc": "Examine a tokenizer's pieces in place of words."},
        "substrings": {
            "type": "list[str]",
            "default": ["http", "www", ".com", "href", "//"],
            "nullable": True,
            "doc": "Substrings of the words to remove; null means the default, and an empty string is in every word.",
        },
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.sp.model",
            "needed": "tokenization",
            "doc": "Tokenizer for tokenization: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
    },
    "checks": "check",
    "functions": {
        "remove_words_with": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "remove_words_with",
        },
        "remove_pieces_with": {
            "columns": ["VARCHAR", "VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "remove_pieces_with",
        },
    },
    "sql": """
        SELECT
        {% if tokenization %}
        {% set pieces = feature('pieces', model=model) %}
        remove_pieces_with({{ text }}, {{ pieces }}.joined, {{ pieces }}.ends,
        {% else %}remove_words_with({{ text }},
        {% endif %}
        CAST(to_json({{ substrings | lit }}) AS VARCHAR)) AS delta
    """,
    "examples": [
        {"text": "see https://a.org or a.com/x now", "out": "see or now"},
        {"text": "// .com WWW.A.ORG href=x", "out": "// .com WWW.A.ORG"},
        {"text": "two  spaces\n\n\tgo", "out": "two spaces\ngo"},
        {"text": "cat concat dog", "params": {"substrings": ["cat"]}, "out": "dog"},
        {"text": "a-b -a- 的1的x", "params": {"substrings": ["-", "1的"]}, "out": "-a-"},
        {"text": "x y", "params": {"substrings": []}, "out": "x y"},
    ],
}

WORD_START = "\u2581"  # the space in a SentencePiece piece


check = subwords.check


def remove_words_with(column: pa.Array, substrings: str | None) -> pa.Array:
    """Each text without the words that contain one of the substrings (a JSON list); NULL where nothing changes."""
    from refinery.kernels.words import word_removal  # imports numpy and Arrow, which check() does not need

    return word_removal.remove_words_with(column, _list(substrings))


def remove_pieces_with(column: pa.Array, joined: pa.Array, ends: pa.Array, substrings: str | None) -> pa.Array:
    """Each text without the pieces that contain one of the substrings (a JSON list); NULL where no piece does.

    joined, ends: the pieces of each text, as of the feature pieces.
    """
    from refinery.kernels.models.pieces import cut

    unwanted = _list(substrings)

    def without(text: str, pieces: list[str]) -> str | None:
        stays = [piece for piece in pieces if not any(s in subwords.strip(piece) for s in unwanted)]
        changed = "".join(stays) if len(stays) < len(pieces) else text
        return None if changed == text else changed

    rows = zip(column.to_pylist(), joined.to_pylist(), ends.to_pylist(), strict=True)
    bare = ((text, [piece.replace(WORD_START, "") for piece in cut(its or "", places)]) for text, its, places in rows)
    return arrow.of_texts([None if text is None else without(text, pieces) for text, pieces in bare])


def _list(substrings: str | None) -> list[str]:
    return OPERATOR["params"]["substrings"]["default"] if substrings is None else json.loads(substrings)  # type: ignore[index]
