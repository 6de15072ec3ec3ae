"""Filter on the share of comments in code of several languages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Keep samples in which the texts of comments, joined by blanks, have a share of the characters of code in "
        "[min_comment_to_code_ratio, max_comment_to_code_ratio]. Marks such as // do not count. Code that the package "
        "comment-parser cannot parse has 9999. An empty text is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "GeneralCommentToCodeFilter of NeMo Curator",
    "needs": {"comment_parser": "code"},
    "params": {
        "language": {
            "type": "str",
            "choices": [
                "application/javascript",
                "text/html",
                "text/x-c",
                "text/x-c++",
                "text/x-go",
                "text/x-java",
                "text/x-java-source",
                "text/x-javascript",
                "text/x-python",
                "text/x-ruby",
                "text/x-script.python",
                "text/x-shellscript",
                "text/xml",
            ],
            "doc": "Language, by its MIME type.",
        },
        "min_comment_to_code_ratio": {"type": "float", "default": 0.01, "doc": "Smallest share."},
        "max_comment_to_code_ratio": {"type": "float", "default": 0.85, "doc": "Largest share."},
    },
    "stats": {
        "comment_ratio": {"type": "DOUBLE", "doc": "Characters of comments per character; NULL for an empty text."}
    },
    "bounds": {"comment_ratio": ["min_comment_to_code_ratio", "max_comment_to_code_ratio"]},
    "functions": {
        "comment_chars": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "comment_chars",
        }
    },
    "sql": """
        SELECT comment_chars({{ text }}, {{ language | lit }}) AS _chars,
            CASE WHEN _chars < 0 THEN 9999 ELSE _chars / nullif(length({{ text }}), 0) END AS comment_ratio
    """,
    "examples": [
        {
            "text": "int x; // tail\n/* block */\n",
            "params": {"language": "text/x-c"},
            "stats": {"comment_ratio": 0.4814814814814815},
            "keep": True,
        },
        {
            "text": "x=1 # one\n",
            "params": {"language": "text/x-python"},
            "stats": {"comment_ratio": 0.4},
            "keep": True,
        },
        {
            "text": "int x; /* open",
            "params": {"language": "text/x-c++"},
            "stats": {"comment_ratio": 9999.0},
            "keep": False,
        },
        {"text": "", "params": {"language": "text/x-c"}, "stats": {"comment_ratio": None}, "keep": False},
    ],
}


def comment_chars(column: pa.Array, language: str) -> pa.Array:
    """Characters of the comments of each text, -1 for one that cannot be parsed; NULL for NULL."""
    from comment_parser import comment_parser

    def count(text: str) -> int:
        try:
            comments: list[Any] = comment_parser.extract_comments_from_str(text, mime=language)
        except Exception:  # whatever a parser raises is an answer
            return -1
        return len(" ".join(comment.text() for comment in comments))

    return pa.array([None if text is None else count(text) for text in column.to_pylist()], pa.int64())
