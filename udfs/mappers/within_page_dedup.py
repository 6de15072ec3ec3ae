"""Removal of lines or paragraphs that occurred before in the text."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import each

OPERATOR = {
    "doc": (
        "Remove the lines, or paragraphs between two line feeds, that are equal to an earlier one of the text. With normalize, "
        "they are compared stripped and in lower case; blank ones (without it, empty ones) stay. No sample is removed."
    ),
    "version": 1,
    "peer": "within_page_dedup of DCLM",
    "params": {
        "granularity": {"type": "str", "default": "line", "choices": ["line", "paragraph"], "doc": "What is compared."},
        "normalize": {
            "type": "bool",
            "default": True,
            "doc": "Compare without white space at the ends and letter case.",
        },
    },
    "functions": {
        "page_dedup_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_copies",
        }
    },
    "sql": """
        {% set end = "\\n" if granularity == "line" else "\\n\\n" %}
        SELECT CASE WHEN contains({{ text }}, {{ end | lit }})
            THEN page_dedup_delta({{ text }}, {{ end | lit }}, {{ normalize | lit }}) END AS delta
    """,
    "examples": [
        {"text": "Home\n\n home \nNews\n\nHome", "out": "Home\n\nNews\n"},
        {"text": "a\nA\n \n \na", "params": {"normalize": False}, "out": "a\nA\n "},
        {"text": "a\nb\n\nB\n\na\nb \n\n\n\n", "params": {"granularity": "paragraph"}, "out": "a\nb\n\nB\n\n\n\n"},
        {"text": "", "out": ""},
    ],
}


def without_copies(column: pa.Array, end: str | None, normalize: bool) -> pa.Array:
    """Each text without later copies of its pieces; NULL where nothing changes."""
    return each(column, lambda text: _distinct(text, end or "\n", normalize))


def _distinct(text: str, end: str, normalize: bool) -> str:
    seen, kept = set[str](), list[str]()
    for piece in text.split(end):
        key = piece.strip().lower() if normalize else piece
        if not key or key not in seen:
            kept.append(piece)
            seen.add(key)
    return end.join(kept)
