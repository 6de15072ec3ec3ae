"""Removal of lines that count likes, views and the like."""

from __future__ import annotations

import re

import pyarrow as pa

from refinery.kernels.core.arrow import each

OPERATOR = {
    "doc": (
        "Remove the lines that only count likes, shares, comments, retweets, reposts, quotes, bookmarks, upvotes, downvotes, "
        "downloads, views or followers, such as `1.2K Followers`, strip the text, and remove samples whose text is then empty."
    ),
    "version": 1,
    "peer": "counter_line_modifier of DCLM",
    "params": {},
    "functions": {
        "counter_lines_delta": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_counters",
        },
    },
    "sql": """
        SELECT
          CASE WHEN regexp_matches({{ text }}, '(?i)likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views|followers')
            THEN counter_lines_delta({{ text }}) ELSE {{ feature("tidy_lines", drop_blank=false) }} END AS _delta,
          _delta AS delta,
          coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "A post\n10 Likes!\n1.2K   followers\n\n3 comments", "out": "A post", "keep": True},
        {
            "text": "1,234 followers today\nviews: 12\n5 view ",
            "out": "1,234 followers today\nviews: 12\n5 view",
            "keep": True,
        },
        {"text": "\u0663 views\n\u00a05likes", "out": "5likes", "keep": True},
        {"text": "7 Li\u212aES", "keep": False},
        {"text": "", "keep": False},
    ],
}

_WORDS = "likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views|followers"
_COUNTER = re.compile(rf"\W*\d[\d,.]*[kmb]?\s+(?:{_WORDS})\W*")


def without_counters(column: pa.Array) -> pa.Array:
    """Each text without lines of counters, stripped; NULL where nothing changes."""
    return each(column, _lines)


def _lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not _COUNTER.fullmatch(line.lower())).strip()
