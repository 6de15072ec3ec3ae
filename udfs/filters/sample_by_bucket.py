"""Keep a share of the samples of each bucket, chosen by their contents."""

from __future__ import annotations

from typing import Any

OPERATOR = {
    "doc": (
        "Keep a share of the samples of each bucket, chosen by their contents as sampler_filter chooses them: equal texts have "
        "the same verdict in every run, and higher shares keep more of the same samples. `shares` is a mapping of buckets to shares, or "
        "a list with the shares of the buckets 1, 2 and so on; `others` is the share of all other buckets, and of "
        "samples without a bucket. A bucket may be any value, such as a label of a classifier. A share above 1 repeats "
        "samples: with 2.5, half of them are to be written twice and half three times. The statistic bucket_repeats has the "
        "number for each sample, and the recipe's `repeat_by: bucket_repeats` has them written so; without that key, shares above 1 are refused."
    ),
    "version": 2,
    "params": {
        "bucket": {"type": "sql", "doc": "The bucket: a statistic of score_buckets, a field, or an expression."},
        "shares": {"type": "any", "doc": "Shares by bucket."},
        "others": {"type": "float", "default": 0.0, "min": 0, "max": 10000, "doc": "Share of all other samples."},
        "seed": {"type": "int", "default": 0, "doc": "Another seed chooses other samples."},
        "by": {"type": "sql", "default": None, "nullable": True, "doc": "What to choose by; null: the text."},
    },
    "stats": {
        "bucket_share": {"type": "DOUBLE", "doc": "Share of the sample's bucket that is kept."},
        "bucket_draw": {
            "type": "DOUBLE",
            "most": 1,
            "doc": "Number of the sample, which must be below the share, or its fraction.",
        },
        "bucket_repeats": {"type": "BIGINT", "doc": "Times that the sample is to be written; 0: it is removed."},
    },
    "checks": "problems",
    "sql": """
        {% set key = text if by is none else 'CAST((' ~ by ~ ') AS VARCHAR)' %}
        SELECT CAST(({{ bucket }}) AS VARCHAR) AS _bucket,
            CAST(CASE _bucket
            {% if params.shares is mapping %}
            {% for name, share in params.shares.items() %}WHEN {{ name | string | lit }} THEN {{ share | lit }} {% endfor %}
            {% else %}
            {% for share in params.shares %}WHEN {{ loop.index | string | lit }} THEN {{ share | lit }} {% endfor %}
            {% endif %}
            ELSE {{ others | lit }} END AS DOUBLE) AS _share,
            _share AS bucket_share,
            (md5_number_lower('{{ seed }}:' || md5({{ key }})) >> 11) / 9007199254740992.0 AS _draw,
            _draw AS bucket_draw,
            CAST(floor(_share) AS BIGINT) + CAST(_draw < _share - floor(_share) AS BIGINT) AS _repeats,
            _repeats AS bucket_repeats,
            _repeats > 0 AS keep
    """,
    "examples": [
        {
            "text": "a",
            "params": {"bucket": "length(text)", "shares": {1: 0.25}},
            "stats": {"bucket_share": 0.25, "bucket_draw": 0.23040295264482946, "bucket_repeats": 1},
            "keep": True,
        },
        {"text": "a", "params": {"bucket": "length(text)", "shares": [0.2, 1.0]}, "keep": False},
        {"text": "ab", "params": {"bucket": "text", "shares": {"ab": 1, "b": 0}}, "keep": True},
        {"text": "abc", "params": {"bucket": "length(text)", "shares": [1, 1]}, "keep": False},
        {"text": "", "params": {"bucket": "NULL", "shares": [0], "others": 1}, "keep": True},
        {
            "text": "a",
            "params": {"bucket": "length(text)", "shares": [2.25]},
            "stats": {"bucket_share": 2.25, "bucket_repeats": 3},
            "keep": True,
        },
        {
            "text": "a",
            "params": {"bucket": "length(text)", "shares": {"1": 2.125}},
            "stats": {"bucket_repeats": 2},
            "keep": True,
        },
        {"text": "a", "params": {"bucket": "length(text)", "shares": [10001]}, "error": True},
        {"text": "a", "params": {"bucket": "length(text)", "shares": [-1]}, "error": True},
        {"text": "a", "params": {"bucket": "length(text)", "shares": {"1": "all"}}, "error": True},
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the shares, as sentences."""
    shares = params["shares"]
    if not isinstance(shares, (dict, list, tuple)) or not shares:
        return ["shares must be a mapping of buckets to shares, or a list of shares"]
    named = shares if isinstance(shares, dict) else dict(enumerate(shares, 1))
    return [sentence for bucket, share in named.items() if (sentence := _problem(bucket, share))]


def _problem(bucket: Any, share: Any) -> str:
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 10000:
        return f"the share of bucket {bucket} must be a number from 0 to 10000, not {share!r}"
    return ""
