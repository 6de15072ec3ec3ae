"""Filter on the share of words that earlier steps have removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPERATOR = {
    "doc": (
        "Remove samples that have lost too many words since a step, such as word_counter_enricher, counted them: more than "
        "max_removed_ratio (as dclm) or upper_bound (as datamap) of the words before. A sample that had no word is removed. "
        "With datamap, words are those of UAX 29, and a sample that has gained words is removed as well."
    ),
    "version": 1,
    "peer": "word_removal_ratio_filter of DCLM and of datamap-rs",
    "params": {
        "as": {"type": "str", "default": "dclm", "choices": ["dclm", "datamap"], "doc": "Whose filter it is."},
        "prev_word_count_key": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "As dclm: the count before, a statistic of an earlier step, a field or an expression.",
        },
        "new_word_count_key": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "As dclm: the count of now; null: words are counted.",
        },
        "max_removed_ratio": {
            "type": "float",
            "default": None,
            "nullable": True,
            "default_when": [{"when": {"as": "dclm"}, "default": 0.05}],
            "doc": "As dclm: largest share of the words before.",
        },
        "model": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["fasttext", "uniseg", "split"],
            "default_when": [{"when": {"as": "dclm"}, "default": "fasttext"}],
            "doc": "As dclm: how to cut words, as in word_counter_enricher.",
        },
        "ignore_punctuation": {
            "type": "bool",
            "default": True,
            "doc": "As dclm: count only words that begin with a letter or digit.",
        },
        "ignore_whitespace": {"type": "bool", "default": True, "doc": "As dclm: leave out words of white space."},
        "word_count_field": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "As datamap: the count before, a statistic of an earlier step, a field or an expression.",
        },
        "upper_bound": {
            "type": "float",
            "default": None,
            "nullable": True,
            "default_when": [{"when": {"as": "datamap"}, "default": 1.0}],
            "doc": "As datamap: largest share of the words before.",
        },
    },
    "stats": {"word_removal_ratio": {"type": "DOUBLE", "doc": "Share of the words before; NULL if there were none."}},
    "checks": "check",
    "sql": """
        {% set datamap = params["as"] == "datamap" %}
        SELECT
          ({{ word_count_field if datamap else prev_word_count_key }})::DOUBLE AS _before,
          {% if datamap %}
          {{ feature("unicode_word_count") }}
          {% elif new_word_count_key is not none %}
          {{ new_word_count_key }}
          {% else %}
          {{ feature("dclm_word_count", model=model, ignore_punctuation=ignore_punctuation, ignore_whitespace=ignore_whitespace) }}
          {% endif %}::DOUBLE AS _now,
          (_before - _now) / nullif(_before, 0) AS word_removal_ratio,
          {% if datamap %}
          word_removal_ratio BETWEEN 0 AND {{ upper_bound | lit }} AS keep
          {% else %}
          word_removal_ratio <= {{ max_removed_ratio | lit }} AS keep
          {% endif %}
    """,
    "examples": [
        {
            "text": "one two three",
            "params": {"prev_word_count_key": "4", "max_removed_ratio": 0.25},
            "stats": {"word_removal_ratio": 0.25},
            "keep": True,
        },
        {
            "text": "one (two) three",
            "params": {"prev_word_count_key": "3"},
            "stats": {"word_removal_ratio": 0.3333333333333333},
            "keep": False,
        },
        {
            "text": "one two",
            "params": {"prev_word_count_key": "1"},
            "stats": {"word_removal_ratio": -1.0},
            "keep": True,
        },
        {
            "text": "one two",
            "params": {"as": "datamap", "word_count_field": "1"},
            "stats": {"word_removal_ratio": -1.0},
            "keep": False,
        },
        {
            "text": "don't (two)",
            "params": {"as": "datamap", "word_count_field": "4", "upper_bound": 0.5},
            "stats": {"word_removal_ratio": 0.5},
            "keep": True,
        },
        {"text": "", "params": {"prev_word_count_key": "0"}, "stats": {"word_removal_ratio": None}, "keep": False},
        {"text": "", "params": {"word_count_field": "1"}, "error": True},
        {"text": "", "params": {"as": "datamap", "word_count_field": "1", "ignore_whitespace": False}, "error": True},
        {"text": "", "params": {"as": "datamap", "word_count_field": "1", "max_removed_ratio": 0.1}, "error": True},
    ],
}

_OF = {
    "dclm": ("prev_word_count_key", "new_word_count_key", "max_removed_ratio", "model"),
    "datamap": ("word_count_field", "upper_bound"),
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Parameters that are missing, or are those of the other peer."""
    mine = params["as"]
    other = next(peer for peer in _OF if peer != mine)
    problems = [
        f"{name} is a parameter of {other}: leave it out, or set `as: {other}`"
        for name in _OF[other]
        if params[name] is not None
    ]
    if mine == "datamap":
        problems += [
            f"{name}: false has no effect as datamap: leave it out, or set `as: dclm`"
            for name in ("ignore_punctuation", "ignore_whitespace")
            if not params[name]
        ]
    if params[_OF[mine][0]] is None:
        problems.append(f"{_OF[mine][0]} is missing: name the statistic or field with the number of words before")
    return problems
