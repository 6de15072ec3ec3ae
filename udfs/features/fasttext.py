"""Labels of a text by a supervised model of fastText, for all steps that ask the same of it."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.models import fasttext

FEATURE = {
    "doc": (
        "Label of a text by a supervised model of fastText. label: the best one, without __label__; score: its probability as "
        "the library's float32; both NULL where the model knows nothing of the text. scores: of `labels`, names separated by "
        "spaces; NULL for one that is not among the best k. k: -1 for all. lower: apply str.lower first. newline: text in "
        "place of each line feed. strip: apply str.strip first; blank is true for a text that is empty then."
    ),
    "version": 2,
    "params": ["model", "k", "labels", "lower", "newline", "strip"],
    "functions": {
        "fasttext_labels": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT", "VARCHAR", "BOOLEAN"],
            "returns": "STRUCT(label VARCHAR, score DOUBLE, scores DOUBLE[])",
            "runs": "kernel",
            "call": "fasttext_labels",
        }
    },
    # fastText separates words at line feeds and spaces alike.
    "sql": """
        {% set spaces = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000" %}
        {% set line = text %}
        {% if strip %}{% set line = "trim(" ~ line ~ ", " ~ (spaces | lit) ~ ")" %}{% endif %}
        {% if newline != " " %}{% set line = "replace(" ~ line ~ ", chr(10), " ~ (newline | lit) ~ ")" %}{% endif %}
        struct_insert(
          fasttext_labels({{ line }}, {{ model | lit }}, {{ k }}, {{ labels | lit }}, {{ lower | lit }}),
          blank := {{ ("length(" ~ line ~ ") = 0") if strip else "false" }}
        )
    """,
}


def fasttext_labels(column: pa.Array, model: str | None, k: int, labels: str, lower: bool) -> pa.Array:
    """Best label and scores of each text; NULL for NULL."""
    return fasttext.best_labels(column, model, lower, k, labels.split())
