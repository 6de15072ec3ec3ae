"""Filter on labels of any supervised model of fastText, such as a classifier of quality or of topics."""

from __future__ import annotations

from typing import Any

from refinery.kernels.models import fasttext

OPERATOR = {
    "doc": (
        "Keep samples for which a supervised model of fastText gives one of `labels` a score in [min_score, "
        "max_score]. The statistic is the highest score among them, or that of the best label if labels is empty; a "
        "label that is not among the best k has 0. To remove samples with a label, set reversed_range: true; then "
        "samples with a score in the range are removed. White space at the ends of a text is ignored; a text of "
        "white space alone has no fasttext_score and is removed."
    ),
    "version": 2,
    "peer": 'FastTextClassifierFilter of datatrove 0.10.1, with newline_replacement ""',
    "resources": {"loads": True},
    "params": {
        "model": {"type": "file", "doc": "Supervised model of fastText (.bin or .ftz)."},
        "labels": {
            "type": "list[str]",
            "default": [],
            "doc": "Labels without __label__; empty: the best of all labels.",
        },
        "min_score": {"type": "float", "default": 0.5, "doc": "Smallest score."},
        "max_score": {"type": "float", "default": 9223372036854775807, "doc": "Largest score."},
        "thresholds": {
            "type": "any",
            "default": None,
            "nullable": True,
            "doc": "Smallest scores for some of `labels`, as label: score; below it, a label counts as 0.",
        },
        "k": {"type": "int", "default": -1, "min": -1, "doc": "Number of best labels to compute; -1: all."},
        "lower": {"type": "bool", "default": False, "doc": "Apply str.lower first."},
        "newline_replacement": {"type": "str", "default": " ", "doc": "Text in place of each line feed."},
    },
    "stats": {
        "fasttext_label": {"type": "VARCHAR", "doc": "Label with the highest score."},
        "fasttext_score": {"type": "DOUBLE", "most": 1, "doc": "Highest score among `labels`."},
        "fasttext_{labels}": {
            "type": "DOUBLE",
            "doc": "Score of each of `labels`; NULL if it is not among the best k.",
        },
    },
    "bounds": {"fasttext_score": ["min_score", "max_score"]},
    "checks": "check",
    "sql": """
        {% set found = feature(
            "fasttext", model=model, k=k, labels=labels | unique | join(" "), lower=lower, newline=newline_replacement, strip=true
        ) %}
        SELECT {{ found }}.label AS fasttext_label,
        {% for label in labels | unique %}
        {{ found }}.scores[{{ loop.index }}] AS {{ ("fasttext_" ~ label) | ident }},
        {% endfor %}
        {% if labels %}
        CASE WHEN {{ found }}.label IS NOT NULL AND NOT {{ found }}.blank THEN coalesce(greatest(
          {% for label in labels | unique %}
          {% set score = found ~ ".scores[" ~ loop.index ~ "]" %}
          CASE WHEN {{ score }} >= {{ (thresholds or {}).get(label, 0) | lit }} THEN {{ score }} END{{ "," if not loop.last }}
          {% endfor %}
        ), 0) END AS fasttext_score
        {% else %}
        CASE WHEN NOT {{ found }}.blank THEN {{ found }}.score END AS fasttext_score
        {% endif %}
    """,
    "examples": [
        {
            "text": "\u3000the\n",
            "params": {"model": "quality.bin", "labels": ["hq"]},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "hq", "fasttext_score": 0.9525841474533081, "fasttext_hq": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": "the der der",
            "params": {"model": "quality.bin", "labels": ["hq"], "min_score": 0.3, "reversed_range": True},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "lq", "fasttext_score": 0.1824355125427246, "fasttext_hq": 0.1824355125427246},
            "keep": True,
        },
        {
            "text": "THE",
            "params": {"model": "quality.bin", "lower": True, "min_score": 0.9},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "hq", "fasttext_score": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": "der",
            "params": {"model": "quality.bin", "labels": ["hq", "lq"], "thresholds": {"lq": 0.99}, "min_score": 0.05},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {
                "fasttext_label": "lq",
                "fasttext_score": 0.04743587225675583,
                "fasttext_hq": 0.04743587225675583,
                "fasttext_lq": 0.9525841474533081,
            },
            "keep": False,
        },
        {
            "text": "th\ne",
            "params": {"model": "quality.bin", "labels": ["hq"], "newline_replacement": ""},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "hq", "fasttext_score": 0.9525841474533081, "fasttext_hq": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": "the\u00a0\r\n",
            "params": {"model": "quality.bin", "labels": ["hq"]},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "hq", "fasttext_score": 0.9525841474533081, "fasttext_hq": 0.9525841474533081},
            "keep": True,
        },
        {
            "text": " \u00a0\r\n",
            "params": {"model": "quality.bin", "labels": ["hq"], "reversed_range": True},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext_label": "lq", "fasttext_score": None, "fasttext_hq": 0.5000100135803223},
            "keep": False,
        },
        {
            "text": "the",
            "params": {"model": "quality.bin", "labels": ["missing"]},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "error": True,
        },
        {"text": "the", "params": {"model": "quality.bin", "k": 0}, "error": True},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters, as sentences that name the cure."""
    if params["k"] == 0:
        return ["k is 0: give the number of labels to look for, or -1 for all"]
    if problems := fasttext.problems(params["model"]):
        return problems
    return fasttext.unknown(params["labels"], fasttext.load(params["model"])) + _of_thresholds(params)


def _of_thresholds(params: dict[str, Any]) -> list[str]:
    given = params["thresholds"]
    if given is None:
        return []
    numbers = isinstance(given, dict) and all(type(score) in (int, float) for score in given.values())
    if not numbers or not set(given) <= set(params["labels"]):
        return [f"thresholds {given!r} does not give scores of `labels`: write it as {{label: score}}"]
    return []
